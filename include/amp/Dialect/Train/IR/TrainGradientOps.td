// Gradients of operators that ONNX has no operator for.

#ifndef AMP_DIALECT_TRAIN_IR_TRAINGRADIENTOPS
#define AMP_DIALECT_TRAIN_IR_TRAINGRADIENTOPS

include "amp/Dialect/Train/IR/TrainBase.td"

def Train_SeedOp : Train_Op<"seed", [Pure]> {
  let summary = "Cotangent that backward starts from";
  let description = [{
    The number 1, as the cotangent of the loss. Loss scaling replaces it by the
    scale, in float32, so that the scale never passes through a half type.

    Example:
    ```mlir
    %g = train.seed : tensor<f32>
    ```
  }];
  let results = (outs Train_FloatTensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Train_MatMulOp : Train_Op<"matmul", [Pure]> {
  let summary = "Matrix product of narrow operands with a wide result";
  let description = [{
    `result = a' @ b'`, over leading batch dimensions that broadcast as in
    ONNX's MatMul; `a'` is `a`, or with `transA` its last two dimensions
    swapped, likewise `b'`. Products and sums are float32 (float64 for f64)
    and rounded once if the result is narrower. Both operands have the same
    element type and at least two dimensions. The result may be wider than the
    operands: weight gradients are (`a` and `b` f16, result f32).

    Example:
    ```mlir
    %dw = train.matmul %x, %g {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$a, Train_FloatTensor:$b,
                       UnitAttr:$transA, UnitAttr:$transB);
  let results = (outs Train_FloatTensor:$result);
  let builders = [
    // The product's shape, with elements of `elementType`.
    OpBuilder<(ins "::mlir::Type":$elementType, "::mlir::Value":$a,
                   "bool":$transA, "::mlir::Value":$b, "bool":$transB)>
  ];
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // AMP_DIALECT_TRAIN_IR_TRAINGRADIENTOPS
