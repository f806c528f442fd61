// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir --build-evaluation=config=%t/cast.json | FileCheck %s
// RUN: amp-opt %t/model.mlir "--build-evaluation=config=%t/plain.json outputs-only" | FileCheck %s --check-prefix=INFER
// RUN: not amp-opt %t/model.mlir --build-evaluation 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: needs config=train.json

// Forward rounds as it does in training; nothing is updated.
// CHECK-LABEL: func.func @eval_step
//  CHECK-SAME:   {{.*}}train.role = "input"{{.*}}train.role = "parameter"{{.*}}train.role = "label"{{.*}} -> (tensor<f32> {{{.*}}train.role = "loss"}, tensor<2x3xf32> {{{.*}}train.role = "output"})
//       CHECK:   onnx.MatMul({{.*}} -> tensor<2x3xbf16>
// INFER-LABEL: func.func @infer
//   INFER-NOT:   label
//       INFER:   onnx.MatMul({{.*}} -> tensor<2x3xf32>
//       INFER:   return %{{.+}} : tensor<2x3xf32>

//--- plain.json
{"loss": {"mse": {"logits": "y", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.1}}}
//--- cast.json
// Comments are lines of their own.
{"loss": {"mse": {"logits": "y", "labels": "labels"}}, "optimizer": {"sgd": {"lr": 0.1}}, "autocast": {"dtype": "bf16"}}
//--- model.mlir
func.func @main(%x: tensor<2x4xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
  %w = onnx.initializer dense<1.0> : tensor<4x3xf32> {onnx.outputs = ["w"]}
  %y = onnx.MatMul(%x, %w) {onnx.outputs = ["y"]} : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
