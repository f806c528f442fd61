// RUN: amp-opt %s --amp-assign-precision=dtype=f16 --split-input-file | FileCheck %s
// RUN: amp-opt %s --amp-assign-precision=dtype=bf16 --split-input-file | FileCheck %s --check-prefix=BF16

// The classes: narrow, wide, and an op that follows a half operand.
// CHECK-LABEL: func.func @narrow_follow_wide(
//  CHECK-NEXT:   onnx.initializer
//  CHECK-NEXT:   onnx.MatMul{{.*}}<narrow (f16, f16) -> (f16), rule = table, note = "{{.+}}">
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = follow, note = "{{.+}}", by = "m">
//  CHECK-NEXT:   onnx.Softmax{{.*}}<wide (f32) -> (f32), rule = table, note = "{{.+}}">
//  CHECK-NEXT:   return
// BF16-LABEL: func.func @narrow_follow_wide(
//       BF16:   onnx.MatMul{{.*}}<narrow (bf16, bf16) -> (bf16)
func.func @narrow_follow_wide(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = onnx.initializer dense<0.5> : tensor<8x8xf32>
  %0 = onnx.MatMul(%x, %w) {onnx.outputs = ["m"]} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = onnx.Relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = onnx.Softmax(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// What a wide op makes may be out of range; a bounded op ends that.
// CHECK-LABEL: func.func @hazard_spreads(
//       CHECK:   onnx.MatMul
//  CHECK-NEXT:   onnx.Exp{{.*}}<wide (f32) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Add{{.*}}<promote (f32, f32) -> (f32), rule = range, {{.*}}by = "e">
//  CHECK-NEXT:   onnx.Sigmoid{{.*}}<follow (f32) -> (f32), rule = range
//  CHECK-NEXT:   onnx.Mul{{.*}}<promote (f16, f16) -> (f16), rule = follow, {{.*}}by = "m">
func.func @hazard_spreads(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.MatMul(%x, %w) {onnx.outputs = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Exp(%0) {onnx.outputs = ["e"]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Add(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.Sigmoid(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = onnx.Mul(%0, %3) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = onnx.MatMul(%4, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}
