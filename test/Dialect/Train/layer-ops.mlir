// RUN: amp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @convolution_gradients(
func.func @convolution_gradients(%x: tensor<2x3x8xf16>, %w: tensor<8x3x3xf16>, %g: tensor<2x8x4xf16>)
    -> (tensor<2x3x8xf16>, tensor<8x3x3xf32>) {
  // CHECK: train.conv_input_gradient %arg1, %arg2
  %dx = train.conv_input_gradient %w, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
      : (tensor<8x3x3xf16>, tensor<2x8x4xf16>) -> tensor<2x3x8xf16>
  // CHECK: train.conv_weight_gradient %arg0, %arg2
  %dw = train.conv_weight_gradient %x, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
      : (tensor<2x3x8xf16>, tensor<2x8x4xf16>) -> tensor<8x3x3xf32>
  return %dx, %dw : tensor<2x3x8xf16>, tensor<8x3x3xf32>
}

// CHECK-LABEL: func.func @pooling_gradients(
func.func @pooling_gradients(%x: tensor<1x3x8xf16>, %g: tensor<1x3x4xf16>) -> (tensor<1x3x8xf16>, tensor<1x3x8xf16>) {
  // CHECK: train.max_pool_gradient %arg0, %arg1
  %max = train.max_pool_gradient %x, %g {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
      : (tensor<1x3x8xf16>, tensor<1x3x4xf16>) -> tensor<1x3x8xf16>
  // The last window hangs over the end, as with ceil_mode.
  // CHECK: train.average_pool_gradient %arg1 {count_include_pad
  %average = train.average_pool_gradient %g {kernel_shape = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, count_include_pad}
      : (tensor<1x3x4xf16>) -> tensor<1x3x8xf16>
  return %max, %average : tensor<1x3x8xf16>, tensor<1x3x8xf16>
}

// CHECK-LABEL: func.func @norm_gradients(
func.func @norm_gradients(%x: tensor<2x4xf16>, %g: tensor<2x4xf16>, %s: tensor<4xf32>, %m: tensor<2x1xf32>)
    -> (tensor<2x4xf16>, tensor<4xf32>, tensor<2x4xf16>) {
  // CHECK: train.norm_gradient %arg0, %arg1 scale(%arg2 : tensor<4xf32>) mean(%arg3 : tensor<2x1xf32>) inv_std(%arg3 : tensor<2x1xf32>)
  // CHECK-SAME: : tensor<2x4xf16>, tensor<4xf32>
  %dx, %dscale = train.norm_gradient %x, %g scale(%s : tensor<4xf32>) mean(%m : tensor<2x1xf32>) inv_std(%m : tensor<2x1xf32>)
      {axes = array<i64: 1>, epsilon = 1.0e-5 : f32, centered} : tensor<2x4xf16>, tensor<4xf32>
  // CHECK: train.norm_gradient %arg0, %arg1 {{.*}} : tensor<2x4xf16>
  %plain = train.norm_gradient %x, %g {axes = array<i64: 1>, epsilon = 1.0e-5 : f32} : tensor<2x4xf16>
  return %dx, %dscale, %plain : tensor<2x4xf16>, tensor<4xf32>, tensor<2x4xf16>
}

// CHECK-LABEL: func.func @softmax_gradients(
func.func @softmax_gradients(%y: tensor<8x10xf16>, %g: tensor<8x10xf16>) -> (tensor<8x10xf16>, tensor<8x10xf16>) {
  // CHECK: train.softmax_gradient %arg0, %arg1 {axis = 1 : i64} : tensor<8x10xf16>
  %0 = train.softmax_gradient %y, %g {axis = 1 : i64} : tensor<8x10xf16>
  // CHECK: train.log_softmax_gradient %arg0, %arg1 {axis = 1 : i64} : tensor<8x10xf16>
  %1 = train.log_softmax_gradient %y, %g {axis = 1 : i64} : tensor<8x10xf16>
  return %0, %1 : tensor<8x10xf16>, tensor<8x10xf16>
}

// CHECK-LABEL: func.func @loss_gradients(
func.func @loss_gradients(%x: tensor<8x10xf16>, %t: tensor<8xi64>, %w: tensor<10xf32>, %g: tensor<f32>, %d: tensor<8x10xf32>)
    -> (tensor<8x10xf16>, tensor<8x10xf16>, tensor<8x10xf32>) {
  // CHECK: train.softmax_cross_entropy_gradient mean %arg0, %arg1 loss(%arg3 : tensor<f32>) {ignore_index = -100 : i64}
  %0 = train.softmax_cross_entropy_gradient mean %x, %t loss(%g : tensor<f32>) {ignore_index = -100 : i64} : tensor<8x10xf16>, tensor<8xi64>
  // CHECK: train.softmax_cross_entropy_gradient sum %arg0, %arg1 weights(%arg2 : tensor<10xf32>) loss(%arg3 : tensor<f32>) log_prob(%arg4 : tensor<8x10xf32>)
  %1 = train.softmax_cross_entropy_gradient sum %x, %t weights(%w : tensor<10xf32>) loss(%g : tensor<f32>) log_prob(%d : tensor<8x10xf32>)
      : tensor<8x10xf16>, tensor<8xi64>
  // CHECK: train.negative_log_likelihood_gradient mean %arg1 weights(%arg2 : tensor<10xf32>) loss(%arg3 : tensor<f32>)
  %2 = train.negative_log_likelihood_gradient mean %t weights(%w : tensor<10xf32>) loss(%g : tensor<f32>) : tensor<8xi64> -> tensor<8x10xf32>
  return %0, %1, %2 : tensor<8x10xf16>, tensor<8x10xf16>, tensor<8x10xf32>
}

// CHECK-LABEL: func.func @recurrent_gradients(
func.func @recurrent_gradients(%x: tensor<7x2x3xf16>, %w: tensor<16x3xf16>, %r: tensor<16x4xf16>, %b: tensor<32xf16>, %lens: tensor<2xi32>,
                               %s: tensor<2x4xf16>, %p: tensor<12xf16>, %g: tensor<7x2x4xf16>, %w1: tensor<4x3xf16>, %r1: tensor<4x4xf16>)
    -> (tensor<7x2x3xf16>, tensor<12xf32>, tensor<4x3xf32>) {
  // CHECK: train.recurrent_gradient lstm %arg0, %arg1, %arg2 bias(%arg3 : tensor<32xf16>) sequence_lens(%arg4 : tensor<2xi32>)
  // CHECK-SAME: initial_h(%arg5 : tensor<2x4xf16>) initial_c(%arg5 : tensor<2x4xf16>) peepholes(%arg6 : tensor<12xf16>)
  // CHECK-SAME: y(%arg7 : tensor<7x2x4xf16>) h(%arg5 : tensor<2x4xf16>) c(%arg5 : tensor<2x4xf16>) {reverse}
  %0:7 = train.recurrent_gradient lstm %x, %w, %r bias(%b : tensor<32xf16>) sequence_lens(%lens : tensor<2xi32>) initial_h(%s : tensor<2x4xf16>)
      initial_c(%s : tensor<2x4xf16>) peepholes(%p : tensor<12xf16>) y(%g : tensor<7x2x4xf16>) h(%s : tensor<2x4xf16>) c(%s : tensor<2x4xf16>) {reverse}
      : tensor<7x2x3xf16>, tensor<16x3xf16>, tensor<16x4xf16> -> tensor<16x3xf32>, tensor<16x4xf32>, tensor<32xf32>, tensor<2x4xf16>, tensor<2x4xf16>, tensor<12xf32>
  // CHECK: train.recurrent_gradient rnn_tanh %arg0, %arg8, %arg9 y(%arg7 : tensor<7x2x4xf16>)
  %1:5 = train.recurrent_gradient rnn_tanh %x, %w1, %r1 y(%g : tensor<7x2x4xf16>)
      : tensor<7x2x3xf16>, tensor<4x3xf16>, tensor<4x4xf16> -> tensor<4x3xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<2x4xf16>
  return %0#0, %0#6, %1#1 : tensor<7x2x3xf16>, tensor<12xf32>, tensor<4x3xf32>
}

// CHECK-LABEL: func.func @attention_gradients(
func.func @attention_gradients(%q: tensor<1x4x5x4xf16>, %k: tensor<1x2x6x4xf16>, %v: tensor<1x2x6x3xf16>, %g: tensor<1x4x5x3xf16>,
                               %mask: tensor<5x4xf32>, %lengths: tensor<1xi64>) -> (tensor<1x4x5x4xf16>, tensor<1x2x6x3xf16>, tensor<5x4xf32>) {
  // CHECK: train.attention_gradient %arg0, %arg1, %arg2, %arg3 mask(%arg4 : tensor<5x4xf32>) lengths(%arg5 : tensor<1xi64>)
  // CHECK-SAME: {causal_offset = 1 : i64, {{.*}}} : tensor<1x4x5x4xf16>, tensor<1x2x6x4xf16>, tensor<1x2x6x3xf16>, tensor<1x4x5x3xf16> -> tensor<5x4xf32>
  %0:4 = train.attention_gradient %q, %k, %v, %g mask(%mask : tensor<5x4xf32>) lengths(%lengths : tensor<1xi64>)
      {scale = 0.5 : f32, softcap = 0.0 : f32, causal_offset = 1 : i64}
      : tensor<1x4x5x4xf16>, tensor<1x2x6x4xf16>, tensor<1x2x6x3xf16>, tensor<1x4x5x3xf16> -> tensor<5x4xf32>
  // CHECK: train.attention_gradient %arg0, %arg1, %arg2, %arg3 {scale
  %1:3 = train.attention_gradient %q, %k, %v, %g {scale = 0.5 : f32, softcap = 0.0 : f32}
      : tensor<1x4x5x4xf16>, tensor<1x2x6x4xf16>, tensor<1x2x6x3xf16>, tensor<1x4x5x3xf16>
  return %0#0, %1#2, %0#3 : tensor<1x4x5x4xf16>, tensor<1x2x6x3xf16>, tensor<5x4xf32>
}
