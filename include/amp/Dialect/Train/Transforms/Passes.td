// Passes of the train dialect.

#ifndef AMP_DIALECT_TRAIN_TRANSFORMS_PASSES
#define AMP_DIALECT_TRAIN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"train-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Append the gradients of the loss to a function's results";
  let description = [{
    Reverse-mode differentiation of the result with role `loss` (or the one
    named by `loss`) with respect to the arguments with role `parameter` (or
    those named by `wrt`). For each of them a result of role `gradient` is
    appended, in float32 where the parameter is. Backward runs in the types that
    forward has, so autocast comes first; weight gradients are float32.

    Cotangents that are zero are absent: they cost nothing. A parameter the loss
    does not depend on gets a gradient of zeros. Contributions to one value are
    summed in float32. Shapes must be static. All operations on the way that
    have no rule are reported at once.

    ```mlir
    func.func @f(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
      %0 = onnx.ReduceSumSquare(%w) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
      return %0 : tensor<f32>
    }
    ```
    gets a second result `tensor<4xf32> {train.role = "gradient", train.of = ...}`.
  }];
  let options = [
    Option<"loss", "loss", "std::string", /*default=*/"\"\"",
           "Name of the output to differentiate (default: the one with role loss)">,
    ListOption<"wrt", "wrt", "std::string",
               "Names of the arguments to differentiate by (default: those with role parameter)">
  ];
  let dependentDialects = ["::amp::AmpDialect", "::amp::onnx::OnnxDialect",
                           "::amp::train::TrainDialect"];
}

#endif // AMP_DIALECT_TRAIN_TRANSFORMS_PASSES
