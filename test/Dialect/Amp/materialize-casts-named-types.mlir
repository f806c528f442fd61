// RUN: amp-opt %s --amp-materialize-casts --split-input-file | FileCheck %s

// Ops whose attribute names the type of their result.

// CHECK-LABEL: func.func @cast_of_integers_to_f16
//       CHECK:   onnx.Cast
//  CHECK-SAME:     to = 10 : i64
//  CHECK-SAME:     -> tensor<4xf16>
func.func @cast_of_integers_to_f16(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<follow (_) -> (f16), rule = follow>} : (tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Integers beyond 2^24 would be rounded twice on the way through float32.
// CHECK-LABEL: func.func @keep_cast_of_long_integers_to_bf16
//       CHECK:   %[[C:.+]] = onnx.Cast
//  CHECK-SAME:     amp.decision = #amp.decision<follow (_) -> (_), rule = follow>
//  CHECK-SAME:     to = 1 : i64
//  CHECK-SAME:     -> tensor<4xf32>
//  CHECK-NEXT:   %[[N:.+]] = amp.cast %[[C]] : tensor<4xf32> to tensor<4xbf16>
//  CHECK-NEXT:   onnx.Relu(%[[N]])
func.func @keep_cast_of_long_integers_to_bf16(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<follow (_) -> (bf16), rule = follow>} : (tensor<4xi64>) -> tensor<4xf32>
  %1 = onnx.Relu(%0) {amp.decision = #amp.decision<follow (bf16) -> (bf16), rule = follow>} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @keep_cast_of_doubles
//       CHECK:   onnx.Cast
//  CHECK-SAME:     to = 1 : i64
//  CHECK-SAME:     -> tensor<4xf32>
func.func @keep_cast_of_doubles(%x: tensor<4xf64>) -> tensor<4xf32> {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<follow (_) -> (f16), rule = follow>} : (tensor<4xf64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @cast_of_short_integers_to_bf16
//       CHECK:   onnx.Cast
//  CHECK-SAME:     to = 16 : i64
func.func @cast_of_short_integers_to_bf16(%x: tensor<4xi16>) -> tensor<4xf32> {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<follow (_) -> (bf16), rule = follow>} : (tensor<4xi16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// 0.1 is rounded as a cast of the filled tensor would be.
// CHECK-LABEL: func.func @filled
//       CHECK:   onnx.ConstantOfShape
//  CHECK-SAME:     value = dense<9.997550e-02> : tensor<1xf16>
//       CHECK:   onnx.ConstantOfShape
//  CHECK-SAME:     value = dense<0.000000e+00> : tensor<1xbf16>
func.func @filled(%s: tensor<1xi64>) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = onnx.ConstantOfShape(%s) {value = dense<0.1> : tensor<1xf32>, amp.decision = #amp.decision<follow (_) -> (f16), rule = follow>} : (tensor<1xi64>) -> tensor<?xf32>
  %1 = onnx.ConstantOfShape(%s) {amp.decision = #amp.decision<follow (_) -> (bf16), rule = follow>} : (tensor<1xi64>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @eye
//       CHECK:   onnx.EyeLike
//  CHECK-SAME:     dtype = 10 : i64
//  CHECK-SAME:     (tensor<2x2xf32>) -> tensor<2x2xf16>
func.func @eye(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = onnx.EyeLike(%x) {amp.decision = #amp.decision<follow (_) -> (f16), rule = follow>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// Numbers drawn in half are not the rounded numbers drawn in float32.
// CHECK-LABEL: func.func @keep_random_numbers
//       CHECK:   %[[R:.+]] = onnx.RandomNormalLike
//  CHECK-SAME:     -> tensor<2x2xf32>
//  CHECK-NEXT:   amp.cast %[[R]] : tensor<2x2xf32> to tensor<2x2xf16>
func.func @keep_random_numbers(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = onnx.RandomNormalLike(%x) {dtype = 1 : i64, amp.decision = #amp.decision<follow (_) -> (f16), rule = follow>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = onnx.Relu(%0) {amp.decision = #amp.decision<follow (f16) -> (f16), rule = follow>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @attention
//       CHECK:   onnx.Attention
//  CHECK-SAME:     softmax_precision = 1 : i64
//       CHECK:   onnx.Attention
//  CHECK-SAME:     softmax_precision = 10 : i64
//       CHECK:   onnx.Attention
//   CHECK-NOT:     softmax_precision
//       CHECK:   return
func.func @attention(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %0 = onnx.Attention(%q, %q, %q) {amp.decision = #amp.decision<narrow (f16, f16, f16) -> (f16), rule = table>} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %1 = onnx.Attention(%0, %q, %q) {softmax_precision = 10 : i64, amp.decision = #amp.decision<narrow (f16, f16, f16) -> (f16), rule = table>} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  %2 = onnx.Attention(%1, %q, %q) {amp.decision = #amp.decision<wide (f32, f32, f32) -> (f32), rule = deny>} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %2 : tensor<1x2x4x8xf32>
}
