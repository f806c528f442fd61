//===- AttributesTest.cpp - Node attributes between protobuf and IR -------===//
//
// Every kind there and back, and kinds that files leave out.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "gtest/gtest.h"

using namespace mlir;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;

namespace {

class AttributesTest : public ::testing::Test {
protected:
  AttributesTest() { context.loadDialect<amp::onnx::OnnxDialect>(); }

  Attribute import(const AttributeProto &proto) {
    llvm::Expected<Attribute> value =
        amp::proto::importAttribute(proto, &context);
    if (value)
      return *value;
    ADD_FAILURE() << llvm::toString(value.takeError());
    return {};
  }

  /// Imports `proto`, expects the same message back and returns the attribute.
  Attribute roundTrip(const AttributeProto &proto) {
    Attribute value = import(proto);
    AttributeProto again;
    again.set_name(proto.name());
    amp::proto::exportAttribute(value, again);
    EXPECT_EQ(again.DebugString(), proto.DebugString());
    EXPECT_EQ(again.SerializeAsString(), proto.SerializeAsString());
    return value;
  }

  MLIRContext context;
};

AttributeProto make(AttributeProto::AttributeType type) {
  AttributeProto proto;
  proto.set_name("a");
  proto.set_type(type);
  return proto;
}

TEST_F(AttributesTest, Scalars) {
  AttributeProto proto = make(AttributeProto::INT);
  proto.set_i(INT64_MIN);
  EXPECT_EQ(roundTrip(proto),
            parseAttribute("-9223372036854775808 : i64", &context));
  proto = make(AttributeProto::FLOAT);
  proto.set_f(llvm::bit_cast<float>(0x7fc01234u));
  EXPECT_EQ(roundTrip(proto), parseAttribute("0x7fc01234 : f32", &context));
  proto = make(AttributeProto::STRING);
  proto.set_s(std::string("a\0b", 3));
  EXPECT_EQ(roundTrip(proto), parseAttribute("\"a\\00b\"", &context));
}

TEST_F(AttributesTest, Lists) {
  AttributeProto proto = make(AttributeProto::INTS);
  EXPECT_EQ(roundTrip(proto), parseAttribute("array<i64>", &context));
  proto.add_ints(-1);
  proto.add_ints(2);
  EXPECT_EQ(roundTrip(proto), parseAttribute("array<i64: -1, 2>", &context));
  proto = make(AttributeProto::FLOATS);
  proto.add_floats(0.5f);
  EXPECT_EQ(roundTrip(proto), parseAttribute("array<f32: 0.5>", &context));
  proto = make(AttributeProto::STRINGS);
  EXPECT_EQ(roundTrip(proto), parseAttribute("[]", &context));
  proto.add_strings("x");
  EXPECT_EQ(roundTrip(proto), parseAttribute("[\"x\"]", &context));
}

TEST_F(AttributesTest, TensorsAndTypes) {
  AttributeProto proto = make(AttributeProto::TENSOR);
  proto.mutable_t()->set_data_type(TensorProto::UINT8);
  proto.mutable_t()->add_dims(1);
  proto.mutable_t()->set_raw_data("\x07");
  EXPECT_EQ(roundTrip(proto),
            parseAttribute("dense<7> : tensor<1xui8>", &context));
  proto = make(AttributeProto::TYPE_PROTO);
  proto.mutable_tp()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  EXPECT_EQ(roundTrip(proto), parseAttribute("tensor<*xf32>", &context));
  // A denotation is beyond the IR's types.
  proto.mutable_tp()->set_denotation("IMAGE");
  EXPECT_TRUE(isa<amp::onnx::ProtoAttr>(roundTrip(proto)));
}

TEST_F(AttributesTest, RareKindsKeepTheirBytes) {
  AttributeProto proto = make(AttributeProto::SPARSE_TENSOR);
  proto.mutable_sparse_tensor()->add_dims(3);
  EXPECT_EQ(cast<amp::onnx::ProtoAttr>(roundTrip(proto)).getKind(),
            "SparseTensorProto");
  for (auto kind : {AttributeProto::TENSORS, AttributeProto::GRAPHS,
                    AttributeProto::SPARSE_TENSORS, AttributeProto::TYPE_PROTOS,
                    AttributeProto::UNDEFINED})
    EXPECT_TRUE(isa<amp::onnx::ProtoAttr>(roundTrip(make(kind))));
  proto = make(AttributeProto::FLOAT);
  proto.set_ref_attr_name("alpha");
  EXPECT_TRUE(isa<amp::onnx::ProtoAttr>(roundTrip(proto)));
}

TEST_F(AttributesTest, KindIsToldByTheFieldThatIsSet) {
  AttributeProto proto;
  proto.set_i(3);
  EXPECT_EQ(import(proto), parseAttribute("3 : i64", &context));
  proto.Clear();
  proto.add_floats(2.0f);
  EXPECT_EQ(import(proto), parseAttribute("array<f32: 2.0>", &context));
}

TEST_F(AttributesTest, GraphsAreRefused) {
  llvm::Expected<Attribute> value =
      amp::proto::importAttribute(make(AttributeProto::GRAPH), &context);
  ASSERT_FALSE(bool(value));
  EXPECT_EQ(llvm::toString(value.takeError()),
            "attribute 'a' is a graph where none is allowed");
}

} // namespace
