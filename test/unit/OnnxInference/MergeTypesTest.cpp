//===- MergeTypesTest.cpp - The more specific of two types ----------------===//
//
// One row a rule: declared, inferred, merged (empty: they contradict).
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

struct Row {
  const char *declared, *inferred, *merged;
};

#define N_A "#onnx.dims<\"N\", \"\">"

constexpr Row rows[] = {
    // Sizes before dynamic dimensions, on either side.
    {"tensor<?x4xf32>", "tensor<3x?xf32>", "tensor<3x4xf32>"},
    {"tensor<*xf32>", "tensor<3x?xf32>", "tensor<3x?xf32>"},
    {"tensor<3x?xf32>", "tensor<*xf32>", "tensor<3x?xf32>"},
    {"tensor<*xf32>", "tensor<*xf32>", "tensor<*xf32>"},
    {"tensor<f32>", "tensor<f32>", "tensor<f32>"},
    {"tensor<0x?xf32>", "tensor<?x2xf32>", "tensor<0x2xf32>"},
    // Contradictions.
    {"tensor<3x4xf32>", "tensor<3x5xf32>", ""},
    {"tensor<3xf32>", "tensor<3x1xf32>", ""},
    {"tensor<3xf32>", "tensor<3xf16>", ""},
    {"tensor<*xf32>", "tensor<*xi64>", ""},
    {"tensor<f32>", "!onnx.seq<tensor<f32>>", ""},
    {"!onnx.seq<tensor<f32>>", "tensor<f32>", ""},
    {"!onnx.seq<tensor<f32>>", "!onnx.optional<tensor<f32>>", ""},
    // Names: the declared one wins, a size beats both, none is lost.
    {"tensor<?x?xf32, " N_A ">", "tensor<?x?xf32, #onnx.dims<\"M\", \"K\">>",
     "tensor<?x?xf32, #onnx.dims<\"N\", \"K\">>"},
    {"tensor<?x?xf32, " N_A ">", "tensor<?x4xf32>", "tensor<?x4xf32, " N_A ">"},
    {"tensor<?x?xf32, " N_A ">", "tensor<2x?xf32>", "tensor<2x?xf32>"},
    {"tensor<2x?xf32>", "tensor<?x?xf32, " N_A ">", "tensor<2x?xf32>"},
    {"tensor<*xf32>", "tensor<?x?xf32, " N_A ">", "tensor<?x?xf32, " N_A ">"},
    // A value that is no size stays unless something better is known.
    {"tensor<?xf32, #onnx.dims<-1 : i64>>", "tensor<?xf32>",
     "tensor<?xf32, #onnx.dims<-1 : i64>>"},
    {"tensor<?xf32, #onnx.dims<-1 : i64>>", "tensor<?xf32, #onnx.dims<\"N\">>",
     "tensor<?xf32, #onnx.dims<\"N\">>"},
    {"tensor<?xf32, #onnx.dims<-1 : i64>>", "tensor<7xf32>", "tensor<7xf32>"},
    // Unknown on one side.
    {"!onnx.unknown", "tensor<3xf32>", "tensor<3xf32>"},
    {"tensor<3xf32>", "!onnx.unknown", "tensor<3xf32>"},
    {"!onnx.unknown", "!onnx.unknown", "!onnx.unknown"},
    // Containers merge inside.
    {"!onnx.seq<tensor<?xf32>>", "!onnx.seq<tensor<3xf32>>",
     "!onnx.seq<tensor<3xf32>>"},
    {"!onnx.seq<tensor<2xf32>>", "!onnx.seq<tensor<3xf32>>", ""},
    {"!onnx.optional<!onnx.seq<tensor<*xf32>>>",
     "!onnx.optional<!onnx.seq<tensor<?xf32>>>",
     "!onnx.optional<!onnx.seq<tensor<?xf32>>>"},
    {"!onnx.sparse_tensor<tensor<?xf32>>", "!onnx.sparse_tensor<tensor<3xf32>>",
     "!onnx.sparse_tensor<tensor<3xf32>>"},
    {"!onnx.map<i64, tensor<*xf32>>", "!onnx.map<i64, tensor<f32>>",
     "!onnx.map<i64, tensor<f32>>"},
    {"!onnx.map<i64, tensor<f32>>", "!onnx.map<i32, tensor<f32>>", ""},
    {"!onnx.opaque<\"a\", \"b\">", "!onnx.opaque<\"a\", \"b\">",
     "!onnx.opaque<\"a\", \"b\">"},
    {"!onnx.opaque<\"a\", \"b\">", "!onnx.opaque<\"a\", \"c\">", ""},
};

TEST(MergeTypesTest, EveryRule) {
  MLIRContext context;
  context.loadDialect<amp::onnx::OnnxDialect>();
  for (const Row &row : rows) {
    Type declared = parseType(row.declared, &context);
    Type inferred = parseType(row.inferred, &context);
    ASSERT_TRUE(declared && inferred) << row.declared << row.inferred;
    Type expected = *row.merged ? parseType(row.merged, &context) : Type();
    EXPECT_EQ(amp::onnx::mergeTypes(declared, inferred), expected)
        << row.declared << " with " << row.inferred;
  }
}

TEST(MergeTypesTest, NullIsUnknown) {
  MLIRContext context;
  Type type = parseType("tensor<3xf32>", &context);
  EXPECT_EQ(amp::onnx::mergeTypes({}, type), type);
  EXPECT_EQ(amp::onnx::mergeTypes(type, {}), type);
  EXPECT_FALSE(amp::onnx::mergeTypes({}, {}));
}

} // namespace
