//===- TypesTest.cpp - Types between protobuf and IR ----------------------===//
//
// Every element type and container there and back; what the IR has no size for
// keeps its name.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace mlir;
using ::onnx::TensorProto;
using ::onnx::TypeProto;

namespace {

class TypesTest : public ::testing::Test {
protected:
  TypesTest() { context.loadDialect<amp::onnx::OnnxDialect>(); }

  /// Exports the type written as `text` and imports it again.
  Type roundTrip(StringRef text) {
    Type type = parseType(text, &context);
    EXPECT_TRUE(type) << text.str();
    TypeProto proto;
    amp::proto::exportType(type, proto);
    return amp::proto::importType(proto, &context);
  }

  MLIRContext context;
};

TEST_F(TypesTest, EveryElementTypeHasOneNumber) {
  for (int32_t number = 1; number < TensorProto::DataType_ARRAYSIZE; ++number) {
    Type type = amp::proto::importElementType(number, &context);
    ASSERT_TRUE(type) << number;
    EXPECT_EQ(amp::proto::exportElementType(type), number);
    EXPECT_FALSE(amp::onnx::getElementTypeName(type).empty());
  }
  EXPECT_FALSE(amp::proto::importElementType(TensorProto::UNDEFINED, &context));
  EXPECT_FALSE(
      amp::proto::importElementType(TensorProto::DataType_ARRAYSIZE, &context));
  EXPECT_FALSE(amp::proto::importElementType(-1, &context));
  EXPECT_EQ(amp::proto::exportElementType(IndexType::get(&context)), 0);
}

TEST_F(TypesTest, EveryKindOfTypeComesBack) {
  for (StringRef text :
       {"tensor<f32>", "tensor<*xbf16>", "tensor<0x3xi1>",
        "tensor<?x4xf16, #onnx.dims<\"batch\", \"\">>",
        "tensor<?x?xi64, #onnx.dims<\"\", -1 : i64>>", "tensor<?xui4>",
        "tensor<2x!onnx.string>", "!onnx.seq<tensor<?xf32>>",
        "!onnx.optional<!onnx.seq<tensor<*xf32>>>",
        "!onnx.map<i64, tensor<*xf32>>", "!onnx.map<!onnx.string, tensor<f32>>",
        "!onnx.sparse_tensor<tensor<4x4xf32>>",
        "!onnx.opaque<\"com.example\", \"handle\">", "!onnx.unknown"})
    EXPECT_EQ(roundTrip(text), parseType(text, &context)) << text.str();
}

TEST_F(TypesTest, UnknownElementTypeMakesTheWholeTypeUnknown) {
  Type unknown = amp::onnx::UnknownType::get(&context);
  TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(4711);
  EXPECT_EQ(amp::proto::importType(proto, &context), unknown);
  TypeProto sequence;
  *sequence.mutable_sequence_type()->mutable_elem_type() = proto;
  EXPECT_EQ(amp::proto::importType(sequence, &context), unknown);
  sequence.Clear();
  sequence.mutable_sequence_type();
  EXPECT_EQ(amp::proto::importType(sequence, &context), unknown);
}

TEST_F(TypesTest, DimensionsWithoutSizeOrNameHaveNoEncoding) {
  TypeProto proto;
  auto *tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim();
  tensor->mutable_shape()->add_dim()->set_dim_param("");
  EXPECT_EQ(amp::proto::importType(proto, &context),
            parseType("tensor<?x?xf32>", &context));
}

TEST_F(TypesTest, ElementBits) {
  auto bits = [&](StringRef text) {
    return amp::proto::getElementBits(parseType(text, &context));
  };
  EXPECT_EQ(bits("i1"), 8u);
  EXPECT_EQ(bits("i2"), 2u);
  EXPECT_EQ(bits("f4E2M1FN"), 4u);
  EXPECT_EQ(bits("complex<f64>"), 128u);
  EXPECT_EQ(bits("!onnx.string"), 0u);
}

} // namespace
