// Composite onnx operations to primitives.

#ifndef AMP_CONVERSION_ONNXDECOMPOSE_PASSES
#define AMP_CONVERSION_ONNXDECOMPOSE_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeOnnxPass : Pass<"decompose-onnx", "::mlir::func::FuncOp"> {
  let summary = "Replace composite operators by the primitives that code is generated for";
  let description = [{
    Normalizations, softmax, activations, losses, attention, recurrent layers,
    resizing and the like become elementwise operators, reductions, data
    movement and `train.matmul`. MatMul and Gemm become `train.matmul`, too.
    What has no rule is left alone.

    Half types are widened first and rounded once at the end, so a composite
    operator computes in float32 whatever its own type is; f64 stays f64.
    Shapes must be static (`onnx-bind-dims`), and operands that set a shape or
    an axis constant; an operator whose rule needs more than it finds is an
    error. Operators named by `keep` stay whole.

    ```mlir
    %y = onnx.Softmax(%x) : (tensor<2x4xf16>) -> tensor<2x4xf16>
    ```
    becomes
    ```mlir
    %0 = amp.cast %x : tensor<2x4xf16> to tensor<2x4xf32>
    %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
    %1 = onnx.ReduceMax(%0, %axes) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %2 = onnx.Sub(%0, %1) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %3 = onnx.Exp(%2) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = onnx.ReduceSum(%3, %axes) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %5 = onnx.Div(%3, %4) : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %y = amp.cast %5 : tensor<2x4xf32> to tensor<2x4xf16>
    ```
  }];
  let options = [
    ListOption<"keep", "keep", "std::string",
               "Operators to leave whole, by ONNX's name">
  ];
  let statistics = [
    Statistic<"numDecomposed", "num-decomposed", "Operators decomposed">
  ];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

#endif // AMP_CONVERSION_ONNXDECOMPOSE_PASSES
