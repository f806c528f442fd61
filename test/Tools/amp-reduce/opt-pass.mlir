// RUN: amp-reduce %s -opt-reduction-pass="opt-pass=canonicalize test=%S/Inputs/has-softmax" | FileCheck %s

// One of the tool's own passes takes the useless casts away.
// CHECK-LABEL: func.func @around_a_softmax
//   CHECK-NOT:   amp.cast
//       CHECK:   onnx.Softmax
func.func @around_a_softmax(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<3x2xf32> {
  %m = onnx.MatMul(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %r = onnx.Relu(%m) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %same = amp.cast %r : tensor<2x3xf32> to tensor<2x3xf32>
  %t = onnx.Transpose(%same) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %s = onnx.Softmax(%t) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %p = onnx.Mul(%s, %s) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %p : tensor<3x2xf32>
}

func.func @unrelated(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
