// RUN: amp-opt %s --amp-optimize-casts --split-input-file | FileCheck %s
// RUN: amp-opt %s --amp-optimize-casts --amp-optimize-casts --split-input-file | FileCheck %s
// RUN: amp-opt %s --pass-pipeline="builtin.module(func.func(amp-optimize-casts{move-casts=false}))" --split-input-file | FileCheck %s --check-prefix=STAY

// CHECK-LABEL: func.func @remove_dead_chain
//  CHECK-NEXT:   return
func.func @remove_dead_chain(%x: tensor<4xf32>) {
  %0 = amp.cast %x : tensor<4xf32> to tensor<4xf16>
  %1 = amp.cast %0 : tensor<4xf16> to tensor<4xf32>
  return
}

// -----

// The user's widening cast rounds nothing either; it stays for its other reader.
// CHECK-LABEL: func.func @remove_round_trip_through_onnx_cast
// CHECK-SAME:    %[[X:.+]]: tensor<4xf16>
//       CHECK:   %[[W:.+]] = onnx.Cast(%[[X]])
//  CHECK-NEXT:   %[[R:.+]] = onnx.Relu(%[[X]])
//  CHECK-NEXT:   return %[[W]], %[[R]]
func.func @remove_round_trip_through_onnx_cast(%x: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf16>) {
  %0 = onnx.Cast(%x) {to = 1 : i64} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  %2 = onnx.Relu(%1) : (tensor<4xf16>) -> tensor<4xf16>
  return %0, %2 : tensor<4xf32>, tensor<4xf16>
}

// -----

// The user's narrowing cast rounds: what widens it stays.
// CHECK-LABEL: func.func @keep_round_trip_through_narrow_onnx_cast
//       CHECK:   onnx.Cast
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   return
func.func @keep_round_trip_through_narrow_onnx_cast(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = onnx.Cast(%x) {to = 10 : i64} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = amp.cast %0 : tensor<4xf16> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Nobody reads the user's widening cast any more: it goes, too, and is counted.
// CHECK-LABEL: func.func @remove_round_trip_and_onnx_cast
// CHECK-SAME:    %[[X:.+]]: tensor<4xf16>
// CHECK-SAME:    amp.removed_casts = 1 : i64
//  CHECK-NEXT:   onnx.Relu(%[[X]])
//  CHECK-NEXT:   return
func.func @remove_round_trip_and_onnx_cast(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = onnx.Cast(%x) {to = 1 : i64} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  %2 = onnx.Relu(%1) : (tensor<4xf16>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}

// -----

// Two graph outputs stay two values.
// CHECK-LABEL: func.func @keep_named_casts_apart
//       CHECK:   amp.cast {{.*}}onnx.outputs = ["a"]
//  CHECK-NEXT:   amp.cast {{.*}}onnx.outputs = ["b"]
//  CHECK-NEXT:   return
func.func @keep_named_casts_apart(%x: tensor<4xf16>) -> (tensor<4xf32> {onnx.name = "a"}, tensor<4xf32> {onnx.name = "b"}) {
  %0 = amp.cast %x {onnx.outputs = ["a"]} : tensor<4xf16> to tensor<4xf32>
  %1 = amp.cast %x {onnx.outputs = ["b"]} : tensor<4xf16> to tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Equal casts become one where the value is made.
// CHECK-LABEL: func.func @share_across_branches
//       CHECK:   %[[E:.+]] = onnx.Exp
//  CHECK-NEXT:   %[[N:.+]] = amp.cast %[[E]]
//   CHECK-NOT:   amp.cast
//       CHECK:   onnx.yield %[[N]]
//       CHECK:   onnx.yield %[[N]]
func.func @share_across_branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf16> {
  %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = onnx.If(%c) ({
    %1 = amp.cast %e : tensor<4xf32> to tensor<4xf16>
    onnx.yield %1 : tensor<4xf16>
  }, {
    %1 = amp.cast %e : tensor<4xf32> to tensor<4xf16>
    onnx.yield %1 : tensor<4xf16>
  }) : (tensor<i1>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// Half the bytes are moved when the cast comes first.
// CHECK-LABEL: func.func @cast_before_transpose
// CHECK-SAME:    %[[X:.+]]: tensor<2x4xf32>
//  CHECK-NEXT:   %[[N:.+]] = amp.cast %[[X]]
//  CHECK-NEXT:   %[[T:.+]] = onnx.Transpose(%[[N]])
//  CHECK-SAME:     amp.decision = #amp.decision<move (f16) -> (f16), rule = mincut
//  CHECK-NEXT:   return %[[T]]
//
// STAY-LABEL: func.func @cast_before_transpose
//  STAY-NEXT:   onnx.Transpose
//  STAY-NEXT:   amp.cast
func.func @cast_before_transpose(%x: tensor<2x4xf32>) -> tensor<4x2xf16> {
  %0 = onnx.Transpose(%x) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
  return %1 : tensor<4x2xf16>
}

// -----

// A slice is cast, not the whole it is taken from.
// CHECK-LABEL: func.func @cast_behind_slice
//  CHECK-NEXT:   onnx.Slice
//  CHECK-NEXT:   amp.cast %{{.+}} : tensor<1x4xf32> to tensor<1x4xf16>
//  CHECK-NEXT:   return
func.func @cast_behind_slice(%x: tensor<100x4xf32>, %a: tensor<1xi64>, %b: tensor<1xi64>) -> tensor<1x4xf16> {
  %0 = amp.cast %x : tensor<100x4xf32> to tensor<100x4xf16>
  %1 = onnx.Slice(%0, %a, %b) {amp.decision = #amp.decision<move (f16, _, _) -> (f16), rule = follow>} : (tensor<100x4xf16>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x4xf16>
  return %1 : tensor<1x4xf16>
}

// -----

// A chain moves as a whole, and what is expanded is expanded narrow.
// CHECK-LABEL: func.func @cast_before_chain
//  CHECK-NEXT:   amp.cast %{{.+}} : tensor<1x4xf32> to tensor<1x4xbf16>
//  CHECK-NEXT:   onnx.Expand
//  CHECK-SAME:     -> tensor<?x4xbf16>
//  CHECK-NEXT:   onnx.Transpose
//  CHECK-SAME:     -> tensor<4x?xbf16>
//  CHECK-NEXT:   return
func.func @cast_before_chain(%x: tensor<1x4xf32>, %s: tensor<2xi64>) -> tensor<4x?xbf16> {
  %0 = onnx.Expand(%x, %s) {amp.decision = #amp.decision<move (f32, _) -> (f32), rule = table>} : (tensor<1x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
  %1 = onnx.Transpose(%0) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %2 = amp.cast %1 : tensor<4x?xf32> to tensor<4x?xbf16>
  return %2 : tensor<4x?xbf16>
}

// -----

// One reader wants the wide value: moving the cast would round it.
// CHECK-LABEL: func.func @keep_wide_for_a_wide_reader
//       CHECK:   %[[T:.+]] = onnx.Transpose
//  CHECK-SAME:     -> tensor<4x2xf32>
//  CHECK-NEXT:   %[[N:.+]] = amp.cast %[[T]]
//  CHECK-NEXT:   onnx.Exp(%[[T]])
//  CHECK-NEXT:   return %[[N]]
func.func @keep_wide_for_a_wide_reader(%x: tensor<2x4xf32>) -> (tensor<4x2xf16>, tensor<4x2xf32>) {
  %0 = onnx.Transpose(%x) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
  %2 = onnx.Exp(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %1, %2 : tensor<4x2xf16>, tensor<4x2xf32>
}

// -----

// Here the wide reader reads rounded values; the rounding is not lost.
// CHECK-LABEL: func.func @keep_rounding_that_is_read_wide
//  CHECK-NEXT:   amp.cast %{{.+}} : tensor<2x4xf32> to tensor<2x4xf16>
//  CHECK-NEXT:   onnx.Transpose
//  CHECK-SAME:     -> tensor<4x2xf16>
//  CHECK-NEXT:   amp.cast %{{.+}} : tensor<4x2xf16> to tensor<4x2xf32>
//  CHECK-NEXT:   onnx.Exp
func.func @keep_rounding_that_is_read_wide(%x: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %0 = amp.cast %x : tensor<2x4xf32> to tensor<2x4xf16>
  %1 = onnx.Transpose(%0) {amp.decision = #amp.decision<move (f16) -> (f16), rule = follow>} : (tensor<2x4xf16>) -> tensor<4x2xf16>
  %2 = amp.cast %1 : tensor<4x2xf16> to tensor<4x2xf32>
  %3 = onnx.Exp(%2) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

// -----

// What is narrow already may be widened later.
// CHECK-LABEL: func.func @widen_behind_transpose
// CHECK-SAME:    %[[X:.+]]: tensor<2x4xf16>
//  CHECK-NEXT:   %[[T:.+]] = onnx.Transpose(%[[X]])
//  CHECK-NEXT:   %[[W:.+]] = amp.cast %[[T]] {onnx.outputs = ["y"]}
//  CHECK-NEXT:   return %[[W]]
func.func @widen_behind_transpose(%x: tensor<2x4xf16>) -> (tensor<4x2xf32> {onnx.name = "y"}) {
  %0 = amp.cast %x : tensor<2x4xf16> to tensor<2x4xf32>
  %1 = onnx.Transpose(%0) {onnx.outputs = ["y"], amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// One cast of the joined tensor costs what two casts of its parts cost; the
// narrow Concat moves fewer bytes.
// CHECK-LABEL: func.func @cast_before_concat
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   onnx.Concat
//  CHECK-SAME:     (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<4x4xf16>
//  CHECK-NEXT:   return
func.func @cast_before_concat(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<4x4xf16> {
  %0 = onnx.Concat(%x, %y) {axis = 0 : i64, amp.decision = #amp.decision<promote (f32, f32) -> (f32), rule = promote>} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %1 = amp.cast %0 : tensor<4x4xf32> to tensor<4x4xf16>
  return %1 : tensor<4x4xf16>
}

// -----

// The weight's cast is the exporter's work: it goes to the weight.
// CHECK-LABEL: func.func @cast_of_a_weight
//       CHECK:   %[[W:.+]] = onnx.initializer
//  CHECK-NEXT:   amp.cast %[[W]]
//  CHECK-NEXT:   onnx.Transpose
func.func @cast_of_a_weight() -> tensor<4x2xf16> {
  %w = onnx.initializer dense<1.0> : tensor<2x4xf32>
  %0 = onnx.Transpose(%w) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
  return %1 : tensor<4x2xf16>
}

// -----

// An op the user pinned keeps its type.
// CHECK-LABEL: func.func @keep_pinned
//  CHECK-NEXT:   onnx.Transpose
//  CHECK-SAME:     -> tensor<4x2xf32>
//  CHECK-NEXT:   amp.cast
func.func @keep_pinned(%x: tensor<2x4xf32>) -> tensor<4x2xf16> {
  %0 = onnx.Transpose(%x) {amp.decision = #amp.decision<move (f32) -> (f32), rule = pin, by = ".*=f32">} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
  return %1 : tensor<4x2xf16>
}

// -----

// The schema of Compress has no bf16.
// CHECK-LABEL: func.func @keep_where_narrow_is_illegal
//  CHECK-NEXT:   onnx.Compress
//  CHECK-SAME:     -> tensor<?xf32>
//  CHECK-NEXT:   amp.cast
func.func @keep_where_narrow_is_illegal(%x: tensor<64xf32>, %c: tensor<64xi1>) -> tensor<?xbf16> {
  %0 = onnx.Compress(%x, %c) {amp.decision = #amp.decision<move (f32, _) -> (f32), rule = table>} : (tensor<64xf32>, tensor<64xi1>) -> tensor<?xf32>
  %1 = amp.cast %0 : tensor<?xf32> to tensor<?xbf16>
  return %1 : tensor<?xbf16>
}

// -----

// Readers of two half types: left alone.
// CHECK-LABEL: func.func @keep_two_half_types
//  CHECK-NEXT:   onnx.Transpose
//  CHECK-SAME:     -> tensor<4x2xf32>
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   amp.cast
func.func @keep_two_half_types(%x: tensor<2x4xf32>) -> (tensor<4x2xf16>, tensor<4x2xbf16>) {
  %0 = onnx.Transpose(%x) {amp.decision = #amp.decision<move (f32) -> (f32), rule = table>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %1 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xf16>
  %2 = amp.cast %0 : tensor<4x2xf32> to tensor<4x2xbf16>
  return %1, %2 : tensor<4x2xf16>, tensor<4x2xbf16>
}

// -----

// Only narrow readers, and integers round to f16 as they do through float32.
// CHECK-LABEL: func.func @retarget_producer
//  CHECK-NEXT:   onnx.Cast
//  CHECK-SAME:     amp.decision = #amp.decision<never (_) -> (f16), rule = mincut
//  CHECK-SAME:     to = 10 : i64
//  CHECK-SAME:     -> tensor<4xf16>
//  CHECK-NEXT:   return
//
// STAY-LABEL: func.func @retarget_producer
//  STAY-NEXT:   onnx.Cast
//  STAY-NEXT:   amp.cast
func.func @retarget_producer(%x: tensor<4xi64>) -> tensor<4xf16> {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<never (_) -> (_), rule = table>} : (tensor<4xi64>) -> tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @keep_producer_with_a_wide_reader
//  CHECK-NEXT:   onnx.Cast
//  CHECK-SAME:     to = 1 : i64
//  CHECK-NEXT:   amp.cast
func.func @keep_producer_with_a_wide_reader(%x: tensor<4xi64>) -> (tensor<4xf16>, tensor<4xf32>) {
  %0 = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<never (_) -> (_), rule = table>} : (tensor<4xi64>) -> tensor<4xf32>
  %1 = amp.cast %0 : tensor<4xf32> to tensor<4xf16>
  return %1, %0 : tensor<4xf16>, tensor<4xf32>
}
