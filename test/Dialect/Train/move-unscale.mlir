// RUN: amp-opt %s --train-move-unscale | FileCheck %s

// The factor goes into the update's multiplier, on whichever side it stood; the product is dead.
// CHECK-LABEL: func.func @move(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: tensor<4xf32>, %[[G:[a-z0-9]+]]: tensor<4xf32>, %[[N:[a-z0-9]+]]: tensor<f32>, %[[LR:[a-z0-9]+]]: tensor<f32>, %[[M:[a-z0-9]+]]: tensor<f32>,
// CHECK-NEXT:    %[[BOTH:.+]] = onnx.Mul(%[[M]], %[[N]])
// CHECK-NEXT:    %[[P1:.+]] = train.sgd_update %[[P]], %[[G]], %[[LR]], %[[BOTH]],
// CHECK-NEXT:    %[[AGAIN:.+]] = onnx.Mul(%[[M]], %[[N]])
// CHECK-NEXT:    train.lion_update %[[P1]], %[[G]], %[[P]], %[[LR]], %[[AGAIN]],
func.func @move(%p: tensor<4xf32>, %g: tensor<4xf32>, %n: tensor<f32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) -> tensor<4xf32> {
  %0 = onnx.Mul(%g, %n) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = train.sgd_update %p, %0, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  %2 = onnx.Mul(%n, %g) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %3:2 = train.lion_update %1, %2, %p, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return %3#0 : tensor<4xf32>
}

// A factor for each element is no scale, and a product that was rounded to half stays what it is.
// CHECK-LABEL: func.func @keep(
// CHECK:         %[[U:.+]] = onnx.Mul(
// CHECK-NEXT:    train.sgd_update %{{.+}}, %[[U]],
// CHECK:         %[[H:.+]] = onnx.Mul(
// CHECK-NEXT:    %[[W:.+]] = amp.cast %[[H]]
// CHECK-NEXT:    train.sgd_update %{{.+}}, %[[W]],
func.func @keep(%p: tensor<4xf32>, %g: tensor<4xf32>, %h: tensor<4xf16>, %n: tensor<f16>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) -> tensor<4xf32> {
  %0 = onnx.Mul(%g, %p) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.sgd_update %p, %0, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  %2 = onnx.Mul(%h, %n) : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %3 = amp.cast %2 : tensor<4xf16> to tensor<4xf32>
  %4 = train.sgd_update %1, %3, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
