// RUN: amp-opt %s --amp-write-report="file=%t.json" | FileCheck %s
// RUN: FileCheck %s --input-file=%t.json --check-prefix=JSON
// RUN: %python -m json.tool %t.json %t.pretty.json
// RUN: amp-opt %s --amp-write-report="file=%t.txt keep-decisions=true" | FileCheck %s --check-prefix=KEEP
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=TEXT
// RUN: amp-opt %s --amp-write-report="file=%t.txt format=json" | FileCheck %s
// RUN: FileCheck %s --input-file=%t.txt --check-prefix=JSON
// RUN: amp-opt %s --amp-lint=attach=true --amp-write-report="file=%t.html attach=true" | FileCheck %s --check-prefix=ATTACH
// RUN: FileCheck %s --input-file=%t.html --check-prefix=PAGE

// What lint has left goes into the page and from the module; the report stays where it is asked for.
// ATTACH-NOT: amp.findings
//     ATTACH: module attributes {amp.report = "{\0A \22version\22: 1,
// ATTACH-NOT: amp.findings
//
//     PAGE: <!DOCTYPE html>
//     PAGE: <script type="application/json" id="data">{"title": "write-report.mlir", "lint": {
//     PAGE:  "findings": []
//     PAGE: "autocast": {
//     PAGE:   {"name":"proj","op":"MatMul",
//     PAGE: }</script>

// The decisions go when they have been reported.
// CHECK-LABEL: func.func @report
//   CHECK-NOT:   amp.removed_casts
//   CHECK-NOT:   amp.decision
//
// KEEP-LABEL: func.func @report
//       KEEP:   amp.decision

// The constant: 70000 is beyond f16, 1e-9 becomes zero.
// JSON:      {
// JSON-NEXT:  "version": 1,
// JSON-NEXT:  "summary": {"ops":3,"narrow":1,"wide":1,"kept":1,"rules":{"table":2,"deny":1},"casts":2,"casts_removed":3,
// JSON-SAME:    "bytes":{"before":84,"after":62},
// JSON-SAME:    "constants_narrowed":2,"constants_changed":2,"constant_bytes":{"before":40,"after":20}},
// JSON-NEXT:  "ops": [
// JSON-NEXT:   {"name":"proj","op":"MatMul","outputs":["m"],"class":"narrow","operands":["f16","f16"],"results":["f16"],"rule":"table","note":"Contraction.","casts":1,"reads":[null,null],"bytes":{"before":44,"after":22}},
// JSON-NEXT:   {"name":"#3:Softmax","op":"Softmax","outputs":["y"],"class":"wide","operands":["f32"],"results":["f32"],"rule":"deny","by":"Softmax","casts":1,"reads":[0],"bytes":{"before":24,"after":24}},
// JSON-NEXT:   {"name":"#4:Cast","op":"Cast","outputs":[""],"class":"never","operands":[null],"results":[null],"rule":"table","casts":0,"reads":[null],"bytes":{"before":16,"after":16}}
// JSON-NEXT:  ],
// JSON-NEXT:  "constants": [
// JSON-NEXT:   {"name":"w","type":"f16","elements":6,"overflowed":1,"flushed":2,"clamped":0},
// JSON-NEXT:   {"name":"c","type":"f16","elements":4,"overflowed":0,"flushed":0,"clamped":4}
// JSON-NEXT:  ]
// JSON-NEXT: }

// TEXT:      3 ops: 1 narrow, 1 in float32, 1 keep their types
// TEXT-NEXT: 2 casts added, 3 removed; 2 constants narrowed, 2 of them changed beyond rounding
// TEXT-NEXT: the ops read and write 62 B of floats, before 84 B; constants take 20 B, before 40 B
// TEXT:      constants that changed beyond rounding:
// TEXT-NEXT:   'w': of 6 values in f16, 1 became infinite, 2 became zero
// TEXT-NEXT:   'c': of 4 values in f16, 4 clamped
// TEXT:      ops (operand types -> result types, class, rule, bytes: why):
// TEXT-NEXT:   proj: MatMul (f16, f16) -> (f16), narrow, table, 1 cast, 44 B to 22 B: Contraction.
// TEXT-NEXT:   #3:Softmax: Softmax (f32) -> (f32), wide, deny by 'Softmax', 1 cast, 24 B
// TEXT-NEXT:   #4:Cast: Cast (_) -> (_), never, table, 16 B
func.func @report(%x: tensor<1x2xf32>) -> (tensor<1x3xf32>, tensor<4xf16>) attributes {amp.removed_casts = 3 : i64} {
  %w = onnx.initializer dense<[[70000.0, 20000.0, 1.0e-9], [0.0, 1.0, 1.0e-9]]> : tensor<2x3xf32> {onnx.outputs = ["w"]}
  %c = onnx.initializer dense<70000.0> : tensor<4xf32> {onnx.outputs = ["c"]}
  %xn = amp.cast %x : tensor<1x2xf32> to tensor<1x2xf16>
  %wn = amp.cast %w : tensor<2x3xf32> to tensor<2x3xf16>
  %cn = amp.cast %c clamp : tensor<4xf32> to tensor<4xf16>
  %m = onnx.MatMul(%xn, %wn) {onnx.name = "proj", onnx.outputs = ["m"], amp.decision = #amp.decision<narrow (f16, f16) -> (f16), rule = table, note = "Contraction.">} : (tensor<1x2xf16>, tensor<2x3xf16>) -> tensor<1x3xf16>
  %mw = amp.cast %m : tensor<1x3xf16> to tensor<1x3xf32>
  %y = onnx.Softmax(%mw) {onnx.outputs = ["y"], amp.decision = #amp.decision<wide (f32) -> (f32), rule = deny, by = "Softmax">} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %k = onnx.Cast(%x) {to = 1 : i64, amp.decision = #amp.decision<never (_) -> (_), rule = table>} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  return %y, %cn : tensor<1x3xf32>, tensor<4xf16>
}
