// RUN: split-file %s %t
// RUN: amp-opt %t/scaled.mlir --train-add-optimizer=config=%t/scaled.json | FileCheck %t/scaled.mlir
// RUN: amp-opt %t/micro.mlir --train-add-optimizer=config=%t/micro.json | FileCheck %t/micro.mlir
// RUN: amp-opt %t/plain.mlir --train-add-optimizer=config=%t/plain.json --verify-diagnostics | FileCheck %t/plain.mlir
// RUN: amp-opt %t/guarded.mlir --train-add-optimizer=config=%t/guarded.json | FileCheck %t/guarded.mlir

//--- scaled.json
{"loss": "y", "optimizer": {"adam": {"amsgrad": true}}, "clip": {"norm": 2.0, "value": 0.5},
 "loss_scale": {"enabled": true, "growth_interval": 7, "hysteresis": 2, "min_scale": 1}}
//--- scaled.mlir
// One check of all gradients, one multiplier, an update for each parameter under the same flag, then the scale. Results: loss, outputs,
// metrics, and by argument what is written over arguments.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}
// CHECK-SAME:    %[[B:[a-z0-9]+]]: tensor<2xf32> {onnx.name = "b", train.role = "parameter"}
// CHECK-SAME:    %[[SCALE:[a-z0-9]+]]: tensor<f32> {onnx.name = "scaler.scale"
// CHECK-SAME:    %[[ITERATION:[a-z0-9]+]]: tensor<i64> {onnx.name = "train.iteration", train.init = dense<0> : tensor<i64>, train.role = "counter"}
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: tensor<i64> {onnx.name = "train.applied_steps", train.init = dense<0> : tensor<i64>, train.role = "counter"}
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {onnx.name = "lr", train.init = dense<1.000000e-03> : tensor<f32>, train.role = "hyper"}
// CHECK-SAME:    %[[M:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "exp_avg.a", train.init = dense<0.000000e+00> : tensor<4xf32>, train.of = "a", train.role = "optimizer_state"}
// CHECK-SAME:    %[[V:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "exp_avg_sq.a",
// CHECK-SAME:    %[[MAX:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "max_exp_avg_sq.a",
// CHECK-SAME:    onnx.name = "train.skipped"
// CHECK-SAME:    onnx.name = "train.consecutive_skips"
// CHECK-SAME:    %[[TRACKER:[a-z0-9]+]]: tensor<i32> {onnx.name = "scaler.growth_tracker", train.init = dense<0> : tensor<i32>, train.role = "scaler_state"}
// CHECK-SAME:    %[[LEFT:[a-z0-9]+]]: tensor<i32> {onnx.name = "scaler.hysteresis_left", train.init = dense<2> : tensor<i32>, train.role = "scaler_state"}
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {onnx.name = "y", train.role = "output"}, tensor<f32> {onnx.name = "found_inf", train.role = "metric"}, tensor<f32> {onnx.name = "grad_norm", train.role = "metric"}, tensor<f32> {onnx.name = "found_inf.a", train.role = "metric"}, tensor<f32> {onnx.name = "found_inf.b", train.role = "metric"}, tensor<4xf32> {onnx.name = "next.a", train.alias = 0 : i64, train.role = "parameter"}, tensor<2xf32> {onnx.name = "next.b", train.alias = 1 : i64
// CHECK-SAME:    onnx.name = "next.exp_avg.a", train.alias = {{[0-9]+}} : i64, train.of = "a", train.role = "optimizer_state"
// CHECK-DAG:     %[[GA:.+]] = onnx.Mul(%[[A]], %[[A]])
// CHECK-DAG:     %[[GB:.+]] = onnx.Mul(%[[B]], %[[B]])
// CHECK:         %[[FOUND:.+]], %[[SQUARES:.+]], %[[INA:.+]]:2 = train.check_gradients %[[GA]], %[[GB]]
// CHECK:         %[[MULTIPLIER:.+]], %[[NORM:.+]] = train.gradient_multiplier %[[SCALE]], %[[SQUARES]] {max_norm = 2.000000e+00 : f64}
// CHECK:         %[[BAD:.+]] = onnx.Cast(%[[FOUND]]) {to = 9 : i64}
// CHECK:         %[[APPLY:.+]] = onnx.Not(%[[BAD]])
// CHECK:         %[[NEXT:.+]], %{{.+}}, %{{.+}}, %{{.+}} = train.adam_update %[[A]], %[[GA]], %[[M]], %[[V]], %[[MAX]], %[[LR]], %[[MULTIPLIER]], %[[STEP]], %[[APPLY]] {clip_value = 5.000000e-01 : f64}
// CHECK:         train.adam_update %[[B]], %[[GB]], {{.+}}, %[[LR]], %[[MULTIPLIER]], %[[STEP]], %[[APPLY]]
// CHECK:         %[[NEWSCALE:.+]], %{{.+}}, %{{.+}} = train.update_scale %[[SCALE]], %[[TRACKER]], %[[LEFT]], %[[FOUND]] {backoff_factor = 5.000000e-01 : f64, growth_factor = 2.000000e+00 : f64, growth_interval = 7 : i64, hysteresis = 2 : i64, min_scale = 1.000000e+00 : f64}
// CHECK:         return %{{.+}}, %[[A]], %[[FOUND]], %[[NORM]], %[[INA]]#0, %[[INA]]#1, %[[NEXT]], %{{.+}}, %[[NEWSCALE]],
func.func @scaled(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %b: tensor<2xf32> {onnx.name = "b", train.role = "parameter"}, %scale: tensor<f32> {onnx.name = "scaler.scale", train.role = "scaler_state"})
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {onnx.name = "y", train.role = "output"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}, tensor<2xf32> {train.of = "b", train.role = "gradient"}) {
  %0 = onnx.ReduceSumSquare(%a) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  %1 = onnx.Mul(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = onnx.Mul(%b, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %a, %1, %2 : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}

//--- micro.json
{"loss": "y", "optimizer": {"sgd": {"lr": 0.5}}, "accumulate": 4, "gradient_flags": false, "loss_scale": {"enabled": true}}
//--- micro.mlir
// The sum is checked, not the micro step's gradient; every fourth call updates and empties the accumulator.
// CHECK-LABEL: func.func @micro(
// CHECK-SAME:    %[[SUM:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "accumulated_grad.a", train.init = dense<0.000000e+00> : tensor<4xf32>, train.of = "a", train.role = "optimizer_state"}
// CHECK:         %[[COUNT:.+]] = onnx.Mod(%{{.+}}, %{{.+}})
// CHECK:         %[[LAST:.+]] = onnx.Equal(%[[COUNT]],
// CHECK:         %[[TOTAL:.+]] = onnx.Add(%[[SUM]], %{{.+}})
// CHECK:         %[[NEXTSUM:.+]] = onnx.Where(%[[LAST]], %{{.+}}, %[[TOTAL]])
// CHECK:         %[[FOUND:.+]], %{{.+}} = train.check_gradients %[[TOTAL]]
// CHECK:         %[[GOOD:.+]] = onnx.Not(
// CHECK:         %[[APPLY:.+]] = onnx.And(%[[LAST]], %[[GOOD]])
// CHECK:         train.sgd_update %{{.+}}, %[[TOTAL]], {{.+}}, %[[APPLY]]
// CHECK:         train.update_scale {{.+}}, %[[FOUND]] when %[[LAST]]
func.func @micro(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %scale: tensor<f32> {onnx.name = "scaler.scale", train.role = "scaler_state"})
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}) {
  %0 = onnx.Mul(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %scale, %0 : tensor<f32>, tensor<4xf32>
}

//--- plain.json
{"loss": "y", "optimizer": {"sgd": {"lr": 0.5, "momentum": 0.5, "weight_decay": 0.25, "groups": [{"name": "g", "match": "b|nothing", "lr": 2, "weight_decay": 0}]}}}
//--- plain.mlir
// Without scaling nothing is skipped. A group has its own rate and decay. A parameter without a gradient stays as it is.
// CHECK-LABEL: func.func @plain(
// CHECK-SAME:    %[[LR:[a-z0-9]+]]: tensor<f32> {onnx.name = "lr", train.init = dense<5.000000e-01> : tensor<f32>, train.role = "hyper"}
// CHECK-SAME:    %[[LRG:[a-z0-9]+]]: tensor<f32> {onnx.name = "lr.g", train.init = dense<2.000000e+00> : tensor<f32>, train.role = "hyper"}
// CHECK-NOT:     skipped
// CHECK-NOT:     next.c
// CHECK:         %[[ONE:.+]] = onnx.Constant() {value = dense<1.000000e+00> : tensor<f32>}
// CHECK:         train.gradient_multiplier %[[ONE]],
// CHECK:         %[[TRUE:.+]] = onnx.Constant() {value = dense<true> : tensor<i1>}
// CHECK:         train.sgd_update {{.+}}, %[[LR]], %{{.+}}, %{{.+}}, %[[TRUE]] {momentum = 5.000000e-01 : f64, weight_decay = 2.500000e-01 : f64}
// CHECK:         train.sgd_update {{.+}}, %[[LRG]], %{{.+}}, %{{.+}}, %[[TRUE]] {momentum = 5.000000e-01 : f64} :
// CHECK-NOT:     train.sgd_update
// expected-warning @below {{the loss does not depend on the parameter 'c': it will not be trained}}
func.func @plain(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %b: tensor<4xf32> {onnx.name = "b", train.role = "parameter"}, %c: tensor<4xf32> {onnx.name = "c", train.role = "parameter"}, %x: tensor<f32>)
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}, tensor<4xf32> {train.of = "b", train.role = "gradient"}, tensor<4xf32> {train.of = "c", train.role = "gradient"}) {
  %zero = onnx.Constant() {value = dense<0.0> : tensor<4xf32>} : () -> tensor<4xf32>
  return %x, %a, %b, %zero : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

//--- guarded.json
{"loss": "y", "optimizer": {"sgd": {"lr": 0.5}}, "guard_buffers": true, "nonfinite_loss": "skip", "nonfinite_gradients": "skip"}
//--- guarded.mlir
// A non-finite loss skips as a non-finite gradient does, and buffers keep their values, too.
// CHECK-LABEL: func.func @guarded(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: {{.+}} %[[MEAN:[a-z0-9]+]]: tensor<4xf32> {onnx.name = "mean"
// CHECK:         %[[BAD:.+]] = onnx.Cast({{.+}}) {to = 9 : i64}
// CHECK:         %[[NAN:.+]] = onnx.IsNaN(%[[X:.+]]) :
// CHECK:         %[[INF:.+]] = onnx.IsInf(%[[X]])
// CHECK:         %[[BADLOSS:.+]] = onnx.Or(%[[NAN]], %[[INF]])
// CHECK:         %[[SKIP:.+]] = onnx.Or(%[[BAD]], %[[BADLOSS]])
// CHECK:         %[[APPLY:.+]] = onnx.Not(%[[SKIP]])
// CHECK:         train.sgd_update {{.+}}, %[[APPLY]]
// CHECK:         onnx.Where(%[[SKIP]], %[[MEAN]], %[[A]])
func.func @guarded(%a: tensor<4xf32> {onnx.name = "a", train.role = "parameter"}, %mean: tensor<4xf32> {onnx.name = "mean", train.role = "buffer"}, %x: tensor<f32>)
    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {onnx.name = "next.mean", train.alias = 1 : i64, train.role = "buffer"}, tensor<4xf32> {train.of = "a", train.role = "gradient"}) {
  return %x, %a, %a : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
