// RUN: amp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @seed(
//       CHECK:   train.seed : tensor<f32>
func.func @seed() -> tensor<f32> {
  %0 = train.seed : tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @matmul(
//       CHECK:   train.matmul %arg0, %arg1 : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
//       CHECK:   train.matmul %arg2, %arg3 {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
//       CHECK:   train.matmul %arg4, %arg5 {transA, transB} : (tensor<2x1x4x8xbf16>, tensor<5x3x4xbf16>) -> tensor<2x5x8x3xbf16>
func.func @matmul(%a: tensor<8x4xf32>, %b: tensor<4x3xf32>, %x: tensor<8x4xf16>, %g: tensor<8x3xf16>, %c: tensor<2x1x4x8xbf16>, %d: tensor<5x3x4xbf16>)
    -> (tensor<8x3xf32>, tensor<4x3xf32>, tensor<2x5x8x3xbf16>) {
  %0 = train.matmul %a, %b : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
  %1 = train.matmul %x, %g {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
  %2 = train.matmul %c, %d {transA, transB} : (tensor<2x1x4x8xbf16>, tensor<5x3x4xbf16>) -> tensor<2x5x8x3xbf16>
  return %0, %1, %2 : tensor<8x3xf32>, tensor<4x3xf32>, tensor<2x5x8x3xbf16>
}

// CHECK-LABEL: func.func @roles(
//  CHECK-SAME:   %arg0: tensor<4xf32> {train.role = "parameter"}, %arg1: tensor<4xf32> {train.of = "w", train.role = "optimizer_state"}
//  CHECK-SAME:   -> (tensor<4xf32> {train.alias = 0 : i64})
func.func @roles(%w: tensor<4xf32> {train.role = "parameter"}, %m: tensor<4xf32> {train.role = "optimizer_state", train.of = "w"})
    -> (tensor<4xf32> {train.alias = 0 : i64}) {
  return %m : tensor<4xf32>
}
