// RUN: amp-opt %s --split-input-file --train-split-step | FileCheck %s

// Forward and backward in one function, check and update in the other. The host reduces loss, gradients and flag in between; the buffer is
// the first half's, the counter the second's.
// CHECK-LABEL: func.func @train_gradients(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "x", train.role = "input"}
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}
// CHECK-SAME:    %[[MEAN:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "mean", train.role = "buffer"}
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32> {onnx.name = "scaler.scale", train.role = "scaler_state"})
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {onnx.name = "gradient.w", train.of = "w", train.role = "gradient"}, tensor<f32> {onnx.name = "ranks.found_inf", train.role = "metric"}, tensor<4xf32> {onnx.name = "next.mean", train.alias = 2 : i64, train.role = "buffer"})
// CHECK:         %[[G:.+]] = onnx.Mul(%[[X]], %[[SCALE]])
// CHECK:         %[[FOUND:.+]], %{{.+}} = train.check_gradients %[[G]]
// CHECK-NOT:     train.sgd_update
// CHECK:         return %{{.+}}, %[[G]], %[[FOUND]], %{{.+}} :

// CHECK-LABEL: func.func @train_apply(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32> {onnx.name = "scaler.scale", train.role = "scaler_state"}
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {onnx.name = "lr", train.role = "hyper"}
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {onnx.name = "train.applied_steps", train.role = "counter"}
// CHECK-SAME:    %[[G:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "gradient.w", train.of = "w", train.role = "gradient"}
// CHECK-SAME:    %[[ANY:[a-z0-9]+]]: tensor<f32> {onnx.name = "ranks.found_inf", train.role = "metric"})
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "found_inf", train.role = "metric"}, tensor<4xf32> {onnx.name = "next.w", train.alias = 0 : i64, train.role = "parameter"})
// CHECK:         %[[OWN:.+]], %[[SQUARES:.+]] = train.check_gradients %[[G]]
// CHECK:         %[[FOUND:.+]] = onnx.Max(%[[OWN]], %[[ANY]])
// CHECK:         onnx.Cast(%[[FOUND]])
// CHECK:         train.sgd_update %[[W]], %[[G]], %[[LR]]
// CHECK:         return %[[FOUND]],
func.func @train_step(%x: tensor<4xf32> {onnx.name = "x", train.role = "input"}, %w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}, %mean: tensor<4xf32> {onnx.name = "mean", train.role = "buffer"}, %scale: tensor<f32> {onnx.name = "scaler.scale", train.role = "scaler_state"}, %lr: tensor<f32> {onnx.name = "lr", train.role = "hyper"}, %step: tensor<i64> {onnx.name = "train.applied_steps", train.role = "counter"})
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<f32> {onnx.name = "found_inf", train.role = "metric"}, tensor<4xf32> {onnx.name = "next.w", train.alias = 1 : i64, train.role = "parameter"}, tensor<4xf32> {onnx.name = "next.mean", train.alias = 2 : i64, train.role = "buffer"}) {
  %0 = onnx.Mul(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %loss = onnx.ReduceSum(%0) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  %g = onnx.Mul(%x, %scale) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %m = onnx.Add(%mean, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %found, %squares = train.check_gradients %g : tensor<4xf32>
  %multiplier, %norm = train.gradient_multiplier %scale, %squares
  %bad = onnx.Cast(%found) {to = 9 : i64} : (tensor<f32>) -> tensor<i1>
  %apply = onnx.Not(%bad) : (tensor<i1>) -> tensor<i1>
  %w1 = train.sgd_update %w, %g, %lr, %multiplier, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  return %loss, %found, %w1, %m : tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A guarded buffer waits for the check: its candidate is carried over.
// CHECK-LABEL: func.func @train_gradients(
// CHECK-SAME:    -> (tensor<4xf32> {onnx.name = "gradient.w", train.of = "w", train.role = "gradient"}, tensor<4xf32> {onnx.name = "carried.0", train.role = "metric"}, tensor<f32> {onnx.name = "ranks.found_inf", train.role = "metric"})
// CHECK-LABEL: func.func @train_apply(
// CHECK-SAME:    %[[MEAN:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "mean", train.role = "buffer"}
// CHECK-SAME:    %[[NEXT:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "carried.0", train.role = "metric"}
// CHECK-SAME:    onnx.name = "next.mean", train.alias = 1 : i64
// CHECK:         onnx.Where(%{{.+}}, %[[MEAN]], %[[NEXT]])
func.func @train_step(%x: tensor<4xf32> {onnx.name = "x", train.role = "input"}, %w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}, %mean: tensor<4xf32> {onnx.name = "mean", train.role = "buffer"}, %lr: tensor<f32> {onnx.name = "lr", train.role = "hyper"}, %step: tensor<i64> {onnx.name = "train.applied_steps", train.role = "counter"})
    -> (tensor<4xf32> {onnx.name = "next.w", train.alias = 1 : i64, train.role = "parameter"}, tensor<4xf32> {onnx.name = "next.mean", train.alias = 2 : i64, train.role = "buffer"}) {
  %g = onnx.Neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %m = onnx.Add(%mean, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %found, %squares = train.check_gradients %g : tensor<4xf32>
  %bad = onnx.Cast(%found) {to = 9 : i64} : (tensor<f32>) -> tensor<i1>
  %apply = onnx.Not(%bad) : (tensor<i1>) -> tensor<i1>
  %w1 = train.sgd_update %w, %g, %lr, %squares, %step, %apply : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i64>, tensor<i1>) -> tensor<4xf32>
  %m1 = onnx.Where(%bad, %mean, %m) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}
