// RUN: amp-opt %s --amp-materialize-casts --split-input-file | FileCheck %s
// RUN: amp-opt %s --pass-pipeline="builtin.module(func.func(amp-materialize-casts{keep-io-types=false}))" --split-input-file | FileCheck %s --check-prefix=IO
// RUN: amp-opt %s --pass-pipeline="builtin.module(func.func(amp-materialize-casts{clamp-constants=true}))" --split-input-file | FileCheck %s --check-prefix=CLAMP

// One cast per value and type; the output keeps its type and its name.
// CHECK-LABEL: func.func @share_casts
// CHECK-SAME:    %[[X:.+]]: tensor<2x2xf32>
// CHECK-SAME:    -> (tensor<2x2xf32> {onnx.name = "y"})
//      CHECK:   %[[W:.+]] = onnx.initializer
// CHECK-NEXT:   %[[XN:.+]] = amp.cast %[[X]] : tensor<2x2xf32> to tensor<2x2xf16>
// CHECK-NEXT:   %[[WN:.+]] = amp.cast %[[W]] : tensor<2x2xf32> to tensor<2x2xf16>
// CHECK-NEXT:   %[[A:.+]] = onnx.MatMul(%[[XN]], %[[WN]])
// CHECK-SAME:     -> tensor<2x2xf16>
// CHECK-NEXT:   %[[B:.+]] = onnx.MatMul(%[[A]], %[[WN]])
// CHECK-SAME:     onnx.outputs = [""]
// CHECK-NEXT:   %[[Y:.+]] = amp.cast %[[B]] {onnx.outputs = ["y"]} : tensor<2x2xf16> to tensor<2x2xf32>
// CHECK-NEXT:   return %[[Y]]
//
// IO-LABEL: func.func @share_casts
//  IO-SAME:    (%[[X:.+]]: tensor<2x2xf16> {onnx.name = "x"}) -> (tensor<2x2xf16> {onnx.name = "y"})
//   IO-NOT:   amp.cast %[[X]]
//       IO:   %[[B:.+]] = onnx.MatMul(%{{.+}}, %{{.+}}) {{.+}}onnx.outputs = ["y"]
//  IO-NEXT:   return %[[B]]
//
// CLAMP-LABEL: func.func @share_casts
//       CLAMP:   %[[W:.+]] = onnx.initializer
//       CLAMP:   amp.cast %{{.+}} : tensor<2x2xf32> to tensor<2x2xf16>
//       CLAMP:   amp.cast %[[W]] clamp : tensor<2x2xf32> to tensor<2x2xf16>
func.func @share_casts(%x: tensor<2x2xf32> {onnx.name = "x"}) -> (tensor<2x2xf32> {onnx.name = "y"}) {
  %w = onnx.initializer dense<1.0> : tensor<2x2xf32> {onnx.outputs = ["w"]}
  %a = onnx.MatMul(%x, %w) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = onnx.MatMul(%a, %w) {onnx.outputs = ["y"], amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %b : tensor<2x2xf32>
}

// -----

// A wide consumer reads the wide value itself, not a widened narrow copy.
// CHECK-LABEL: func.func @narrow_and_wide_consumer
//       CHECK:   %[[T:.+]] = onnx.Cast
//  CHECK-SAME:     to = 1 : i64
//  CHECK-NEXT:   %[[N:.+]] = amp.cast %[[T]] : tensor<2x2xf32> to tensor<2x2xbf16>
//  CHECK-NEXT:   onnx.MatMul(%[[N]], %[[N]])
//  CHECK-NEXT:   amp.cast
//  CHECK-NEXT:   onnx.ReduceMean(%[[T]])
func.func @narrow_and_wide_consumer(%n: tensor<2x2xi32>) -> (tensor<2x2xf32>, tensor<1x1xf32>) {
  %t = onnx.Cast(%n) {to = 1 : i64, amp.decision = #amp.decision<never (_) -> (_), rule = table>} : (tensor<2x2xi32>) -> tensor<2x2xf32>
  %p = onnx.MatMul(%t, %t) {amp.decision = #amp.decision<narrow (bf16, bf16) -> (bf16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %q = onnx.ReduceMean(%t) {amp.decision = #amp.decision<wide (f32) -> (f32), rule = table>} : (tensor<2x2xf32>) -> tensor<1x1xf32>
  return %p, %q : tensor<2x2xf32>, tensor<1x1xf32>
}

// -----

// A value nothing was decided about keeps its type, also for an onnx.node.
// CHECK-LABEL: func.func @undecided_uses
//       CHECK:   %[[M:.+]] = onnx.MatMul
//  CHECK-SAME:     -> tensor<2x2xf16>
//  CHECK-NEXT:   %[[W:.+]] = amp.cast %[[M]] : tensor<2x2xf16> to tensor<2x2xf32>
//  CHECK-NEXT:   onnx.node "com.example" "Foo"(%[[W]])
//  CHECK-NEXT:   onnx.Resize(%[[M]], _, %{{[a-z0-9]+}})
//  CHECK-SAME:     (tensor<2x2xf16>, _, tensor<2xf32>) -> tensor<2x2xf16>
func.func @undecided_uses(%x: tensor<2x2xf32>, %scales: tensor<2xf32>) {
  %m = onnx.MatMul(%x, %x) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %f = onnx.node "com.example" "Foo" (%m) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = onnx.Resize(%m, _, %scales) {amp.decision = #amp.decision<follow (f16, _) -> (f16), rule = follow>} : (tensor<2x2xf32>, _, tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

// The function's types stay although all is narrow inside.
// IO-LABEL: func.func @overridable_input
//  IO-SAME:    %[[X:.+]]: tensor<2x2xf32> {onnx.default = {{.+}}}) -> tensor<2x2xf16>
func.func @overridable_input(%x: tensor<2x2xf32> {onnx.default = dense<1.0> : tensor<2x2xf32>}) -> tensor<2x2xf32> {
  %m = onnx.MatMul(%x, %x) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %m : tensor<2x2xf32>
}

// -----

// Branches give what the op's decision says, whatever they hold inside; a value
// of the outer graph is cast once, where it is made.
// CHECK-LABEL: func.func @branches
// CHECK-SAME:    %{{.+}}: tensor<i1>, %[[X:.+]]: tensor<2x2xf32>
//  CHECK-NEXT:   %[[XN:.+]] = amp.cast %[[X]]
//  CHECK-NEXT:   %[[Y:.+]] = onnx.If
//       CHECK:     %[[M:.+]] = onnx.MatMul(%[[XN]], %[[XN]])
//  CHECK-NEXT:     onnx.yield %[[M]] {{.*}}: tensor<2x2xf16>
//       CHECK:     %[[E:.+]] = onnx.Exp(%[[X]])
//  CHECK-SAME:       onnx.outputs = [""]
//  CHECK-NEXT:     %[[EN:.+]] = amp.cast %[[E]] {onnx.outputs = ["e"]} : tensor<2x2xf32> to tensor<2x2xf16>
//  CHECK-NEXT:     onnx.yield %[[EN]]
//       CHECK:   (tensor<i1>) -> tensor<2x2xf16>
//  CHECK-NEXT:   %[[YW:.+]] = amp.cast %[[Y]]
//  CHECK-NEXT:   return %[[YW]]
func.func @branches(%c: tensor<i1>, %x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = onnx.If(%c) ({
    %m = onnx.MatMul(%x, %x) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %m {graph = {name = "then"}} : tensor<2x2xf32>
  }, {
    %e = onnx.Exp(%x) {onnx.outputs = ["e"], amp.decision = #amp.decision<wide (f32) -> (f32), rule = table>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %e {graph = {name = "else", outputs = ["e"]}} : tensor<2x2xf32>
  }) {amp.decision = #amp.decision<follow (_) -> (f16), rule = loop>} : (tensor<i1>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// The carried value is narrow all around; the scanned output stays wide.
// CHECK-LABEL: func.func @loop
// CHECK-SAME:    %[[N:[a-z0-9]+]]: tensor<i64>, %[[C:[a-z0-9]+]]: tensor<i1>, %[[X:[a-z0-9]+]]: tensor<2x2xf32>
//  CHECK-NEXT:   %[[XN:.+]] = amp.cast %[[X]]
//  CHECK-NEXT:   onnx.Loop(%[[N]], %[[C]], %[[XN]]) ({
//  CHECK-NEXT:   ^bb0(%{{.+}}: tensor<i64>, %[[CC:.+]]: tensor<i1>, %[[V:.+]]: tensor<2x2xf16>):
//  CHECK-NEXT:     %[[VW:.+]] = amp.cast %[[V]] : tensor<2x2xf16> to tensor<2x2xf32>
//  CHECK-NEXT:     %[[M:.+]] = onnx.MatMul(%[[V]], %[[V]])
//  CHECK-NEXT:     onnx.yield %[[CC]], %[[M]], %[[VW]] : tensor<i1>, tensor<2x2xf16>, tensor<2x2xf32>
//       CHECK:   (tensor<i64>, tensor<i1>, tensor<2x2xf16>) -> (tensor<2x2xf16>, tensor<?x2x2xf32>)
func.func @loop(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<?x2x2xf32>) {
  %y:2 = onnx.Loop(%n, %c, %x) ({
  ^bb0(%i: tensor<i64>, %cc: tensor<i1>, %v: tensor<2x2xf32>):
    %m = onnx.MatMul(%v, %v) {amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %cc, %m, %v : tensor<i1>, tensor<2x2xf32>, tensor<2x2xf32>
  }) {amp.decision = #amp.decision<follow (_, _, f16) -> (f16, f32), rule = loop>} : (tensor<i64>, tensor<i1>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<?x2x2xf32>)
  return %y#0, %y#1 : tensor<2x2xf32>, tensor<?x2x2xf32>
}

// -----

// A wide state over narrow slices.
// CHECK-LABEL: func.func @scan
//       CHECK:   onnx.Scan(%{{.+}}, %{{.+}})
//       CHECK:   ^bb0(%[[S:.+]]: tensor<4xf32>, %[[E:.+]]: tensor<4xf16>):
//  CHECK-NEXT:     %[[EW:.+]] = amp.cast %[[E]] : tensor<4xf16> to tensor<4xf32>
//  CHECK-NEXT:     %[[A:.+]] = onnx.Add(%[[S]], %[[EW]])
//  CHECK-NEXT:     onnx.yield %[[A]], %[[E]] : tensor<4xf32>, tensor<4xf16>
//       CHECK:   (tensor<4xf32>, tensor<3x4xf16>) -> (tensor<4xf32>, tensor<3x4xf16>)
func.func @scan(%s: tensor<4xf32>, %x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %y:2 = onnx.Scan(%s, %x) ({
  ^bb0(%state: tensor<4xf32>, %e: tensor<4xf32>):
    %a = onnx.Add(%state, %e) {amp.decision = #amp.decision<promote (f32, f32) -> (f32), rule = promote>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.yield %a, %e : tensor<4xf32>, tensor<4xf32>
  }) {num_scan_inputs = 1 : i64, amp.decision = #amp.decision<follow (f32, f16) -> (f32, f16), rule = loop>} : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<3x4xf32>
}

// -----

// Regions are dissolved.
// CHECK-LABEL: func.func @autocast_region
//   CHECK-NOT:   amp.autocast
//       CHECK:   onnx.MatMul
//  CHECK-SAME:     -> tensor<2x2xbf16>
//   CHECK-NOT:   amp.yield
func.func @autocast_region(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %y = amp.autocast dtype = bf16 -> tensor<2x2xf32> {
    %m = onnx.MatMul(%x, %x) {amp.decision = #amp.decision<narrow (bf16, bf16) -> (bf16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    amp.yield %m : tensor<2x2xf32>
  }
  return %y : tensor<2x2xf32>
}

// -----

// No float in sight: nothing to decide, nothing to do.
// CHECK-LABEL: func.func @integers_only
//  CHECK-NEXT:   onnx.Add
//  CHECK-NEXT:   return
func.func @integers_only(%x: tensor<4xi64>) -> tensor<4xi64> {
  %0 = onnx.Add(%x, %x) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// What the graph declares beside the IR follows the element type.
// CHECK-LABEL: func.func @declared_types
// CHECK-SAME:    value_info = ["b", {name = "a", type = tensor<?x2xf16>}]
func.func @declared_types(%x: tensor<2x2xf32>) -> tensor<2x2xf32>
    attributes {onnx.graph = {value_info = ["b", {name = "a", type = tensor<?x2xf32>}]}} {
  %a = onnx.MatMul(%x, %x) {onnx.outputs = ["a"], amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %b = onnx.Exp(%a) {onnx.outputs = ["b"], amp.decision = #amp.decision<wide (f32) -> (f32), rule = table>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %b : tensor<2x2xf32>
}
