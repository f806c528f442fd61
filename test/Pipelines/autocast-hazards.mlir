// RUN: amp-opt %s --autocast=dtype=f16 --split-input-file | FileCheck %s
// RUN: amp-opt %s --autocast=dtype=bf16 --split-input-file | FileCheck %s --check-prefix=BF16

// A body's values keep the element type that the sequence of results has.
// CHECK-LABEL: func.func @sequence_map(
// CHECK: onnx.MatMul({{.*}} -> tensor<1x4xf16>
// CHECK-NEXT: %[[WIDE:.+]] = amp.cast {{.*}} to tensor<1x4xf32>
// CHECK-NEXT: onnx.yield %[[WIDE]]
func.func @sequence_map(%s: !onnx.seq<tensor<1x4xf32>>, %w: tensor<4x4xf32>) -> !onnx.seq<tensor<1x4xf32>> {
  %r = onnx.SequenceMap(%s) ({
  ^bb0(%a: tensor<1x4xf32>):
    %m = onnx.MatMul(%a, %w) : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
    onnx.yield %m : tensor<1x4xf32>
  }) : (!onnx.seq<tensor<1x4xf32>>) -> !onnx.seq<tensor<1x4xf32>>
  return %r : !onnx.seq<tensor<1x4xf32>>
}

// -----

// A bound just below one would become one, and 1 - p zero under the logarithm.
// CHECK-LABEL: func.func @bound_near_one(
// CHECK: onnx.MatMul({{.*}} -> tensor<4x4xf16>
// CHECK: onnx.Clip({{.*}} -> tensor<4x4xf32>
// CHECK: onnx.Sub({{.*}} -> tensor<4x4xf32>
// BF16-LABEL: func.func @bound_near_one(
// BF16: onnx.Clip({{.*}} -> tensor<4x4xf32>
func.func @bound_near_one(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %low = onnx.initializer dense<0.01> : tensor<f32>
  %high = onnx.initializer dense<0.999999> : tensor<f32>
  %one = onnx.initializer dense<1.0> : tensor<f32>
  %m = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = onnx.Clip(%m, %low, %high) : (tensor<4x4xf32>, tensor<f32>, tensor<f32>) -> tensor<4x4xf32>
  %q = onnx.Sub(%one, %p) : (tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = onnx.Log(%q) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %l : tensor<4x4xf32>
}

// -----

// 2e-7 would lose a tenth of itself in f16; bf16 has the range of float32.
// CHECK-LABEL: func.func @tiny_factor(
// CHECK: onnx.Mul({{.*}} -> tensor<4x4xf32>
// BF16-LABEL: func.func @tiny_factor(
// BF16: onnx.Mul({{.*}} -> tensor<4x4xbf16>
func.func @tiny_factor(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %tiny = onnx.initializer dense<2.0e-7> : tensor<f32>
  %m = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = onnx.Mul(%m, %tiny) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %r = onnx.MatMul(%s, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// Nodes without a name are pinned by the number that reports give them.
// RUN: amp-opt %s --autocast="dtype=f16 pin=#[0-9]+:MatMul=f32" --split-input-file | FileCheck %s --check-prefix=PIN
// PIN-NOT: onnx.MatMul({{.*}}f16
func.func @unnamed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %m = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %m : tensor<4x4xf32>
}
