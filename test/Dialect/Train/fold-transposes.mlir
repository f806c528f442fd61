// RUN: amp-opt %s --train-fold-transposes | FileCheck %s

// A weight that is stored transposed and cast.
// CHECK-LABEL: func.func @weight(
//  CHECK-SAME:   %[[X:.+]]: tensor<8x4xf16>, %[[W:.+]]: tensor<3x4xf32>
//   CHECK-NOT:   onnx.Transpose
//       CHECK:   %[[C:.+]] = amp.cast %[[W]] : tensor<3x4xf32> to tensor<3x4xf16>
//       CHECK:   train.matmul %[[X]], %[[C]] {transB} : (tensor<8x4xf16>, tensor<3x4xf16>) -> tensor<8x3xf16>
func.func @weight(%x: tensor<8x4xf16>, %w: tensor<3x4xf32>) -> tensor<8x3xf16> {
  %0 = onnx.Transpose(%w) {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = amp.cast %0 : tensor<4x3xf32> to tensor<4x3xf16>
  %2 = train.matmul %x, %1 : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
  return %2 : tensor<8x3xf16>
}

// Both operands, one of them read transposed already; a Transpose without permutation of two dimensions.
// CHECK-LABEL: func.func @both(
//   CHECK-NOT:   onnx.Transpose
//       CHECK:   train.matmul %arg0, %arg1 {transB} : (tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<8x3xf32>
func.func @both(%x: tensor<8x4xf32>, %w: tensor<3x4xf32>) -> tensor<8x3xf32> {
  %0 = onnx.Transpose(%x) : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = onnx.Transpose(%w) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %2 = train.matmul %0, %1 {transA} : (tensor<4x8xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

// The gradient of such a weight: the product is made the other way round.
// CHECK-LABEL: func.func @gradient(
//   CHECK-NOT:   onnx.Transpose
//       CHECK:   %[[P:.+]] = train.matmul %arg1, %arg0 {transA} : (tensor<8x3xf16>, tensor<8x4xf16>) -> tensor<3x4xf16>
//       CHECK:   amp.cast %[[P]] : tensor<3x4xf16> to tensor<3x4xf32>
func.func @gradient(%x: tensor<8x4xf16>, %g: tensor<8x3xf16>) -> tensor<3x4xf32> {
  %0 = train.matmul %x, %g {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
  %1 = amp.cast %0 : tensor<4x3xf16> to tensor<4x3xf32>
  %2 = onnx.Transpose(%1) {perm = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  return %2 : tensor<3x4xf32>
}

// Batches keep their place.
// CHECK-LABEL: func.func @batches(
//   CHECK-NOT:   onnx.Transpose
//       CHECK:   train.matmul %arg1, %arg0 {transA, transB} : (tensor<2x4x3xf32>, tensor<8x4xf32>) -> tensor<2x3x8xf32>
func.func @batches(%a: tensor<8x4xf32>, %b: tensor<2x4x3xf32>) -> tensor<2x3x8xf32> {
  %0 = train.matmul %a, %b : (tensor<8x4xf32>, tensor<2x4x3xf32>) -> tensor<2x8x3xf32>
  %1 = onnx.Transpose(%0) {perm = array<i64: 0, 2, 1>} : (tensor<2x8x3xf32>) -> tensor<2x3x8xf32>
  return %1 : tensor<2x3x8xf32>
}

// Other permutations stay, and a product that is also used as it is.
// CHECK-LABEL: func.func @left_alone(
//       CHECK:   onnx.Transpose(%arg0)
//       CHECK:   %[[P:.+]] = train.matmul
//       CHECK:   onnx.Transpose(%[[P]])
func.func @left_alone(%a: tensor<4x2x8xf32>, %b: tensor<2x8x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x3x4xf32>) {
  %0 = onnx.Transpose(%a) {perm = array<i64: 1, 0, 2>} : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %1 = train.matmul %0, %b : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  %2 = onnx.Transpose(%1) {perm = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
  return %1, %2 : tensor<2x4x3xf32>, tensor<2x3x4xf32>
}
