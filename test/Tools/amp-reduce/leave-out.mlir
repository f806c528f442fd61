// RUN: amp-reduce %s -leave-out="test=%S/Inputs/has-softmax" | FileCheck %s
// RUN: not amp-reduce %s -leave-out="test=/bin/true" 2>&1 | FileCheck %s --check-prefix=ALARM
// RUN: not amp-reduce %s -leave-out="test=no-such-program" 2>&1 | FileCheck %s --check-prefix=ABSENT

// ALARM: error: expects a file that the test '/bin/true' finds interesting: it must end with 1 for it
// ABSENT: error: expects the option 'test' to name a program, but got 'no-such-program'

// What feeds the softmax is left out: an operand of the type does as well, or zeros. What reads it goes, and the other function.
//     CHECK: func.func @around_a_softmax
// CHECK-NOT:   onnx.{{MatMul|Relu|Transpose|Mul|ReduceSum}}
//     CHECK:   %[[ZEROS:.+]] = onnx.initializer dense<0.0
//     CHECK:   %[[Y:.+]] = onnx.Softmax(%[[ZEROS]])
//     CHECK:   return %[[Y]]
// CHECK-NOT: func.func
func.func @around_a_softmax(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<3x2xf32> {
  %m = onnx.MatMul(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %r = onnx.Relu(%m) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = onnx.Transpose(%r) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %s = onnx.Softmax(%t) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %p = onnx.Mul(%s, %s) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %p : tensor<3x2xf32>
}

func.func @unrelated(%x: tensor<2xf32>) -> tensor<2xf32> {
  %n = onnx.Neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %n : tensor<2xf32>
}
