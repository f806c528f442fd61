// RUN: amp-opt %s --train-differentiate --split-input-file --verify-diagnostics

func.func @clip(%x: tensor<7x1x3xf32>, %w: tensor<1x1x3xf32> {train.role = "parameter"}, %r: tensor<1x1x1xf32>) -> (tensor<1x1x1xf32> {train.role = "loss"}) {
  // expected-error @below {{RNN 'layer' has no gradient rule with the attribute clip}}
  %y, %h = onnx.RNN(%x, %w, %r) {clip = 1.0 : f32, hidden_size = 1 : i64, onnx.name = "layer"}
      : (tensor<7x1x3xf32>, tensor<1x1x3xf32>, tensor<1x1x1xf32>) -> (tensor<7x1x1x1xf32>, tensor<1x1x1xf32>)
  return %h : tensor<1x1x1xf32>
}

// -----

func.func @input_forget(%x: tensor<7x1x3xf32>, %w: tensor<1x4x3xf32> {train.role = "parameter"}, %r: tensor<1x4x1xf32>) -> (tensor<1x1x1xf32> {train.role = "loss"}) {
  // expected-error @below {{LSTM has no gradient rule with coupled input and forget gates (input_forget)}}
  %y, %h, %c = onnx.LSTM(%x, %w, %r) {input_forget = 1 : i64, hidden_size = 1 : i64}
      : (tensor<7x1x3xf32>, tensor<1x4x3xf32>, tensor<1x4x1xf32>) -> (tensor<7x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  return %h : tensor<1x1x1xf32>
}

// -----

func.func @activations(%x: tensor<7x1x3xf32>, %w: tensor<1x3x3xf32> {train.role = "parameter"}, %r: tensor<1x3x1xf32>) -> (tensor<1x1x1xf32> {train.role = "loss"}) {
  // expected-error @below {{GRU has no gradient rule with the activations ["Sigmoid", "Relu"]: there is one for the default ones, and for Relu in all directions of an RNN}}
  %y, %h = onnx.GRU(%x, %w, %r) {activations = ["Sigmoid", "Relu"], hidden_size = 1 : i64}
      : (tensor<7x1x3xf32>, tensor<1x3x3xf32>, tensor<1x3x1xf32>) -> (tensor<7x1x1x1xf32>, tensor<1x1x1xf32>)
  return %h : tensor<1x1x1xf32>
}
