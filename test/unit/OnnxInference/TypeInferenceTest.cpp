//===- TypeInferenceTest.cpp - Result types of onnx operations ------------===//
//
// Each case infers the operation called "probe" in a function body, whose other
// operations have final types.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

class TypeInferenceTest : public ::testing::Test {
protected:
  TypeInferenceTest() { context.loadDialect<amp::onnx::OnnxDialect>(); }

  Operation *parse(const std::string &arguments, const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(" + arguments + ") {\n" + body + "\nreturn }", &context);
    Operation *probe = nullptr;
    if (module)
      module->walk([&](Operation *op) {
        if (amp::onnx::getNodeName(op) == "probe")
          probe = op;
      });
    return probe;
  }

  static std::string print(llvm::Error error, ArrayRef<Type> types) {
    if (error)
      return "error: " + llvm::toString(std::move(error));
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(types, stream);
    return text;
  }

  /// Inferred types of the probe, or the error.
  std::string infer(const std::string &arguments, const std::string &body) {
    Operation *probe = parse(arguments, body);
    if (!probe)
      return "no probe";
    SmallVector<Type> types;
    amp::onnx::TypeInference inference;
    llvm::Error error = inference.infer(probe, types);
    return print(std::move(error), types);
  }

  std::string inferArguments(const std::string &arguments,
                             const std::string &body) {
    Operation *probe = parse(arguments, body);
    if (!probe)
      return "no probe";
    SmallVector<Type> types;
    amp::onnx::TypeInference inference;
    llvm::Error error = inference.inferRegionArguments(probe, 0, types);
    return print(std::move(error), types);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(TypeInferenceTest, NamesOfDimensionsArePassedOn) {
  EXPECT_EQ(
      infer("%x: tensor<?x3x224x224xf32, #onnx.dims<\"N\", \"\", \"\", \"\">>, "
            "%w: tensor<64x3x7x7xf32>",
            "%y = onnx.Conv(%x, %w) {onnx.name = \"probe\", strides = "
            "array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>} : "
            "(tensor<?x3x224x224xf32, #onnx.dims<\"N\", \"\", \"\", \"\">>, "
            "tensor<64x3x7x7xf32>) -> tensor<*xf32>"),
      "tensor<?x64x112x112xf32, #onnx.dims<\"N\", \"\", \"\", \"\">>");
}

TEST_F(TypeInferenceTest, UnrankedOperandGivesUnrankedResult) {
  EXPECT_EQ(infer("%x: tensor<*xf16>",
                  "%y = onnx.Relu(%x) {onnx.name = \"probe\"} : "
                  "(tensor<*xf16>) -> tensor<*xf16>"),
            "tensor<*xf16>");
}

TEST_F(TypeInferenceTest, OmittedOperandsAndResultsKeepTheirPositions) {
  EXPECT_EQ(infer("%x: tensor<5x2x4xf32>, %w: tensor<1x12x4xf32>, "
                  "%r: tensor<1x12x3xf32>, %h: tensor<1x2x3xf32>",
                  "%y = onnx.LSTM(%x, %w, %r, _, _, %h) {hidden_size = 3 : "
                  "i64, onnx.name = \"probe\"} : (tensor<5x2x4xf32>, "
                  "tensor<1x12x4xf32>, tensor<1x12x3xf32>, _, _, "
                  "tensor<1x2x3xf32>) -> (_, tensor<*xf32>)"),
            "tensor<1x2x3xf32>");
}

TEST_F(TypeInferenceTest, NegativeDimensionIsNoSize) {
  EXPECT_EQ(infer("%x: tensor<?x2xf32, #onnx.dims<-1 : i64, \"\">>",
                  "%y = onnx.Concat(%x, %x) {axis = 0 : i64, onnx.name = "
                  "\"probe\"} : (tensor<?x2xf32, #onnx.dims<-1 : i64, \"\">>, "
                  "tensor<?x2xf32, #onnx.dims<-1 : i64, \"\">>) -> "
                  "tensor<*xf32>"),
            "tensor<?x2xf32>");
}

TEST_F(TypeInferenceTest, ConstantsAreRead) {
  EXPECT_EQ(infer("%x: tensor<?x12x64xf32, #onnx.dims<\"N\", \"\", \"\">>",
                  "%s = onnx.initializer dense<[0, -1]> : tensor<2xi64>\n"
                  "%y = onnx.Reshape(%x, %s) {onnx.name = \"probe\"} : "
                  "(tensor<?x12x64xf32, #onnx.dims<\"N\", \"\", \"\">>, "
                  "tensor<2xi64>) -> tensor<*xf32>"),
            "tensor<?x768xf32, #onnx.dims<\"N\", \"\">>");
  EXPECT_EQ(infer("%x: tensor<2x3xf32>",
                  "%s = onnx.Constant() {value_ints = array<i64: 2, 5>} : () "
                  "-> tensor<2xi64>\n"
                  "%y = onnx.Tile(%x, %s) {onnx.name = \"probe\"} : "
                  "(tensor<2x3xf32>, tensor<2xi64>) -> tensor<*xf32>"),
            "tensor<4x15xf32>");
  EXPECT_EQ(infer("",
                  "%0 = onnx.Constant() {value_float = 0.0 : f32} : () -> "
                  "tensor<f32>\n"
                  "%1 = onnx.Constant() {value_float = 5.0 : f32} : () -> "
                  "tensor<f32>\n"
                  "%2 = onnx.Constant() {value_float = 2.0 : f32} : () -> "
                  "tensor<f32>\n"
                  "%y = onnx.Range(%0, %1, %2) {onnx.name = \"probe\"} : "
                  "(tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<*xf32>"),
            "tensor<3xf32>");
}

/// Reshape to Concat(Slice(Shape(x), 0, 1), [-1, 768]) of x: [N, 7, 768].
const char *shapeArithmetic = R"(
  %zero = onnx.initializer dense<0> : tensor<1xi64>
  %one = onnx.initializer dense<1> : tensor<1xi64>
  %rest = onnx.initializer dense<[-1, 768]> : tensor<2xi64>
  %shape = onnx.Shape(%x) : (tensor<?x7x768xf32, #onnx.dims<"N", "", "">>) -> tensor<3xi64>
  %n = onnx.Slice(%shape, %zero, %one) : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %to = onnx.Concat(%n, %rest) {axis = 0 : i64} : (tensor<1xi64>, tensor<2xi64>) -> tensor<3xi64>
  %y = onnx.Reshape(%x, %to) {onnx.name = "probe"} : (tensor<?x7x768xf32, #onnx.dims<"N", "", "">>, tensor<3xi64>) -> tensor<*xf32>
)";

TEST_F(TypeInferenceTest, ShapeArithmeticIsFollowed) {
  EXPECT_EQ(infer("%x: tensor<?x7x768xf32, #onnx.dims<\"N\", \"\", \"\">>",
                  shapeArithmetic),
            "tensor<?x?x768xf32, #onnx.dims<\"N\", \"\", \"\">>");
}

TEST_F(TypeInferenceTest, SliceWithUnknownBoundsTellsNothing) {
  // The library would take the unknown start for 0 and give [5].
  EXPECT_EQ(infer("%x: tensor<5x6xf32>, %i: tensor<1xi64>",
                  "%s = onnx.Shape(%x) : (tensor<5x6xf32>) -> tensor<2xi64>\n"
                  "%two = onnx.initializer dense<2> : tensor<1xi64>\n"
                  "%p = onnx.Slice(%s, %i, %two) : (tensor<2xi64>, "
                  "tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>\n"
                  "%y = onnx.ConstantOfShape(%p) {onnx.name = \"probe\"} : "
                  "(tensor<?xi64>) -> tensor<*xf32>"),
            "tensor<*xf32>");
}

TEST_F(TypeInferenceTest, HugeStepsDoNotOverflow) {
  EXPECT_EQ(infer("%x: tensor<5x6xf32>",
                  "%s = onnx.Shape(%x) : (tensor<5x6xf32>) -> tensor<2xi64>\n"
                  "%z = onnx.initializer dense<0> : tensor<1xi64>\n"
                  "%e = onnx.initializer dense<2> : tensor<1xi64>\n"
                  "%h = onnx.initializer dense<9223372036854775807> : "
                  "tensor<1xi64>\n"
                  "%p = onnx.Slice(%s, %z, %e, %z, %h) : (tensor<2xi64>, "
                  "tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) "
                  "-> tensor<?xi64>\n"
                  "%y = onnx.ConstantOfShape(%p) {onnx.name = \"probe\"} : "
                  "(tensor<?xi64>) -> tensor<*xf32>"),
            "tensor<*xf32>");
}

TEST_F(TypeInferenceTest, LongShapesAreNotCounted) {
  EXPECT_EQ(infer("%x: tensor<?xf32>, %s: tensor<4611686018427387904xi64>",
                  "%y = onnx.Reshape(%x, %s) {onnx.name = \"probe\"} : "
                  "(tensor<?xf32>, tensor<4611686018427387904xi64>) -> "
                  "tensor<*xf32>"),
            "tensor<*xf32>");
}

TEST_F(TypeInferenceTest, DiamondsAndChainsTakeLinearTime) {
  // Each value is used twice: 2^2000 paths, and 2000 levels.
  std::string body = "%v0 = onnx.Shape(%x) : (tensor<?x2xf32>) -> "
                     "tensor<2xi64>\n";
  for (int i = 1; i <= 2000; ++i) {
    std::string before = "%v" + std::to_string(i - 1);
    body += "%v" + std::to_string(i) + " = onnx.Add(" + before + ", " + before +
            ") : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>\n";
  }
  body += "%y = onnx.ConstantOfShape(%v20) {onnx.name = \"probe\"} : "
          "(tensor<2xi64>) -> tensor<*xf32>";
  EXPECT_EQ(infer("%x: tensor<?x2xf32>", body), "tensor<?x2097152xf32>");
  // Overflow makes 0 of the last; what counts is that it ends.
  body.replace(body.rfind("%v20"), 4, "%v2000");
  EXPECT_EQ(infer("%x: tensor<?x2xf32>", body), "tensor<?x0xf32>");
}

TEST_F(TypeInferenceTest, RegionsGiveTheirYieldedTypes) {
  auto branches = [](const std::string &yielded) {
    return "%y = onnx.If(%c) ({\n%a = onnx.Relu(%x) : (tensor<2x3xf32>) -> "
           "tensor<2x3xf32>\nonnx.yield %a : tensor<2x3xf32>\n}, {\n"
           "onnx.yield %z : " +
           yielded +
           "\n}) {onnx.name = \"probe\"} : (tensor<i1>) -> tensor<*xf32>";
  };
  EXPECT_EQ(infer("%c: tensor<i1>, %x: tensor<2x3xf32>, %z: tensor<2x4xf32>",
                  branches("tensor<2x4xf32>")),
            "tensor<2x?xf32>");
  EXPECT_EQ(infer("%c: tensor<i1>, %x: tensor<2x3xf32>, %z: !onnx.unknown",
                  branches("!onnx.unknown")),
            "<<NULL TYPE>>");
}

const char *loop = R"(
  %y, %all = onnx.Loop(%m, _, %x) ({
    ^bb0(%i: tensor<i64>, %c: tensor<i1>, %v: tensor<2xf32>):
    onnx.yield %c, %v, %v : tensor<i1>, tensor<2xf32>, tensor<2xf32>
  }) {onnx.name = "probe"} : (tensor<i64>, _, tensor<2xf32>) -> (tensor<*xf32>, tensor<*xf32>)
)";

TEST_F(TypeInferenceTest, LoopResultsAndArguments) {
  EXPECT_EQ(infer("%m: tensor<i64>, %x: tensor<2xf32>", loop),
            "tensor<*xf32>, tensor<?x2xf32>");
  EXPECT_EQ(inferArguments("%m: tensor<i64>, %x: tensor<2xf32>", loop),
            "tensor<*xi64>, !onnx.unknown, tensor<*xf32>");
}

TEST_F(TypeInferenceTest, LoopWithoutAnyOperand) {
  EXPECT_EQ(infer("", "onnx.Loop() ({\n^bb0(%i: tensor<i64>, %c: tensor<i1>):\n"
                      "onnx.yield %c : tensor<i1>\n}) {onnx.name = \"probe\"} "
                      ": () -> ()"),
            "");
}

TEST_F(TypeInferenceTest, ScanArguments) {
  EXPECT_EQ(inferArguments(
                "%s: tensor<4xf32>, %x: tensor<9x4xf32>",
                "%y, %z = onnx.Scan(%s, %x) ({\n^bb0(%a: tensor<4xf32>, %b: "
                "tensor<4xf32>):\nonnx.yield %a, %b : tensor<4xf32>, "
                "tensor<4xf32>\n}) {num_scan_inputs = 1 : i64, onnx.name = "
                "\"probe\"} : (tensor<4xf32>, tensor<9x4xf32>) -> "
                "(tensor<4xf32>, tensor<9x4xf32>)"),
            "tensor<4xf32>, tensor<4xf32>");
}

TEST_F(TypeInferenceTest, OperatorsWithoutFunctionKeepTheirInputsType) {
  EXPECT_EQ(infer("%x: tensor<2x4x?xf32>, %s: tensor<4xf32>",
                  "%y = onnx.GroupNormalization(%x, %s, %s) {num_groups = 2 : "
                  "i64, onnx.name = \"probe\"} : (tensor<2x4x?xf32>, "
                  "tensor<4xf32>, tensor<4xf32>) -> tensor<*xf32>"),
            "tensor<2x4x?xf32>");
  EXPECT_EQ(infer("%x: tensor<2x4x3x3xf32>",
                  "%y = onnx.MeanVarianceNormalization(%x) {onnx.name = "
                  "\"probe\"} : (tensor<2x4x3x3xf32>) -> tensor<*xf32>"),
            "tensor<2x4x3x3xf32>");
}

TEST_F(TypeInferenceTest, ErrorsComeAsText) {
  EXPECT_EQ(infer("%x: tensor<2x3xf32>, %y: tensor<4x5xf32>",
                  "%z = onnx.MatMul(%x, %y) {onnx.name = \"probe\"} : "
                  "(tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>"),
            "error: Incompatible dimensions for matrix multiplication");
}

TEST_F(TypeInferenceTest, DimensionNumbersAreChecked) {
  // The library would narrow this axis to -1 and read a dimension there.
  EXPECT_EQ(infer("%x: tensor<2x3xf32>, %s: tensor<3xf32>",
                  "%y, %m = onnx.LayerNormalization(%x, %s) {axis = "
                  "9223372036854775807 : i64, onnx.name = \"probe\"} : "
                  "(tensor<2x3xf32>, tensor<3xf32>) -> (tensor<*xf32>, "
                  "tensor<*xf32>)"),
            "error: attribute 'axis' names no dimension: 9223372036854775807");
  EXPECT_EQ(
      infer("%x: tensor<2x3xf32>, %i: tensor<2x4611686018427387904xi64>",
            "%y = onnx.GatherND(%x, %i) {batch_dims = 9223372036854775807 : "
            "i64, onnx.name = \"probe\"} : (tensor<2x3xf32>, "
            "tensor<2x4611686018427387904xi64>) -> tensor<*xf32>"),
      "error: attribute 'batch_dims' names no dimension: "
      "9223372036854775807");
}

TEST_F(TypeInferenceTest, CountsAreChecked) {
  // The library would divide by it.
  EXPECT_EQ(infer("%q: tensor<2x4x24xf32>, %k: tensor<2x6x24xf32>",
                  "%y = onnx.Attention(%q, %k, %k) {kv_num_heads = 0 : i64, "
                  "q_num_heads = 3 : i64, onnx.name = \"probe\"} : "
                  "(tensor<2x4x24xf32>, tensor<2x6x24xf32>, "
                  "tensor<2x6x24xf32>) -> tensor<*xf32>"),
            "error: attribute 'kv_num_heads' must be at least 1, but is 0");
}

TEST_F(TypeInferenceTest, EmptyConstantsAreNoNumbers) {
  EXPECT_EQ(infer("%x: tensor<3xi64>, %v: tensor<2xf32>",
                  "%d = onnx.initializer dense<> : tensor<0xi64>\n"
                  "%y = onnx.OneHot(%x, %d, %v) {onnx.name = \"probe\"} : "
                  "(tensor<3xi64>, tensor<0xi64>, tensor<2xf32>) -> "
                  "tensor<*xf32>"),
            "error: Input 'depth' must have exactly one element.");
  EXPECT_EQ(infer("%x: tensor<1xf32>",
                  "%s = onnx.initializer dense<> : tensor<0xi64>\n"
                  "%y = onnx.Reshape(%x, %s) {onnx.name = \"probe\"} : "
                  "(tensor<1xf32>, tensor<0xi64>) -> tensor<*xf32>"),
            "tensor<f32>");
}

TEST_F(TypeInferenceTest, LargeConstantsAreNotCopied) {
  EXPECT_EQ(infer("", "%z = onnx.Constant() {value = dense<1.0> : "
                      "tensor<1073741824x1024xf32>, onnx.name = \"probe\"} : "
                      "() -> tensor<1073741824x1024xf32>"),
            "tensor<1073741824x1024xf32>");
}

} // namespace
