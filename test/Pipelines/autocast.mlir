// RUN: amp-opt %s --autocast=dtype=f16 --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: amp-opt %s --autocast="policy=torch-cuda dtype=bf16" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=TORCH
// RUN: amp-opt %s --autocast=dtype=f16 | FileCheck %s
// RUN: amp-opt %s --autocast=dtype=f16 | amp-opt --autocast=dtype=f16 | FileCheck %s
// RUN: amp-opt %s --autocast="dtype=f16 pin=head/.*=f32" | FileCheck %s --check-prefix=PIN
// RUN: amp-opt %s --autocast="dtype=f16 deny=MatMul" | FileCheck %s --check-prefix=DENY
// RUN: amp-opt %s --autocast="dtype=f16 allow=Softmax" | FileCheck %s --check-prefix=ALLOW
// RUN: amp-opt %s --autocast="dtype=f16 keep-io-types=false" | FileCheck %s --check-prefix=IO
// RUN: amp-opt %s --autocast="dtype=f16 save-decisions=%t.json" -o /dev/null && FileCheck %s --check-prefix=FILE --input-file=%t.json
// RUN: amp-opt %s --autocast="dtype=f16 decisions=%t.json" | FileCheck %s
// RUN: amp-opt %s --autocast="dtype=f16 report=%t.txt" -o /dev/null && FileCheck %s --check-prefix=REPORT --input-file=%t.txt

// PIPELINE: amp-assign-precision{{.*}}dtype=f16
// PIPELINE: amp-materialize-casts
// PIPELINE: amp-optimize-casts{move-casts=true}
// PIPELINE: amp-write-report
// A program-order policy keeps each op in the type the eager framework has.
// TORCH: policy=torch-cuda
// TORCH: amp-optimize-casts{move-casts=false}

// CHECK-LABEL: func.func @classifier(
// CHECK-SAME: %[[X:.+]]: tensor<2x4xf32>
// CHECK-DAG: %[[XN:.+]] = amp.cast %[[X]] : tensor<2x4xf32> to tensor<2x4xf16>
// CHECK-DAG: %[[WN:.+]] = amp.cast %{{.+}} : tensor<4x4xf32> to tensor<4x4xf16>
// CHECK: %[[H:.+]] = onnx.MatMul(%[[XN]], %[[WN]])
// CHECK: %[[R:.+]] = onnx.Relu(%[[H]]) {{.*}} -> tensor<2x4xf16>
// CHECK: %[[L:.+]] = onnx.MatMul(%[[R]], %[[WN]])
// CHECK-NEXT: %[[LW:.+]] = amp.cast %[[L]]
// CHECK-NEXT: onnx.Softmax(%[[LW]]) {{.*}} -> tensor<2x4xf32>
// CHECK-NOT: amp.decision

// PIN: onnx.MatMul({{.*}}onnx.name = "body/mm"{{.*}} -> tensor<2x4xf16>
// PIN: onnx.MatMul({{.*}}onnx.name = "head/mm"{{.*}} -> tensor<2x4xf32>
// DENY-NOT: f16
// ALLOW: onnx.Softmax({{.*}} -> tensor<2x4xf16>
// IO: func.func @classifier(%{{.+}}: tensor<2x4xf16>
// FILE: "head/softmax"
// REPORT: 4 ops: 3 narrow, 1 in float32
func.func @classifier(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x4xf32> {onnx.name = "p"}) {
  %w = onnx.initializer dense<0.5> : tensor<4x4xf32> {onnx.outputs = ["w"]}
  %h = onnx.MatMul(%x, %w) {onnx.name = "body/mm"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %r = onnx.Relu(%h) {onnx.name = "body/relu"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %l = onnx.MatMul(%r, %w) {onnx.name = "head/mm"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %p = onnx.Softmax(%l) {onnx.name = "head/softmax"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}
