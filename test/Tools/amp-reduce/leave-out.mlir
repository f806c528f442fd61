// RUN: amp-reduce %s -reduction-tree="traversal-mode=0 test=%S/Inputs/has-softmax" | FileCheck %s
// RUN: amp-reduce %s -opt-reduction-pass="opt-pass=canonicalize test=%S/Inputs/has-softmax" | FileCheck %s --check-prefix=OPT

// What feeds the softmax is left out: a value of its type is there already, or zeros do. What reads it goes, too.
// CHECK-LABEL: func.func @around_a_softmax
//   CHECK-NOT:   onnx.{{MatMul|Relu|Transpose|Mul|ReduceSum}}
//       CHECK:   onnx.Softmax
//   CHECK-NOT:   onnx.{{MatMul|Relu|Transpose|Mul|ReduceSum}}
//       CHECK:   return
//
// One of the tool's own passes takes the useless casts away.
// OPT-LABEL: func.func @around_a_softmax
//   OPT-NOT:   amp.cast
//       OPT:   onnx.Softmax
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
