// RUN: split-file %s %t
// RUN: amp-opt %t/models.mlir --split-input-file --verify-diagnostics --train-add-optimizer=config=%t/train.json
// RUN: not amp-opt %t/models.mlir --train-add-optimizer 2>&1 | FileCheck %s
// CHECK: this pass needs the option config=train.json

//--- train.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1, "groups": [{"name": "head", "match": "head.*"}]}}}
//--- models.mlir
// expected-error @below {{the first result is not the loss: run --train-add-loss first}}
func.func @no_loss(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error @below {{the loss depends on no parameter, so there is nothing to train: is the graph cut between them?}}
// expected-warning @below {{the loss does not depend on the parameter 'a'}}
func.func @cut(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %x: tensor<f32>) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}) {
  %zero = onnx.Constant() {value = dense<0.0> : tensor<4xf32>} : () -> tensor<4xf32>
  return %x, %zero : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 1 is a gradient of no argument: 'train.of' names none}}
func.func @of_none(%a: tensor<4xf32>, %x: tensor<f32>) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.of = "b", train.role = "gradient"}) {
  return %x, %a : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error @below {{the parameter group 'head' is empty: 'head.*' matches the whole name of no parameter}}
func.func @empty_group(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %x: tensor<f32>) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}) {
  return %x, %a : tensor<f32>, tensor<4xf32>
}

// -----

// expected-error @below {{the model has an input called 'lr', which is the learning rate's name}}
func.func @taken(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %x: tensor<f32> {onnx.name = "lr"}) -> (tensor<f32> {train.role = "loss"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}) {
  return %x, %a : tensor<f32>, tensor<4xf32>
}
