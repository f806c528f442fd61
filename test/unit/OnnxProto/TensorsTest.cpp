//===- TensorsTest.cpp - Tensors between protobuf and IR ------------------===//
//
// Bits survive for every element type, small and large, raw and in typed
// fields; data that does not fit its shape is refused.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace mlir;
using ::onnx::TensorProto;

namespace {

class TensorsTest : public ::testing::Test {
protected:
  TensorsTest() { context.loadDialect<amp::onnx::OnnxDialect>(); }

  ElementsAttr import(const TensorProto &proto) {
    llvm::Expected<ElementsAttr> value =
        amp::proto::importTensor(proto, &context);
    if (value)
      return *value;
    ADD_FAILURE() << llvm::toString(value.takeError());
    return {};
  }

  std::string importError(const TensorProto &proto) {
    llvm::Expected<ElementsAttr> value =
        amp::proto::importTensor(proto, &context);
    return value ? "" : llvm::toString(value.takeError());
  }

  /// Imports a proto whose raw data counts through all byte values (only 0 and
  /// 1 when `onlyBools`) and expects the same bytes back.
  ElementsAttr roundTrip(int32_t dataType, int64_t count, bool onlyBools) {
    Type elementType = amp::proto::importElementType(dataType, &context);
    auto type = RankedTensorType::get({count}, elementType);
    std::string raw;
    for (uint64_t i = 0, e = *amp::proto::getRawSize(type); i < e; ++i)
      raw.push_back(onlyBools ? i % 3 == 0 : char(i * 37 + 11));
    TensorProto proto;
    proto.set_data_type(dataType);
    proto.add_dims(count);
    proto.set_raw_data(raw);
    ElementsAttr value = import(proto);
    if (!value)
      return {};
    EXPECT_EQ(value.getType(), type);
    TensorProto again;
    amp::proto::exportTensor(value, again);
    EXPECT_EQ(proto.SerializeAsString(), again.SerializeAsString())
        << TensorProto::DataType_Name(dataType) << " x " << count;
    return value;
  }

  MLIRContext context;
};

TEST_F(TensorsTest, RawBitsOfEveryElementTypeComeBack) {
  for (int32_t dataType = 1; dataType < TensorProto::DataType_ARRAYSIZE;
       ++dataType) {
    if (dataType == TensorProto::STRING)
      continue;
    // Around byte borders of packed types, one element, none, and beyond what
    // is kept dense.
    for (int64_t count : {0, 1, 2, 3, 4, 5, 31, 256, 5000})
      roundTrip(dataType, count, dataType == TensorProto::BOOL);
  }
}

TEST_F(TensorsTest, FoldersSeeSmallTensorsOnly) {
  EXPECT_TRUE(
      isa<DenseElementsAttr>(roundTrip(TensorProto::INT64, 128, false)));
  EXPECT_TRUE(isa<DenseResourceElementsAttr>(
      roundTrip(TensorProto::INT64, 129, false)));
  EXPECT_TRUE(isa<DenseElementsAttr>(roundTrip(TensorProto::BOOL, 1024, true)));
  EXPECT_TRUE(
      isa<DenseResourceElementsAttr>(roundTrip(TensorProto::INT4, 3, false)));
  EXPECT_TRUE(isa<DenseResourceElementsAttr>(
      roundTrip(TensorProto::COMPLEX64, 3, false)));
}

TEST_F(TensorsTest, BoolBytesOtherThanOneSurvive) {
  EXPECT_TRUE(
      isa<DenseResourceElementsAttr>(roundTrip(TensorProto::BOOL, 9, false)));
}

/// Raw data of a proto whose typed field `fill` sets.
template <typename Fn>
std::string packed(MLIRContext &context, int32_t dataType, int64_t count,
                   Fn fill) {
  TensorProto proto;
  proto.set_data_type(dataType);
  proto.add_dims(count);
  fill(proto);
  llvm::Expected<ElementsAttr> value =
      amp::proto::importTensor(proto, &context);
  if (!value)
    return llvm::toString(value.takeError());
  TensorProto again;
  amp::proto::exportTensor(*value, again);
  return again.raw_data();
}

TEST_F(TensorsTest, TypedFieldsNarrowBitByBit) {
  auto int32s = [](std::initializer_list<int32_t> values) {
    return [=](TensorProto &proto) {
      for (int32_t value : values)
        proto.add_int32_data(value);
    };
  };
  // A signalling NaN in f16 and bf16 keeps its payload.
  EXPECT_EQ(packed(context, TensorProto::FLOAT16, 2, int32s({0x3c00, 0x7d01})),
            std::string("\x00\x3c\x01\x7d", 4));
  EXPECT_EQ(packed(context, TensorProto::BFLOAT16, 1, int32s({0x7f81})),
            "\x81\x7f");
  for (auto dataType : {TensorProto::FLOAT8E4M3FN, TensorProto::FLOAT8E4M3FNUZ,
                        TensorProto::FLOAT8E5M2, TensorProto::FLOAT8E5M2FNUZ,
                        TensorProto::FLOAT8E8M0})
    EXPECT_EQ(packed(context, dataType, 2, int32s({0xff, 0x80})), "\xff\x80");
  EXPECT_EQ(packed(context, TensorProto::INT8, 2, int32s({-1, 5})), "\xff\x05");
  EXPECT_EQ(packed(context, TensorProto::UINT16, 1, int32s({0xfffe})),
            "\xfe\xff");
  EXPECT_EQ(packed(context, TensorProto::INT32, 1, int32s({-2})),
            "\xfe\xff\xff\xff");
  EXPECT_EQ(packed(context, TensorProto::BOOL, 3, int32s({1, 0, 1})),
            std::string("\x01\x00\x01", 3));
  // Packed types hold a byte an entry.
  for (auto dataType :
       {TensorProto::INT4, TensorProto::UINT4, TensorProto::FLOAT4E2M1})
    EXPECT_EQ(packed(context, dataType, 3, int32s({0xa1, 0x0f})), "\xa1\x0f");
  for (auto dataType : {TensorProto::INT2, TensorProto::UINT2})
    EXPECT_EQ(packed(context, dataType, 5, int32s({0xe4, 0x02})), "\xe4\x02");
}

TEST_F(TensorsTest, WideTypedFields) {
  EXPECT_EQ(packed(context, TensorProto::UINT32, 1,
                   [](TensorProto &p) { p.add_uint64_data(0xfffffffe); }),
            "\xfe\xff\xff\xff");
  EXPECT_EQ(packed(context, TensorProto::UINT64, 1,
                   [](TensorProto &p) { p.add_uint64_data(~0ull - 1); }),
            "\xfe\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(packed(context, TensorProto::INT64, 1,
                   [](TensorProto &p) { p.add_int64_data(-2); }),
            "\xfe\xff\xff\xff\xff\xff\xff\xff");
  EXPECT_EQ(packed(context, TensorProto::DOUBLE, 1,
                   [](TensorProto &p) { p.add_double_data(1.0); }),
            std::string("\0\0\0\0\0\0\xf0\x3f", 8));
  EXPECT_EQ(packed(context, TensorProto::COMPLEX64, 1,
                   [](TensorProto &p) {
                     p.add_float_data(1.0f);
                     p.add_float_data(-2.0f);
                   }),
            std::string("\0\0\x80\x3f\0\0\0\xc0", 8));
}

TEST_F(TensorsTest, StringsComeBack) {
  TensorProto proto;
  proto.set_data_type(TensorProto::STRING);
  proto.add_dims(2);
  proto.add_dims(2);
  for (StringRef string : {StringRef("a"), StringRef("\0\xff", 2), StringRef(),
                           StringRef("long string")})
    proto.add_string_data(string.str());
  TensorProto again;
  amp::proto::exportTensor(import(proto), again);
  EXPECT_EQ(proto.SerializeAsString(), again.SerializeAsString());
}

TEST_F(TensorsTest, SplatsAreWrittenExpanded) {
  auto check = [&](StringRef text, StringRef expected) {
    auto value = cast<ElementsAttr>(parseAttribute(text, &context));
    TensorProto proto;
    amp::proto::exportTensor(value, proto);
    EXPECT_EQ(proto.raw_data(), expected.str()) << text.str();
  };
  check("dense<258> : tensor<2xi16>", StringRef("\x02\x01\x02\x01", 4));
  check("dense<true> : tensor<3xi1>", "\x01\x01\x01");
  check("dense<-1> : tensor<3xi4>", "\xff\x0f");
  check("dense<[1, 2, 3]> : tensor<3xi4>", "\x21\x03");
  check("dense<(1.0, 0.0)> : tensor<2xcomplex<f32>>",
        StringRef("\0\0\x80\x3f\0\0\0\0\0\0\x80\x3f\0\0\0\0", 16));
  TensorProto strings;
  amp::proto::exportTensor(
      cast<ElementsAttr>(
          parseAttribute("dense<\"x\"> : tensor<2x!onnx.string>", &context)),
      strings);
  ASSERT_EQ(strings.string_data_size(), 2);
  EXPECT_EQ(strings.string_data(1), "x");
}

TEST_F(TensorsTest, DataThatDoesNotFitIsRefused) {
  TensorProto proto;
  proto.set_name("w");
  proto.set_data_type(TensorProto::FLOAT);
  proto.add_dims(2);
  proto.add_float_data(1);
  EXPECT_EQ(importError(proto), "tensor 'w': expected 8 bytes of data for its "
                                "shape, but 'float_data' holds 4 bytes");
  proto.set_raw_data("abc");
  EXPECT_EQ(importError(proto), "tensor 'w': expected 8 bytes of data for its "
                                "shape, but got 3");
  proto.set_dims(0, -2);
  EXPECT_EQ(importError(proto), "tensor 'w': dimension 0 is negative (-2)");
  proto.set_data_type(99);
  EXPECT_EQ(importError(proto), "tensor 'w': unknown element type 99");
}

TEST_F(TensorsTest, HugeShapesAreRefused) {
  TensorProto proto;
  proto.set_data_type(TensorProto::FLOAT);
  proto.add_dims(int64_t(1) << 40);
  proto.add_dims(int64_t(1) << 40);
  std::string error = "unnamed tensor: the product of its dimensions does not "
                      "fit in 63 bits";
  EXPECT_EQ(importError(proto), error);
  // A zero does not hide the overflow.
  proto.add_dims(0);
  EXPECT_EQ(importError(proto), error);
  proto.set_data_type(TensorProto::STRING);
  EXPECT_EQ(importError(proto), error);
}

TEST_F(TensorsTest, DataElsewhereIsRefused) {
  TensorProto proto;
  proto.set_data_type(TensorProto::FLOAT);
  proto.set_data_location(TensorProto::EXTERNAL);
  EXPECT_EQ(importError(proto), "unnamed tensor: has its data in another file, "
                                "which is not read here");
  proto.clear_data_location();
  proto.mutable_segment();
  EXPECT_EQ(importError(proto),
            "unnamed tensor: is stored in segments, which is not supported");
}

TEST_F(TensorsTest, CallersDataWins) {
  TensorProto proto;
  proto.set_data_type(TensorProto::UINT8);
  proto.add_dims(2);
  proto.set_data_location(TensorProto::EXTERNAL);
  llvm::Expected<ElementsAttr> value =
      amp::proto::importTensor(proto, &context, ArrayRef<char>{'\x01', '\x02'});
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  EXPECT_EQ(*value, parseAttribute("dense<[1, 2]> : tensor<2xui8>", &context));
}

} // namespace
