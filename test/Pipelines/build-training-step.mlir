// RUN: split-file %s %t
// RUN: amp-opt %t/model.mlir "--build-training-step=config=%t/plain.json bind=N=4" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefixes=PIPELINE,STEP
// RUN: amp-opt %t/model.mlir "--build-training-step=config=%t/cast.json bind=N=4" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=CAST
// RUN: not amp-opt %t/model.mlir --build-training-step 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not amp-opt %t/model.mlir --build-training-step=config=%t/wrong.json 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: amp-opt %t/model.mlir "--build-training-step=config=%t/bce.json bind=N=4" | FileCheck %s --check-prefix=WIDE

// PIPELINE:      onnx-bind-dims
// PIPELINE-NEXT: train-lift-parameters
// PIPELINE:      train-add-loss
// PIPELINE-NOT:  assign-precision
// PIPELINE:      train-differentiate
// PIPELINE-NEXT: train-scale-loss
// PIPELINE:      train-add-optimizer
// PIPELINE:      canonicalize
// PIPELINE:      cse
// PIPELINE-NEXT: train-finalize-step
// STEP: func.func @train_step(%{{.+}}: tensor<4x3xf32>

// Autocast comes before differentiation and keeps the loss in float32.
// CAST: onnx-bind-dims{bind={N=4}}
// CAST: train-add-loss
// CAST: amp-assign-precision{{.*}}dtype=bf16
// CAST-SAME: pin={a=f32,train\.loss\..*=f32}
// CAST: train-differentiate

// All of the loss is float32, also what is elementwise: logits are cast before it, their gradient after it.
// WIDE: onnx.MatMul({{.*}} -> tensor<4x2xf16>
// WIDE: amp.cast %{{.*}} : tensor<4x2xf16> to tensor<4x2xf32>
// WIDE: onnx.Softplus({{.*}} -> tensor<4x2xf32>
// WIDE: onnx.Sigmoid({{.*}} -> tensor<4x2xf32>

// NONE: needs config=train.json
// WRONG: wrong.json: 'optimizer.sgd.momentun': unknown key; did you mean 'momentum'?

//--- plain.json
{"loss": {"mse": {"logits": "y", "labels": "t"}}, "optimizer": {"sgd": {"lr": 0.1}}}
//--- cast.json
{"loss": {"mse": {"logits": "y", "labels": "t"}}, "optimizer": {"sgd": {"lr": 0.1}}, "autocast": {"dtype": "bf16", "pin": ["a=f32"]}}
//--- bce.json
{"loss": {"bce_with_logits": {"logits": "y", "labels": "t"}}, "optimizer": {"sgd": {"lr": 0.1}}, "autocast": {"dtype": "f16", "policy": "torch-cpu"}}
//--- wrong.json
{"loss": {"mse": {"logits": "y", "labels": "t"}}, "optimizer": {"sgd": {"lr": 0.1, "momentun": 0.9}}}
//--- model.mlir
func.func @model(%x: tensor<?x3xf32, #onnx.dims<"N", "">> {onnx.name = "x"}) -> (tensor<?x2xf32> {onnx.name = "y"}) {
  %w = onnx.initializer dense<1.0> : tensor<3x2xf32> {onnx.outputs = ["w"]}
  %0 = onnx.MatMul(%x, %w) {onnx.name = "a"} : (tensor<?x3xf32, #onnx.dims<"N", "">>, tensor<3x2xf32>) -> tensor<?x2xf32>
  return %0 : tensor<?x2xf32>
}
