// RUN: split-file %s %t
// RUN: amp-opt %t/step.mlir --train-scale-loss=config=%t/on.json | FileCheck %t/step.mlir --check-prefix=ON
// RUN: amp-opt %t/step.mlir --train-scale-loss=config=%t/off.json | FileCheck %t/step.mlir --check-prefix=OFF
// RUN: amp-opt %t/step.mlir --train-scale-loss=config=%t/micro.json | FileCheck %t/step.mlir --check-prefix=MICRO
// RUN: not amp-opt %t/none.mlir --train-scale-loss=config=%t/on.json 2>&1 | FileCheck %t/none.mlir

//--- on.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "autocast": {"dtype": "f16"}, "loss_scale": {"init_scale": 1024}}
//--- off.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "autocast": {"dtype": "bf16"}}
//--- micro.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "accumulate": 4, "loss_scale": {"enabled": true}}
//--- step.mlir
// The seed becomes the scale itself, in float32, an argument that starts from init_scale.
// ON-LABEL: func.func @step(
// ON-SAME:    %[[SCALE:[a-z0-9_]+]]: tensor<f32> {onnx.name = "scaler.scale", train.init = dense<1.024000e+03> : tensor<f32>, train.role = "scaler_state"})
// ON-NOT:     train.seed
// ON:         onnx.Mul(%{{.+}}, %[[SCALE]])
// Without scaling, as bf16 has the range, it is 1.
// OFF-LABEL: func.func @step(
// OFF-NOT:     scaler
// OFF:         %[[ONE:[a-z0-9_]+]] = onnx.Constant() {value = dense<1.000000e+00> : tensor<f32>}
// OFF:         onnx.Mul(%{{.+}}, %[[ONE]])
// With four micro steps it is a quarter of the scale.
// MICRO-LABEL: func.func @step(
// MICRO-SAME:    %[[SCALE:[a-z0-9_]+]]: tensor<f32> {onnx.name = "scaler.scale", train.init = dense<6.553600e+04> : tensor<f32>
// MICRO:         %[[FOUR:[a-z0-9_]+]] = onnx.Constant() {value = dense<4.000000e+00> : tensor<f32>}
// MICRO:         %[[SEED:[a-z0-9_]+]] = onnx.Div(%[[SCALE]], %[[FOUR]])
// MICRO:         onnx.Mul(%{{.+}}, %[[SEED]])
func.func @step(%w: tensor<4xf32>) -> tensor<4xf32> {
  %seed = train.seed : tensor<f32>
  %0 = onnx.Mul(%w, %seed) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- none.mlir
// CHECK: there is no gradient to scale: run --train-differentiate first
func.func @none(%w: tensor<4xf32>) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
