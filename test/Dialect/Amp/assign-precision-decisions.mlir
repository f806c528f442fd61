// A decision file comes back as it is; an edited entry holds, and its neighbours adapt.
// RUN: rm -rf %t && mkdir -p %t
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 save-decisions=%t/all.json" -o %t/first.mlir
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t/all.json
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/all.json save-decisions=%t/again.json" -o %t/second.mlir
// RUN: diff %t/first.mlir %t/second.mlir
// RUN: diff %t/all.json %t/again.json

//      FILE: {
// FILE-NEXT:  "version": 1,
// FILE-NEXT:  "ops": [
// FILE-NEXT:   {"name":"mm","op":"MatMul","class":"narrow","operands":["f16","f16"],"results":["f16"],"rule":"table","note":"{{.+}}"},
// FILE-NEXT:   {"name":"#2:Relu","op":"Relu","class":"follow","operands":["f16"],"results":["f16"],"rule":"follow","by":"m","note":"{{.+}}"},
// FILE-NEXT:   {"name":"sum","op":"ReduceSum","class":"wide","operands":["f32",null],"results":["f32"],"rule":"table","note":"{{.+}}"}
// FILE-NEXT:  ]
// FILE-NEXT: }

// RUN: echo '{"version": 1, "ops": [{"name": "mm", "op": "MatMul", "operands": ["f32", "f32"], "results": ["f32"]}]}' > %t/edited.json
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/edited.json" | FileCheck %s --check-prefix=EDITED
// EDITED: onnx.MatMul{{.*}}<narrow (f32, f32) -> (f32), rule = file, {{.*}}by = "{{.*}}edited.json">
// EDITED: onnx.Relu{{.*}}<follow (f32) -> (f32), rule = range, {{.*}}by = "m">

// RUN: echo '{"version": 1, "ops": [{"name": "mn", "operands": ["f32", "f32"], "results": ["f32"]}]}' > %t/unknown.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/unknown.json" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: decision file '{{.*}}unknown.json': no node is called 'mn'

// RUN: echo '{"version": 1, "ops": [{"name": "mm", "operands": ["f32", "f16"], "results": ["f32"]}]}' > %t/mixed.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/mixed.json" 2>&1 | FileCheck %s --check-prefix=MIXED
// MIXED: error: decision file '{{.*}}mixed.json': 'mm': operand 1 cannot be f16: type variable T is f32 in another place

// RUN: echo '{"version": 1, "ops": [{"name": "sum", "operands": ["f16", "f16"], "results": ["f16"]}]}' > %t/integer.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/integer.json" 2>&1 | FileCheck %s --check-prefix=INTEGER
// INTEGER: error: decision file '{{.*}}integer.json': 'sum': operand 1 cannot be f16: it is no float tensor

// RUN: echo '{"version": 1, "ops": [{"name": "mm", "operands": ["f16"], "results": ["f16"]}]}' > %t/count.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/count.json" 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: decision file '{{.*}}count.json': 'mm' has 2 operands and 1 results here, but 1 and 1 in the file

// RUN: echo '{"version": 1, "ops": [{"name": "mm", "op": "Gemm", "operands": ["f16", "f16"], "results": ["f16"]}]}' > %t/op.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/op.json" 2>&1 | FileCheck %s --check-prefix=OP
// OP: error: decision file '{{.*}}op.json': 'mm' is a MatMul here, but a Gemm in the file

// RUN: echo '{"version": 2}' > %t/version.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/version.json" 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: error: decision file '{{.*}}version.json': expects an object with version 1

// RUN: echo '{"version": 1, "ops": [{"name": "mm", "operands": ["half", "f16"], "results": ["f16"]}]}' > %t/word.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/word.json" 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: decision file '{{.*}}word.json': entry 0 'mm': expects f32, f16, bf16 or null in 'operands'

// RUN: echo '{"version": 1, "ops": [' > %t/broken.json
// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/broken.json" 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: decision file '{{.*}}broken.json':

func.func @decisions(%x: tensor<4x4xf32>, %a: tensor<1xi64>) -> tensor<4x1xf32> {
  %w = onnx.initializer dense<0.5> : tensor<4x4xf32>
  %0 = onnx.MatMul(%x, %w) {onnx.name = "mm", onnx.outputs = ["m"]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Relu(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.ReduceSum(%1, %a) {onnx.name = "sum"} : (tensor<4x4xf32>, tensor<1xi64>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// A report is a decision file, too.
// RUN: amp-opt %s --autocast="dtype=f16 deny=Relu report=%t/report.json" -o /dev/null
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/report.json" | FileCheck %s --check-prefix=REPORT
// REPORT: onnx.Relu{{.*}}<follow (f32) -> (f32), rule = file, {{.*}}by = "{{.*}}report.json">
