// RUN: split-file %s %t
// RUN: amp-opt %t/models.mlir --split-input-file --verify-diagnostics --train-lift-parameters=config=%t/train.json
// RUN: not amp-opt %t/one.mlir --train-lift-parameters=config=%t/absent.json 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not amp-opt %t/one.mlir --train-lift-parameters=config=%t/pattern.json 2>&1 | FileCheck %s --check-prefix=PATTERN
// ABSENT: cannot read the training configuration '{{.+}}absent.json'
// PATTERN: the pattern 'fc9.*' in 'frozen' matches the whole name of no initializer

//--- train.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}}
//--- pattern.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "frozen": ["fc9.*"]}
//--- one.mlir
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["w"]}
  %0 = onnx.Mul(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- models.mlir
// expected-error @below {{the model has no float32 initializer to train}}
func.func @nothing(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @one_value(%x: tensor<1x3xf32>, %s: tensor<3xf32>) -> tensor<1x3xf32> {
  // expected-error @below {{has one value per channel, of which there is no variance to train with}}
  %0 = onnx.BatchNormalization(%x, %s, %s, %s, %s) : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----

// expected-warning @below {{BatchNormalization was folded into 'stem' and others when this model was exported for inference}}
// expected-warning @below {{Dropout 'drop' does nothing, as in inference}}
func.func @inference_export(%x: tensor<1x3x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = onnx.initializer dense<1.0> : tensor<2x3x1x1xf32> {onnx.outputs = ["onnx::Conv_12"]}
  %0 = onnx.Conv(%x, %w) {onnx.name = "stem"} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = onnx.Dropout(%0) {onnx.name = "drop"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}
