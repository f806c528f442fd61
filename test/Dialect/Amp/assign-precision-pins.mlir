// RUN: amp-opt %s --split-input-file --amp-assign-precision="dtype=f16 pin=head/.*=f32 pin=soft=f16 pin-slot=pow:1=f16 allow=Exp deny=Relu" | FileCheck %s

// CHECK-LABEL: func.func @pins(
//       CHECK:   onnx.MatMul{{.*}}<narrow (f32, f32) -> (f32), rule = pin, {{.*}}by = "head/.*=f32">
//  CHECK-NEXT:   onnx.Softmax{{.*}}<wide (f16) -> (f16), rule = pin, {{.*}}by = "soft=f16">
//  CHECK-NEXT:   onnx.Relu{{.*}}<wide (f32) -> (f32), rule = deny, note = "Denied by the user.">
//  CHECK-NEXT:   onnx.Exp{{.*}}<narrow (f16) -> (f16), rule = allow, note = "Allowed by the user.">
//  CHECK-NEXT:   onnx.Pow{{.*}}<wide (f32, f16) -> (f32), rule = pin, {{.*}}by = "pow:1=f16">
func.func @pins(%x: tensor<4x4xf32>, %e: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w = onnx.initializer dense<0.5> : tensor<4x4xf32>
  %0 = onnx.MatMul(%x, %w) {onnx.name = "head/mm"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Softmax(%0) {onnx.name = "soft"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Relu(%1) {onnx.name = "not/head"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.Exp(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = onnx.Pow(%3, %e) {onnx.name = "pow"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}
