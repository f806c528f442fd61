// Passes that write train operations as primitives.

#ifndef AMP_CONVERSION_TRAINDECOMPOSE_PASSES
#define AMP_CONVERSION_TRAINDECOMPOSE_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeTrainPass : Pass<"decompose-train", "::mlir::func::FuncOp"> {
  let summary = "Write train operations as onnx primitives";
  let description = [{
    Gradient and update operations become elementwise operators, reductions,
    data movement and contractions. What a half type holds is computed in
    float32 and rounded once per result, as each operation says. Operations the
    code generators know (`train.matmul`, ...) stay.

    With `to-onnx` nothing of the train dialect is left, so that the function can
    be written as an ONNX model: contractions become float32 MatMul between
    casts. An operation that has no such form is an error.

    ```mlir
    %0 = train.matmul %x, %g {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
    ```
    becomes, with `to-onnx`,
    ```mlir
    %0 = amp.cast %x : tensor<8x4xf16> to tensor<8x4xf32>
    %1 = onnx.Transpose(%0) {perm = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    %2 = amp.cast %g : tensor<8x3xf16> to tensor<8x3xf32>
    %3 = onnx.MatMul(%1, %2) : (tensor<4x8xf32>, tensor<8x3xf32>) -> tensor<4x3xf32>
    ```
  }];
  let options = [
    Option<"toOnnx", "to-onnx", "bool", /*default=*/"false",
           "Leave nothing of the train dialect, so that the function can be exported">
  ];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect"];
}

#endif // AMP_CONVERSION_TRAINDECOMPOSE_PASSES
