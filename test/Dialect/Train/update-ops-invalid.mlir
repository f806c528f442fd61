// RUN: amp-opt %s --split-input-file --verify-diagnostics

func.func @no_gradient() {
  // expected-error @below {{expects at least one gradient}}
  %0:2 = "train.check_gradients"() : () -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @flags(%g: tensor<4xf32>) {
  // expected-error @below {{expects a flag for each of 2 gradients, but has 1}}
  %0:3 = train.check_gradients %g, %g : tensor<4xf32>, tensor<4xf32> flags tensor<f32>
  return
}

// -----

func.func @max_norm(%s: tensor<f32>, %q: tensor<f32>) {
  // expected-error @below {{expects 'max_norm' to be a finite number above 0, but got 0}}
  %0:2 = train.gradient_multiplier %s, %q {max_norm = 0.0 : f64}
  return
}

// -----

func.func @growth_factor(%s: tensor<f32>, %t: tensor<i32>, %l: tensor<i32>, %f: tensor<f32>) {
  // expected-error @below {{expects 'growth_factor' of at least 1, but got 5.000000e-01}}
  %0:3 = train.update_scale %s, %t, %l, %f {growth_factor = 0.5 : f64, backoff_factor = 0.5 : f64, growth_interval = 1 : i64}
  return
}

// -----

func.func @backoff_factor(%s: tensor<f32>, %t: tensor<i32>, %l: tensor<i32>, %f: tensor<f32>) {
  // expected-error @below {{expects 'backoff_factor' above 0 and at most 1, but got 1.5}}
  %0:3 = train.update_scale %s, %t, %l, %f {growth_factor = 2.0 : f64, backoff_factor = 1.5 : f64, growth_interval = 1 : i64}
  return
}

// -----

func.func @growth_interval(%s: tensor<f32>, %t: tensor<i32>, %l: tensor<i32>, %f: tensor<f32>) {
  // expected-error @below {{expects 'growth_interval' between 1 and 2147483647, but got 0}}
  %0:3 = train.update_scale %s, %t, %l, %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 0 : i64}
  return
}

// -----

func.func @hysteresis(%s: tensor<f32>, %t: tensor<i32>, %l: tensor<i32>, %f: tensor<f32>) {
  // expected-error @below {{expects 'hysteresis' between 1 and 2147483647, but got 0}}
  %0:3 = train.update_scale %s, %t, %l, %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 1 : i64, hysteresis = 0 : i64}
  return
}

// -----

func.func @bounds(%s: tensor<f32>, %t: tensor<i32>, %l: tensor<i32>, %f: tensor<f32>) {
  // expected-error @below {{expects 'min_scale' to be at most 'max_scale'}}
  %0:3 = train.update_scale %s, %t, %l, %f {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 1 : i64, min_scale = 4.0 : f64, max_scale = 2.0 : f64}
  return
}

// -----

func.func @no_buffer(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{expects a momentum buffer, old and new, exactly if 'momentum' is not 0}}
  %0 = train.sgd_update %p, %g, %lr, %m, %step, %apply {momentum = 0.9 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @nesterov(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{with 'nesterov' expects a momentum and no dampening}}
  %0 = train.sgd_update %p, %g, %lr, %m, %step, %apply {nesterov} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @state_type(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<3xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{expects states of the parameter's type 'tensor<4xf32>', but got 'tensor<3xf32>'}}
  %0:2 = train.lion_update %p, %g, %b, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @beta(%p: tensor<4xf32>, %g: tensor<4xf32>, %b: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{expects 'beta1' to be at least 0 and below 1, but got 1}}
  %0:2 = train.lion_update %p, %g, %b, %lr, %m, %step, %apply {beta1 = 1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @one_maximum(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{expects a largest second moment both old and new, or neither}}
  %0:3 = train.adam_update %p, %g, %p, %p, %p, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @weight_decay(%p: tensor<4xf32>, %g: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) {
  // expected-error @below {{expects 'weight_decay' to be a finite number of at least 0, but got -1}}
  %0 = train.sgd_update %p, %g, %lr, %m, %step, %apply {weight_decay = -1.0 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{expects 'train.init' of argument 0 to be elements of type 'tensor<4xf32>', but got dense<0.000000e+00> : tensor<3xf32>}}
func.func @init(%p: tensor<4xf32> {train.init = dense<0.0> : tensor<3xf32>}) {
  return
}
