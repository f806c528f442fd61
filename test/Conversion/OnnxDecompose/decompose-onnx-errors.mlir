// RUN: amp-opt %s --decompose-onnx --split-input-file --verify-diagnostics

func.func @dynamic(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @below {{Softmax 'attention/softmax' needs operands and results of static shape: bind the model's symbolic dimensions (onnx-bind-dims)}}
  %y = onnx.Softmax(%x) {onnx.name = "attention/softmax"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

func.func @axis_out_of_range(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // expected-error @below {{LogSoftmax has the axis 2 of an operand with 2 dimensions}}
  %y = onnx.LogSoftmax(%x) {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

func.func @open_axes(%x: tensor<2x4xf32>, %axes: tensor<1xi64>) -> tensor<2x1xf32> {
  // expected-error @below {{ReduceL1 needs a constant for its input 'axes'}}
  %y = onnx.ReduceL1(%x, %axes) : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  return %y : tensor<2x1xf32>
}

// -----

func.func @groups(%x: tensor<2x4x3xf32>, %s: tensor<4xf32>) -> tensor<2x4x3xf32> {
  // expected-error @below {{GroupNormalization cannot split 'tensor<2x4x3xf32>' into 3 groups of channels}}
  %y = onnx.GroupNormalization(%x, %s, %s) {num_groups = 3 : i64} : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}
