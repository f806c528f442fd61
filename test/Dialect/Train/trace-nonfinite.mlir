// RUN: split-file %s %t
// RUN: amp-opt %t/step.mlir --train-trace-nonfinite | FileCheck %t/step.mlir
// RUN: amp-opt %t/none.mlir --train-trace-nonfinite --verify-diagnostics

//--- step.mlir
// A flag for what the step is given and for each float value up to the check; what comes after it goes, and no state is written.
// CHECK-LABEL: func.func @locate_nonfinite(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: tensor<2xf32> {onnx.name = "x", train.role = "input"}, %[[W:[a-z0-9]+]]: tensor<2xf32>
//  CHECK-SAME:   {onnx.name = "nonfinite.0.the input 'x'", train.role = "metric"}
//  CHECK-SAME:   {onnx.name = "nonfinite.1.the parameter 'w'", train.role = "metric"}
//  CHECK-SAME:   {onnx.name = "nonfinite.2.forward of 'mul' (Mul)", train.role = "metric"}
//  CHECK-SAME:   {onnx.name = "nonfinite.3.forward of 'sum' (ReduceSum)", train.role = "metric"}
//  CHECK-SAME:   {onnx.name = "nonfinite.4.backward of 'mul' (Mul)", train.role = "metric"})
//       CHECK:   %[[Y:.+]] = onnx.Mul(%[[X]], %[[W]])
//       CHECK:   %[[L:.+]] = onnx.ReduceSum(%[[Y]])
//       CHECK:   %[[G:.+]] = onnx.Mul(%[[X]], %[[X]])
//       CHECK:   %{{.+}}, %{{.+}}, %[[FLAGS:.+]]:5 = train.check_gradients %[[X]], %[[W]], %[[Y]], %[[L]], %[[G]]
//       CHECK:   return %[[FLAGS]]#0, %[[FLAGS]]#1, %[[FLAGS]]#2, %[[FLAGS]]#3, %[[FLAGS]]#4
func.func @train_step(%x: tensor<2xf32> {onnx.name = "x", train.role = "input"}, %w: tensor<2xf32> {onnx.name = "w", train.role = "parameter", train.init = dense<1.0> : tensor<2xf32>})
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<2xf32> {onnx.name = "next.w", train.alias = 1 : i64, train.role = "parameter"}) {
  %y = onnx.Mul(%x, %w) {onnx.name = "mul"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %l = onnx.ReduceSum(%y) {keepdims = 0 : i64, onnx.name = "sum"} : (tensor<2xf32>) -> tensor<f32>
  %g = onnx.Mul(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("mul")
  %found, %squares = train.check_gradients %g : tensor<2xf32>
  %new = onnx.Sub(%w, %g) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %l, %new : tensor<f32>, tensor<2xf32>
}

//--- none.mlir
// expected-error @below {{nothing checks gradients, so there is nothing to trace: run --train-add-optimizer first}}
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
