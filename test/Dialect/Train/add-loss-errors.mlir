// RUN: split-file %s %t
// RUN: amp-opt %t/models.mlir --split-input-file --verify-diagnostics --train-add-loss=config=%t/ce.json
// RUN: amp-opt %t/output.mlir --split-input-file --verify-diagnostics --train-add-loss=config=%t/output.json
// RUN: amp-opt %t/keep.mlir --split-input-file --verify-diagnostics --train-add-loss=config=%t/keep.json

//--- ce.json
{"loss": {"softmax_cross_entropy": {"logits": "logits", "labels": "y"}}, "optimizer": {"sgd": {"lr": 1}}}
//--- models.mlir
// expected-error @below {{'loss.softmax_cross_entropy': no value is called 'logits'; the outputs are scores, other}}
func.func @unknown(%x: tensor<4x3xf32>) -> (tensor<4x3xf32> {onnx.name = "scores"}, tensor<4x3xf32> {onnx.name = "other"}) {
  return %x, %x : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// expected-error @below {{'loss.softmax_cross_entropy.labels': the input 'y' is a 'tensor<4xf32>', but the labels are a 'tensor<4xi64>'}}
func.func @labels(%x: tensor<4x3xf32>, %y: tensor<4xf32> {onnx.name = "y"}) -> (tensor<4x3xf32> {onnx.name = "logits"}) {
  return %x : tensor<4x3xf32>
}

// -----

// expected-error @below {{'loss.softmax_cross_entropy.class_axis': 1 is neither the second nor the last dimension of 'logits', a 'tensor<4xf32>'}}
func.func @rank(%x: tensor<4xf32>) -> (tensor<4xf32> {onnx.name = "logits"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'loss.softmax_cross_entropy.logits': 'logits' is a 'tensor<4x3xf16>', but a loss needs a float32 tensor of static shape}}
func.func @half(%x: tensor<4x3xf16>) -> (tensor<4x3xf16> {onnx.name = "logits"}) {
  return %x : tensor<4x3xf16>
}

//--- output.json
{"loss": "cost", "optimizer": {"sgd": {"lr": 1}}}
//--- output.mlir
// expected-error @below {{'loss': 'cost' is a 'tensor<2xf32>', but the loss is one float32 number}}
func.func @many(%x: tensor<2xf32>) -> (tensor<2xf32> {onnx.name = "cost"}) {
  return %x : tensor<2xf32>
}

//--- keep.json
{"loss": "cost", "outputs": ["y", "z"], "optimizer": {"sgd": {"lr": 1}}}
//--- keep.mlir
// expected-error @below {{'outputs': no output is called 'z'}}
func.func @keep(%x: tensor<f32>, %y: tensor<2xf32>) -> (tensor<f32> {onnx.name = "cost"}, tensor<2xf32> {onnx.name = "y"}) {
  return %x, %y : tensor<f32>, tensor<2xf32>
}
