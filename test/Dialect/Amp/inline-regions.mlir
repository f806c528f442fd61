// RUN: amp-opt %s --amp-inline-regions | FileCheck %s

// Nested regions dissolve; order and uses stay.
// CHECK-LABEL: func.func @nested
// CHECK-SAME:    %[[X:.+]]: tensor<4xf32>
//  CHECK-NEXT:   %[[A:.+]] = onnx.Exp(%[[X]])
//  CHECK-NEXT:   %[[B:.+]] = onnx.Relu(%[[A]])
//  CHECK-NEXT:   %[[C:.+]] = onnx.Neg(%[[B]])
//  CHECK-NEXT:   return %[[C]], %[[X]]
func.func @nested(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = amp.autocast dtype = f16 -> tensor<4xf32>, tensor<4xf32> {
    %a = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = amp.autocast enabled = false -> tensor<4xf32> {
      %r = onnx.Relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %r : tensor<4xf32>
    }
    amp.yield %b, %x : tensor<4xf32>, tensor<4xf32>
  }
  %n = onnx.Neg(%0#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %n, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @inside_a_branch
//       CHECK:   onnx.If
//       CHECK:     onnx.Exp
//  CHECK-NEXT:     onnx.yield
//   CHECK-NOT:   amp.autocast
func.func @inside_a_branch(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = onnx.If(%c) ({
    %a = amp.autocast -> tensor<4xf32> {
      %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %e : tensor<4xf32>
    }
    onnx.yield %a : tensor<4xf32>
  }, {
    onnx.yield %x : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
