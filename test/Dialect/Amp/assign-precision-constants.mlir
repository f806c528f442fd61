// RUN: amp-opt %s --amp-assign-precision=dtype=f16 --split-input-file | FileCheck %s
// RUN: amp-opt %s --amp-assign-precision=dtype=bf16 --split-input-file | FileCheck %s --check-prefix=BF16
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 lossy-constants=clamp" --split-input-file | FileCheck %s --check-prefix=CLAMP

// A weight beyond the range keeps its contraction wide; +inf is no loss.
// CHECK-LABEL: func.func @over_range(
//       CHECK:   onnx.MatMul{{.*}}<narrow (f32, f32) -> (f32), rule = constant, note = "Constant 'W': of 6 values, 1 over range and 1 flushed to zero.", by = "W">
//  CHECK-NEXT:   onnx.Min{{.*}}<promote (f32, f32) -> (f32), rule = range
// BF16-LABEL: func.func @over_range(
//       BF16:   onnx.MatMul{{.*}}<narrow (bf16, bf16) -> (bf16), rule = table
//  BF16-NEXT:   onnx.Min{{.*}}<promote (bf16, bf16) -> (bf16), rule = follow
// CLAMP-LABEL: func.func @over_range(
//       CLAMP:   onnx.MatMul{{.*}}<narrow (f16, f16) -> (f16), rule = table, note = "Constant 'W': of 6 values, 1 over range and 1 flushed to zero.", by = "W">
//  CLAMP-NEXT:   onnx.Min{{.*}}<promote (f16, f16) -> (f16), rule = follow
func.func @over_range(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  %w = onnx.initializer dense<[[70000.0, 20000.0, 1.0e-9], [0.0, 0.0, 0.0]]> : tensor<2x3xf32> {onnx.outputs = ["W"]}
  %inf = onnx.initializer dense<0x7F800000> : tensor<f32>
  %0 = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %1 = onnx.Min(%0, %inf) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  return %1 : tensor<1x3xf32>
}

// -----

// A few tiny weights among others may become zero; that is reported.
// CHECK-LABEL: func.func @few_flushed(
//       CHECK:   onnx.MatMul{{.*}}<narrow (f16, f16) -> (f16), rule = table, note = "Constant 'W': of 16 values, 1 flushed to zero.", by = "W">
func.func @few_flushed(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %w = onnx.initializer dense<[[1.0e-9, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]> : tensor<4x4xf32> {onnx.outputs = ["W"]}
  %0 = onnx.MatMul(%x, %w) : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// Also behind ops that only move it.
// CHECK-LABEL: func.func @moved_constant(
//       CHECK:   onnx.Transpose{{.*}}<move (f32) -> (f32)
//  CHECK-NEXT:   onnx.MatMul{{.*}}<narrow (f32, f32) -> (f32), rule = constant, {{.*}}by = "W">
func.func @moved_constant(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = onnx.initializer dense<70000.0> : tensor<2x2xf32> {onnx.outputs = ["W"]}
  %0 = onnx.Transpose(%w) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = onnx.MatMul(%x, %0) : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// -----

// A large negative mask: what adds it is wide, and the softmax reads float32.
// CHECK-LABEL: func.func @mask(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Where{{.*}}<promote (_, f32, f32) -> (f32), rule = constant, note = "Constant 'neg': of 1 value, 1 over range.", by = "neg">
//  CHECK-NEXT:   onnx.Softmax{{.*}}(f32) -> (f32)
// BF16-LABEL: func.func @mask(
//       BF16:   onnx.Where{{.*}}<promote (_, bf16, bf16) -> (bf16), rule = follow
func.func @mask(%x: tensor<4x4xf32>, %m: tensor<4x4xi1>) -> tensor<4x4xf32> {
  %neg = onnx.initializer dense<-1.0e9> : tensor<f32> {onnx.outputs = ["neg"]}
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Where(%m, %0, %neg) : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = onnx.Softmax(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A guard that would become zero, and the division it protects.
// CHECK-LABEL: func.func @guard(
//       CHECK:   onnx.ReduceL2{{.*}}(f32, _) -> (f32)
//  CHECK-NEXT:   onnx.Max{{.*}}<promote (f32, f32) -> (f32), rule = constant, {{.*}}by = "tiny">
//  CHECK-NEXT:   onnx.Div{{.*}}<promote (f32, f32) -> (f32), rule = guard, {{.*}}by = "clamp">
func.func @guard(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %tiny = onnx.initializer dense<1.0e-12> : tensor<f32> {onnx.outputs = ["tiny"]}
  %a = onnx.initializer dense<1> : tensor<1xi64>
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.ReduceL2(%0, %a) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %2 = onnx.Max(%1, %tiny) {onnx.name = "clamp"} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %3 = onnx.Div(%0, %2) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// An RMS norm spelled out with a product: the squares are wide, too, in both half types.
// CHECK-LABEL: func.func @rms_norm(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Mul{{.*}}<promote (f32, f32) -> (f32), rule = guard, {{.*}}by = "add">
//  CHECK-NEXT:   onnx.ReduceMean{{.*}}<wide (f32, _) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Add{{.*}}<promote (f32, f32) -> (f32), rule = constant, {{.*}}by = "eps">
//  CHECK-NEXT:   onnx.Sqrt{{.*}}<follow (f32) -> (f32), rule = guard, {{.*}}by = "add">
//  CHECK-NEXT:   onnx.Div{{.*}}<promote (f32, f32) -> (f32), rule = range
// BF16-LABEL: func.func @rms_norm(
//       BF16:   onnx.Mul{{.*}}<promote (f32, f32) -> (f32), rule = guard
func.func @rms_norm(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %eps = onnx.initializer dense<1.0e-6> : tensor<f32> {onnx.outputs = ["eps"]}
  %a = onnx.initializer dense<1> : tensor<1xi64>
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Mul(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.ReduceMean(%1, %a) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %3 = onnx.Add(%2, %eps) {onnx.name = "add"} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = onnx.Sqrt(%3) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = onnx.Div(%0, %4) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %5 : tensor<4x4xf32>
}

// -----

// 1e-4 is no tiny number, and 1e-6 protects nothing here.
// CHECK-LABEL: func.func @no_guard(
//       CHECK:   onnx.Add{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Div{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Add{{.*}}(f16, f16) -> (f16)
func.func @no_guard(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %large = onnx.initializer dense<1.0e-4> : tensor<f32>
  %small = onnx.initializer dense<1.0e-6> : tensor<f32>
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Add(%0, %large) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = onnx.Div(%0, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.Add(%2, %small) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %4 = onnx.MatMul(%3, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// A large constant of an op that casts alone would place is looked at only when it may become narrow.
// CHECK-LABEL: func.func @table_found_late(
//       CHECK:   onnx.Gather{{.*}}<move (f32, _) -> (f32), rule = constant, {{.*}}by = "table">
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f32) -> (f32), rule = range
func.func @table_found_late(%i: tensor<4xi64>, %w: tensor<64x4xf32>) -> tensor<4x4xf32> {
  %table = onnx.initializer dense<1.0e5> : tensor<128x64xf32> {onnx.outputs = ["table"]}
  %0 = onnx.Gather(%table, %i) : (tensor<128x64xf32>, tensor<4xi64>) -> tensor<4x64xf32>
  %1 = onnx.Relu(%0) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %2 = onnx.MatMul(%1, %w) : (tensor<4x64xf32>, tensor<64x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
