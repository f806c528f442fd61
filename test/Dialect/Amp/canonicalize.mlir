// RUN: amp-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @drop_cast_to_the_same_type
// CHECK-SAME:    %[[X:.+]]: tensor<4xf16>
//  CHECK-NEXT:   return %[[X]]
func.func @drop_cast_to_the_same_type(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xf16>
  return %0 : tensor<4xf16>
}

// CHECK-LABEL: func.func @drop_widening_round_trip
// CHECK-SAME:    %[[X:.+]]: tensor<4xbf16>
//  CHECK-NEXT:   return %[[X]]
func.func @drop_widening_round_trip(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = amp.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// Narrowing rounds: the value that comes back is another one.
// CHECK-LABEL: func.func @keep_narrowing_round_trip
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   return
func.func @keep_narrowing_round_trip(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %1 = amp.cast %0 : tensor<4xf16> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// bf16 does not hold the values of f16, nor the other way round.
// CHECK-LABEL: func.func @keep_round_trip_through_the_other_half_type
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   return
func.func @keep_round_trip_through_the_other_half_type(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = amp.cast %x : tensor<4xf16> to tensor<4xbf16>
  %1 = amp.cast %0 : tensor<4xbf16> to tensor<4xf16>
  return %1 : tensor<4xf16>
}

// CHECK-LABEL: func.func @keep_cast_of_constant
//  CHECK-NEXT:   onnx.initializer dense<1.000000e+00>
//  CHECK-NEXT:   amp.cast
func.func @keep_cast_of_constant() -> tensor<4xf16> {
  %0 = onnx.initializer dense<1.0> : tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  return %1 : tensor<4xf16>
}
