// RUN: amp-opt %s --decompose-train=to-onnx | FileCheck %s
// RUN: amp-opt %s --decompose-train | FileCheck %s --check-prefix=KEEP

// Narrow operands are widened before the product, the wide result is not rounded.
// CHECK-LABEL: func.func @wide_result
//  CHECK-SAME:   %[[X:.+]]: tensor<8x4xf16>, %[[G:.+]]: tensor<8x3xf16>
//       CHECK:   %[[WX:.+]] = amp.cast %[[X]]
//       CHECK:   %[[XT:.+]] = onnx.Transpose(%[[WX]]) {perm = array<i64: 1, 0>}
//       CHECK:   %[[WG:.+]] = amp.cast %[[G]]
//       CHECK:   %[[R:.+]] = onnx.MatMul(%[[XT]], %[[WG]])
//       CHECK:   return %[[R]] : tensor<4x3xf32>
//  KEEP-LABEL: func.func @wide_result
//        KEEP:   train.matmul
func.func @wide_result(%x: tensor<8x4xf16>, %g: tensor<8x3xf16>) -> tensor<4x3xf32> {
  %0 = train.matmul %x, %g {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// One rounding, at the end; batches keep their place.
// CHECK-LABEL: func.func @batch(
//       CHECK:   %[[B:.+]] = amp.cast %arg1
//       CHECK:   %[[BT:.+]] = onnx.Transpose(%[[B]]) {perm = array<i64: 0, 2, 1>}
//       CHECK:   %[[R:.+]] = onnx.MatMul(%{{.+}}, %[[BT]])
//       CHECK:   %[[N:.+]] = amp.cast %[[R]]
//       CHECK:   return %[[N]] : tensor<2x8x3xbf16>
func.func @batch(%a: tensor<8x4xbf16>, %b: tensor<2x3x4xbf16>) -> tensor<2x8x3xbf16> {
  %0 = train.matmul %a, %b {transB} : (tensor<8x4xbf16>, tensor<2x3x4xbf16>) -> tensor<2x8x3xbf16>
  return %0 : tensor<2x8x3xbf16>
}

// CHECK-LABEL: func.func @seed(
//       CHECK:   %[[ONE:.+]] = onnx.Constant() {value = dense<1.000000e+00> : tensor<f32>}
//       CHECK:   return %[[ONE]]
//  KEEP-LABEL: func.func @seed(
//    KEEP-NOT:   train.seed
func.func @seed() -> tensor<f32> {
  %0 = train.seed : tensor<f32>
  return %0 : tensor<f32>
}
