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

// The float32 result of a wide op may be out of range; a bounded op ends that.
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

// -----

// A mean of half values is of their size: what meets it stays half.
// CHECK-LABEL: func.func @mean_keeps_range(
//       CHECK:   onnx.ReduceMean{{.*}}<wide (f32, _) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Sub{{.*}}<promote (f16, f16) -> (f16), rule = follow
func.func @mean_keeps_range(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = onnx.initializer dense<-1> : tensor<1xi64>
  %0 = onnx.MatMul(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.ReduceMean(%0, %a) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %2 = onnx.Sub(%0, %1) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %3 = onnx.MatMul(%2, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// A mask from outside that no narrow op reads may hold anything.
// CHECK-LABEL: func.func @unknown_input_promotes(
//       CHECK:   onnx.Add{{.*}}<promote (f32, f32) -> (f32), rule = promote, {{.*}}by = "mask">
//  CHECK-NEXT:   onnx.Add{{.*}}<promote (f16, f16) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.MatMul
func.func @unknown_input_promotes(%x: tensor<4x4xf32> {onnx.name = "x"}, %mask: tensor<4x4xf32> {onnx.name = "mask"})
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Add(%0, %mask) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Add(%0, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.MatMul(%2, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A chain of deny, clear, infer, clear, allow, clear, infer, clear, deny, clear.
// CHECK-LABEL: func.func @painting_chain(
//       CHECK:   onnx.Exp{{.*}}<wide (f32) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f32) -> (f32), rule = range
//  CHECK-NEXT:   onnx.Sigmoid{{.*}}<follow (f32) -> (f32), rule = range
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = mincut
//  CHECK-NEXT:   onnx.MatMul{{.*}}<narrow (f16, f16) -> (f16), rule = table
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.Sqrt{{.*}}<follow (f16) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.Exp{{.*}}<wide (f32) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f32) -> (f32), rule = range
func.func @painting_chain(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.Exp(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Relu(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Sigmoid(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.Relu(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = onnx.MatMul(%3, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = onnx.Relu(%4) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = onnx.Sqrt(%5) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = onnx.Relu(%6) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = onnx.Exp(%7) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = onnx.Relu(%8) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %9 : tensor<4x4xf32>
}

// -----

// Without a narrow op nothing narrows.
// CHECK-LABEL: func.func @no_narrow_op(
//   CHECK-NOT:   f16
//       CHECK:   onnx.Relu{{.*}}rule = mincut
//   CHECK-NOT:   f16
//       CHECK:   return
func.func @no_narrow_op(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.Transpose(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Relu(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Softmax(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// An op all of whose readers are wide widens when that saves a cast: x is widened for the mean anyway.
// CHECK-LABEL: func.func @widen_before_wide(
//       CHECK:   onnx.ReduceMean{{.*}}(f32, _) -> (f32)
//  CHECK-NEXT:   onnx.Sub{{.*}}<promote (f32, f32) -> (f32), rule = mincut
//  CHECK-NEXT:   onnx.Exp{{.*}}(f32) -> (f32)
func.func @widen_before_wide(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = onnx.initializer dense<-1> : tensor<1xi64>
  %0 = onnx.MatMul(%x, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.ReduceMean(%0, %a) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  %2 = onnx.Sub(%0, %1) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %3 = onnx.Exp(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// The cheapest edge: pool in float32 and cast the small result, not the image.
// CHECK-LABEL: func.func @cast_small_side(
//       CHECK:   onnx.MaxPool{{.*}}<follow (f32) -> (f32), rule = mincut
//       CHECK:   onnx.Expand{{.*}}<move (f16, _) -> (f16), rule = mincut
func.func @cast_small_side(%image: tensor<1x1x64x64xf32>, %row: tensor<1x1xf32>, %w: tensor<1x1x1x1xf32>) -> (tensor<1x1x8x8xf32>, tensor<64x64xf32>) {
  %shape = onnx.initializer dense<64> : tensor<2xi64>
  %0 = onnx.MaxPool(%image) {kernel_shape = array<i64: 8, 8>, strides = array<i64: 8, 8>} : (tensor<1x1x64x64xf32>) -> tensor<1x1x8x8xf32>
  %1 = onnx.Conv(%0, %w) : (tensor<1x1x8x8xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x8x8xf32>
  %2 = onnx.Expand(%row, %shape) : (tensor<1x1xf32>, tensor<2xi64>) -> tensor<64x64xf32>
  %3 = onnx.MatMul(%2, %2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %3 : tensor<1x1x8x8xf32>, tensor<64x64xf32>
}

// -----

// A cast from integers gives the narrow type itself, unless somebody reads it in float32.
// CHECK-LABEL: func.func @cast_from_integers(
//       CHECK:   onnx.Cast{{.*}}<never (_) -> (f16), rule = mincut
//  CHECK-NEXT:   onnx.Cast{{.*}}<never (_) -> (f32), rule = mincut
func.func @cast_from_integers(%i: tensor<4x4xi32>, %a: tensor<1xi64>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>) {
  %0 = onnx.Cast(%i) {to = 1 : i64} : (tensor<4x4xi32>) -> tensor<4x4xf32>
  %1 = onnx.Cast(%i) {to = 1 : i64} : (tensor<4x4xi32>) -> tensor<4x4xf32>
  %2 = onnx.MatMul(%0, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.MatMul(%1, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = onnx.ReduceMean(%1, %a) : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  return %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x1xf32>
}

// -----

// A cast of the user reads what arrives; its result is what it says. An op that has half types stays.
// CHECK-LABEL: func.func @casts_of_the_user(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Cast{{.*}}<never (f16) -> (f32), rule = table
//  CHECK-NEXT:   onnx.Cast{{.*}}<never (f16) -> (_), rule = table
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (_) -> (_), rule = existing
func.func @casts_of_the_user(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf16>) {
  %0 = onnx.MatMul(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Cast(%0) {to = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Cast(%0) {to = 10 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %3 = onnx.Relu(%2) : (tensor<4x4xf16>) -> tensor<4x4xf16>
  return %1, %3 : tensor<4x4xf32>, tensor<4x4xf16>
}

// -----

// Slots: scales of Resize and statistics of BatchNormalization stay; float64 is nobody's business.
// CHECK-LABEL: func.func @slots(
//       CHECK:   onnx.Conv{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Resize{{.*}}<follow (f16, f32) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.BatchNormalization{{.*}}<follow (f16, f32, f32, f32, f32) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.Where{{.*}}<promote (_, f16, f16) -> (f16), rule = follow
//  CHECK-NEXT:   onnx.Mul(%{{[^{]*}} :
func.func @slots(%x: tensor<1x1x2x2xf32>, %v: tensor<1xf32>, %c: tensor<i1>, %d: tensor<2xf64>) -> (tensor<1x1x2x2xf32>, tensor<2xf64>) {
  %w = onnx.initializer dense<1.0> : tensor<1x1x1x1xf32>
  %s = onnx.initializer dense<1.0> : tensor<4xf32>
  %z = onnx.initializer dense<0.25> : tensor<f32>
  %0 = onnx.Conv(%x, %w) : (tensor<1x1x2x2xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x2x2xf32>
  %1 = onnx.Resize(%0, _, %s) : (tensor<1x1x2x2xf32>, _, tensor<4xf32>) -> tensor<1x1x2x2xf32>
  %2 = onnx.BatchNormalization(%1, %v, %v, %v, %v) : (tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>
  %3 = onnx.Where(%c, %2, %z) : (tensor<i1>, tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %4 = onnx.Mul(%d, %d) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  return %3, %4 : tensor<1x1x2x2xf32>, tensor<2xf64>
}

// -----

// What the schema does not allow stays float32: Celu always, Einsum as bfloat16.
// CHECK-LABEL: func.func @illegal(
//       CHECK:   onnx.Einsum{{.*}}<narrow (f16, f16) -> (f16), rule = table
//  CHECK-NEXT:   onnx.Celu{{.*}}<wide (f32) -> (f32), rule = table
// BF16-LABEL: func.func @illegal(
//       BF16:   onnx.Einsum{{.*}}<wide (f32, f32) -> (f32), rule = table
func.func @illegal(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = onnx.Einsum(%x, %x) {equation = "ij,jk->ik"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Celu(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// An output keeps its type. An op behind it whose result is one, too, reads the float32 value: one cast instead of two.
// CHECK-LABEL: func.func @output_read_inside(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Relu{{.*}}<follow (f32) -> (f32), rule = mincut
//  CHECK-NEXT:   onnx.Neg{{.*}}<follow (f16) -> (f16), rule = follow
func.func @output_read_inside(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = onnx.Relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = onnx.Neg(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = onnx.MatMul(%2, %2) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1, %3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}
