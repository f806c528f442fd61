// RUN: amp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @scaling
func.func @scaling(%g0: tensor<4x3xf32>, %g1: tensor<3xf16>, %scale: tensor<f32>, %tracker: tensor<i32>, %left: tensor<i32>, %last: tensor<i1>) -> tensor<f32> {
  // CHECK: %[[FOUND:.+]], %[[SQUARES:.+]] = train.check_gradients %{{.+}}, %{{.+}} : tensor<4x3xf32>, tensor<3xf16>
  %found, %squares = train.check_gradients %g0, %g1 : tensor<4x3xf32>, tensor<3xf16>
  // CHECK: train.gradient_multiplier %{{.+}}, %[[SQUARES]] {max_norm = 1.000000e+00 : f64}
  %multiplier, %norm = train.gradient_multiplier %scale, %squares {max_norm = 1.0 : f64}
  // CHECK: train.update_scale %{{.+}}, %{{.+}}, %{{.+}}, %[[FOUND]] {backoff_factor
  %s1, %t1, %l1 = train.update_scale %scale, %tracker, %left, %found {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 2000 : i64}
  // CHECK: train.update_scale %{{.+}} when %{{.+}} {
  %s2, %t2, %l2 = train.update_scale %s1, %t1, %l1, %found when %last {growth_factor = 2.0 : f64, backoff_factor = 0.5 : f64, growth_interval = 2000 : i64, hysteresis = 2 : i64, min_scale = 1.0 : f64, max_scale = 1024.0 : f64}
  return %s2 : tensor<f32>
}

// CHECK-LABEL: func.func @optimizers
// CHECK-SAME:    {train.init = dense<0.000000e+00> : tensor<4xf32>, train.role = "parameter"}
func.func @optimizers(%p: tensor<4xf32> {train.init = dense<0.0> : tensor<4xf32>, train.role = "parameter"}, %g: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %lr: tensor<f32>, %m: tensor<f32>, %step: tensor<i64>, %apply: tensor<i1>) -> tensor<4xf32> {
  // CHECK: train.sgd_update %{{.+}} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>
  %0 = train.sgd_update %p, %g, %lr, %m, %step, %apply {maximize} : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  // CHECK: train.sgd_update {{.+}} {momentum = 9.000000e-01 : f64, nesterov}
  %1:2 = train.sgd_update %0, %g, %a, %lr, %m, %step, %apply {momentum = 0.9 : f64, nesterov} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.adam_update
  %2:3 = train.adam_update %1#0, %g, %a, %b, %lr, %m, %step, %apply {clip_value = 0.5 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.adam_update {{.+}} {decoupled, weight_decay = 1.000000e-02 : f64}
  %3:4 = train.adam_update %2#0, %g, %a, %b, %c, %lr, %m, %step, %apply {decoupled, weight_decay = 0.01 : f64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.lion_update
  %4:2 = train.lion_update %3#0, %g, %a, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: train.lamb_update
  %5:3 = train.lamb_update %4#0, %g, %a, %b, %lr, %m, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %5#0 : tensor<4xf32>
}
