// RUN: amp-opt %s --lower-to-primitives --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s --check-prefix=PASSES
// RUN: amp-opt %s --train-differentiate --lower-to-primitives | FileCheck %s

// Gradients come before composite operators: they leave some behind.
//      PASSES: decompose-train
//      PASSES: decompose-onnx
//      PASSES: canonicalize
//      PASSES: cse

// What forward and its gradient both need is computed once.
// CHECK-LABEL: func.func @shared
//       CHECK:   onnx.Exp
//   CHECK-NOT:   onnx.Exp
//       CHECK:   return
func.func @shared(%x: tensor<2x4xf32> {onnx.name = "x", train.role = "parameter"}, %labels: tensor<2xi64>)
    -> (tensor<f32> {train.role = "loss"}) {
  %loss = onnx.SoftmaxCrossEntropyLoss(%x, %labels) : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}
