// RUN: amp-opt %s --train-differentiate --split-input-file --verify-diagnostics

// All operations without a rule are told at once.
// expected-error @below {{3 operations have no gradient rule, but the loss depends on a parameter through them}}
func.func @missing(%w: tensor<2x2xf32> {train.role = "parameter"}, %c: tensor<i1>) -> (tensor<f32> {train.role = "loss"}) {
  // expected-note @below {{Det 'volume'}}
  %0 = onnx.Det(%w) {onnx.name = "volume"} : (tensor<2x2xf32>) -> tensor<f32>
  // expected-note @below {{If: control flow is not differentiated}}
  %1 = onnx.If(%c) ({
    onnx.yield %0 : tensor<f32>
  }, {
    onnx.yield %0 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  // expected-note @below {{Mystery}}
  %2 = onnx.node "my.domain" "Mystery" (%1) : (tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

func.func @dynamic(%w: tensor<?xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  // expected-error @below {{'onnx.ReduceSum' op has a value of type 'tensor<?xf32>', but gradients need static shapes: bind the symbolic dimensions}}
  %0 = onnx.ReduceSum(%w) {keepdims = 0 : i64} : (tensor<?xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{no result has the role of the loss}}
func.func @no_loss(%w: tensor<4xf32> {train.role = "parameter"}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{no argument has the role of a parameter}}
func.func @no_parameter(%w: tensor<f32>) -> (tensor<f32> {train.role = "loss"}) {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{the loss must be one number, but it is 'tensor<4xf32>'}}
func.func @vector_loss(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<4xf32> {train.role = "loss"}) {
  return %w : tensor<4xf32>
}

// -----

func.func @open_slice(%w: tensor<4xf32> {train.role = "parameter"}, %s: tensor<1xi64>) -> (tensor<f32> {train.role = "loss"}) {
  // expected-error @below {{'onnx.Slice' op 'cut' has a gradient only for constant starts: fold constants first (--canonicalize)}}
  %0 = onnx.Slice(%w, %s, %s) {onnx.name = "cut"} : (tensor<4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xf32>
  %1 = onnx.ReduceSum(%0) {keepdims = 0 : i64} : (tensor<1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @open_training_mode(%w: tensor<4xf32> {train.role = "parameter"}, %t: tensor<i1>) -> (tensor<f32> {train.role = "loss"}) {
  %r = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  // expected-error @below {{'onnx.Dropout' op has a gradient only for a constant training_mode}}
  %0 = onnx.Dropout(%w, %r, %t) : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  %1 = onnx.ReduceSum(%0) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
