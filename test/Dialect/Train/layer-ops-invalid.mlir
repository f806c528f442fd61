// RUN: amp-opt %s --split-input-file --verify-diagnostics

func.func @window_without_dimensions(%w: tensor<8x3x3xf32>, %g: tensor<2x8x4xf32>) {
  // expected-error @below {{expects one stride, dilation and kernel size and two pads for each spatial dimension}}
  %0 = train.conv_input_gradient %w, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1>, group = 1 : i64}
      : (tensor<8x3x3xf32>, tensor<2x8x4xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @window_of_another_rank(%g: tensor<2x8xf32>) {
  // expected-error @below {{slides over 1 spatial dimensions, but got 'tensor<2x8xf32>' and 'tensor<2x8xf32>'}}
  %0 = train.average_pool_gradient %g {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
      : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @window_that_stands(%g: tensor<2x8x4xf32>) {
  // expected-error @below {{expects positive strides, dilations and kernel sizes}}
  %0 = train.average_pool_gradient %g {kernel_shape = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
      : (tensor<2x8x4xf32>) -> tensor<2x8x8xf32>
  return
}

// -----

func.func @window_over_the_end(%w: tensor<8x3x3xf32>, %g: tensor<2x8x5xf32>) {
  // expected-error @below {{has a window that gives no dimension of size 5 from one of size 8}}
  %0 = train.conv_input_gradient %w, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
      : (tensor<8x3x3xf32>, tensor<2x8x5xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @dynamic_shape(%g: tensor<2x8x?xf32>) {
  // expected-error @below {{expects static shapes}}
  %0 = train.average_pool_gradient %g {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
      : (tensor<2x8x?xf32>) -> tensor<2x8x8xf32>
  return
}

// -----

func.func @weight_of_another_rank(%x: tensor<2x3x8xf32>, %g: tensor<2x8x4xf32>) {
  // expected-error @below {{expects tensors of one rank, but got 'tensor<2x3x8xf32>' and 'tensor<8x3xf32>'}}
  %0 = train.conv_weight_gradient %x, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 1 : i64}
      : (tensor<2x3x8xf32>, tensor<2x8x4xf32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @channels_that_do_not_fit_groups(%x: tensor<2x3x8xf32>, %g: tensor<2x8x4xf32>) {
  // expected-error @below {{has batch or channel dimensions that do not fit: input 'tensor<2x3x8xf32>', weight 'tensor<8x3x3xf32>', output 'tensor<2x8x4xf32>', 2 groups}}
  %0 = train.conv_weight_gradient %x, %g {strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 1, 1>, group = 2 : i64}
      : (tensor<2x3x8xf32>, tensor<2x8x4xf32>) -> tensor<8x3x3xf32>
  return
}

// -----

func.func @pooling_of_other_channels(%x: tensor<1x3x8xf32>, %g: tensor<1x2x4xf32>) {
  // expected-error @below {{expects batch and channels alike, but got 'tensor<1x3x8xf32>' and 'tensor<1x2x4xf32>'}}
  %0 = train.max_pool_gradient %x, %g {kernel_shape = array<i64: 2>, strides = array<i64: 2>, dilations = array<i64: 1>, pads = array<i64: 0, 0>}
      : (tensor<1x3x8xf32>, tensor<1x2x4xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @repeated_axis(%x: tensor<2x4xf32>) {
  // expected-error @below {{expects distinct axes of 'tensor<2x4xf32>', but got 1}}
  %0 = train.norm_gradient %x, %x {axes = array<i64: 1, 1>, epsilon = 1.0e-5 : f32} : tensor<2x4xf32>
  return
}

// -----

func.func @no_axis(%x: tensor<2x4xf32>) {
  // expected-error @below {{expects at least one axis}}
  %0 = train.norm_gradient %x, %x {axes = array<i64>, epsilon = 1.0e-5 : f32} : tensor<2x4xf32>
  return
}

// -----

func.func @statistics_of_another_shape(%x: tensor<2x4xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{expects cotangents of statistics of shape (2, 1), but got 'tensor<4xf32>'}}
  %0 = train.norm_gradient %x, %x mean(%m : tensor<4xf32>) {axes = array<i64: 1>, epsilon = 1.0e-5 : f32} : tensor<2x4xf32>
  return
}

// -----

func.func @scale_that_does_not_broadcast(%x: tensor<2x4xf32>, %s: tensor<3xf32>) {
  // expected-error @below {{has a scale 'tensor<3xf32>' that does not broadcast to 'tensor<2x4xf32>'}}
  %0 = train.norm_gradient %x, %x scale(%s : tensor<3xf32>) {axes = array<i64: 1>, epsilon = 1.0e-5 : f32} : tensor<2x4xf32>
  return
}

// -----

func.func @gradient_without_scale(%x: tensor<2x4xf32>) {
  // expected-error @below {{expects the gradient of the scale in the scale's shape, but got 'tensor<4xf32>'}}
  %0:2 = train.norm_gradient %x, %x {axes = array<i64: 1>, epsilon = 1.0e-5 : f32} : tensor<2x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @softmax_axis(%y: tensor<8x10xf32>) {
  // expected-error @below {{expects an axis of 'tensor<8x10xf32>', but got 2}}
  %0 = train.softmax_gradient %y, %y {axis = 2 : i64} : tensor<8x10xf32>
  return
}

// -----

func.func @labels_of_another_shape(%x: tensor<8x10xf32>, %t: tensor<7xi64>, %g: tensor<f32>) {
  // expected-error @below {{expects labels of shape (8), but got 'tensor<7xi64>'}}
  %0 = train.softmax_cross_entropy_gradient mean %x, %t loss(%g : tensor<f32>) : tensor<8x10xf32>, tensor<7xi64>
  return
}

// -----

func.func @weights_of_another_shape(%x: tensor<8x10xf32>, %t: tensor<8xi64>, %w: tensor<8xf32>, %g: tensor<f32>) {
  // expected-error @below {{expects one weight a class, but got 'tensor<8xf32>'}}
  %0 = train.softmax_cross_entropy_gradient mean %x, %t weights(%w : tensor<8xf32>) loss(%g : tensor<f32>) : tensor<8x10xf32>, tensor<8xi64>
  return
}

// -----

func.func @loss_of_another_shape(%x: tensor<8x10xf32>, %t: tensor<8xi64>, %g: tensor<f32>) {
  // expected-error @below {{expects a cotangent of the loss of shape (8), but got 'tensor<f32>'}}
  %0 = train.softmax_cross_entropy_gradient none %x, %t loss(%g : tensor<f32>) : tensor<8x10xf32>, tensor<8xi64>
  return
}

// -----

func.func @no_cotangent(%x: tensor<8x10xf32>, %t: tensor<8xi64>) {
  // expected-error @below {{expects a cotangent of the loss or of the log-probabilities}}
  %0 = train.softmax_cross_entropy_gradient mean %x, %t : tensor<8x10xf32>, tensor<8xi64>
  return
}

// -----

func.func @log_probabilities_of_another_shape(%x: tensor<8x10xf32>, %t: tensor<8xi64>, %d: tensor<8x9xf32>) {
  // expected-error @below {{expects a cotangent of the log-probabilities like the scores, but got 'tensor<8x9xf32>'}}
  %0 = train.softmax_cross_entropy_gradient mean %x, %t log_prob(%d : tensor<8x9xf32>) : tensor<8x10xf32>, tensor<8xi64>
  return
}

// -----

func.func @likelihood_of_a_vector(%t: tensor<i64>, %g: tensor<f32>) {
  // expected-error @below {{expects scores of at least two dimensions}}
  %0 = train.negative_log_likelihood_gradient mean %t loss(%g : tensor<f32>) : tensor<i64> -> tensor<10xf32>
  return
}

// -----

func.func @recurrence_without_time(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>) {
  // expected-error @below {{expects x of three dimensions and weights of two}}
  %0:5 = train.recurrent_gradient rnn_tanh %x, %w, %r
      : tensor<2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32> -> tensor<4x3xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @gates_of_another_cell(%x: tensor<7x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>) {
  // expected-error @below {{expects a weight of shape (12, 3), but got 'tensor<4x3xf32>'}}
  %0:5 = train.recurrent_gradient gru %x, %w, %r
      : tensor<7x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32> -> tensor<4x3xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @state_of_another_shape(%x: tensor<7x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %h: tensor<2x3xf32>) {
  // expected-error @below {{expects states of shape (2, 4), but got 'tensor<2x3xf32>'}}
  %0:5 = train.recurrent_gradient rnn_relu %x, %w, %r initial_h(%h : tensor<2x3xf32>)
      : tensor<7x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32> -> tensor<4x3xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @cell_state_without_cell(%x: tensor<7x2x3xf32>, %w: tensor<4x3xf32>, %r: tensor<4x4xf32>, %c: tensor<2x4xf32>) {
  // expected-error @below {{has a cell state or peepholes, which only an LSTM has}}
  %0:5 = train.recurrent_gradient rnn_relu %x, %w, %r initial_c(%c : tensor<2x4xf32>)
      : tensor<7x2x3xf32>, tensor<4x3xf32>, tensor<4x4xf32> -> tensor<4x3xf32>, tensor<4x4xf32>, tensor<8xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @lstm_without_cell_gradient(%x: tensor<7x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>) {
  // expected-error @below {{expects 1 results of the cell, but got 0}}
  %0:5 = train.recurrent_gradient lstm %x, %w, %r
      : tensor<7x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32> -> tensor<16x3xf32>, tensor<16x4xf32>, tensor<32xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @attention_of_flat_heads(%q: tensor<1x5x8xf32>) {
  // expected-error @below {{expects operands of four dimensions}}
  %0:3 = train.attention_gradient %q, %q, %q, %q {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>, tensor<1x5x8xf32>
  return
}

// -----

func.func @attention_of_uneven_heads(%q: tensor<1x3x5x8xf32>, %k: tensor<1x2x5x8xf32>) {
  // expected-error @below {{has operands that do not fit: query 'tensor<1x3x5x8xf32>', key 'tensor<1x2x5x8xf32>', value 'tensor<1x2x5x8xf32>'}}
  %0:3 = train.attention_gradient %q, %k, %k, %q {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x3x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x3x5x8xf32>
  return
}

// -----

func.func @attention_gradient_of_another_shape(%q: tensor<1x2x5x8xf32>, %g: tensor<1x2x4x8xf32>) {
  // expected-error @below {{expects a cotangent of shape (1, 2, 5, 8), but got 'tensor<1x2x4x8xf32>'}}
  %0:3 = train.attention_gradient %q, %q, %q, %g {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x8xf32>
  return
}

// -----

func.func @attention_mask_of_another_shape(%q: tensor<1x2x5x8xf32>, %m: tensor<4x5xi1>) {
  // expected-error @below {{has a mask 'tensor<4x5xi1>' that does not broadcast to (1, 2, 5, 5)}}
  %0:3 = train.attention_gradient %q, %q, %q, %q mask(%m : tensor<4x5xi1>) {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>
  return
}

// -----

func.func @attention_lengths_of_another_shape(%q: tensor<1x2x5x8xf32>, %l: tensor<2xi64>) {
  // expected-error @below {{expects one length a batch, but got 'tensor<2xi64>'}}
  %0:3 = train.attention_gradient %q, %q, %q, %q lengths(%l : tensor<2xi64>) {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>
  return
}

// -----

func.func @attention_mask_gradient_without_mask(%q: tensor<1x2x5x8xf32>) {
  // expected-error @below {{expects the cotangent of the mask in the mask's type, but got 'tensor<5x5xf32>'}}
  %0:4 = train.attention_gradient %q, %q, %q, %q {scale = 0.5 : f32, softcap = 0.0 : f32} : tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32> -> tensor<5x5xf32>
  return
}
