// RUN: split-file %s %t
// RUN: amp-opt %t/defaults.mlir --train-lift-parameters --verify-diagnostics | FileCheck %t/defaults.mlir
// RUN: amp-opt %t/roles.mlir --train-lift-parameters | FileCheck %t/roles.mlir
// RUN: amp-opt %t/patterns.mlir --train-lift-parameters=config=%t/patterns.json | FileCheck %t/patterns.mlir
// RUN: amp-opt %t/norms.mlir --split-input-file --train-lift-parameters=config=%t/norms.json | FileCheck %t/norms.mlir

//--- defaults.mlir
// A weight and an overridable input become parameters; a number of rank 0, what no gradient reaches and integers stay.
// CHECK-LABEL: func.func @defaults(
// CHECK-SAME:    %[[X:[A-Za-z0-9_]+]]: tensor<2x4xf32> {onnx.name = "x"},
// CHECK-SAME:    %[[B:[A-Za-z0-9_]+]]: tensor<4xf32> {onnx.name = "b", train.init = dense<2.000000e+00> : tensor<4xf32>, train.role = "parameter"},
// CHECK-SAME:    %[[W:[A-Za-z0-9_]+]]: tensor<4xf32> {onnx.name = "w", train.init = dense<1.000000e+00> : tensor<4xf32>, train.role = "parameter"})
// CHECK-DAG:     %[[HALF:[A-Za-z0-9_]+]] = onnx.initializer dense<5.000000e-01> : tensor<f32>
// CHECK-DAG:     %[[SHAPE:[A-Za-z0-9_]+]] = onnx.initializer dense<[4, 2]> : tensor<2xi64>
// CHECK-NOT:     onnx.initializer
// CHECK:         onnx.Mul(%[[X]], %[[W]])
// CHECK:         onnx.Mul(%{{.+}}, %[[HALF]])
// CHECK:         onnx.Add(%{{.+}}, %[[B]])
// CHECK:         onnx.Reshape(%{{.+}}, %[[SHAPE]])
func.func @defaults(%x: tensor<2x4xf32> {onnx.name = "x"}, %b: tensor<4xf32> {onnx.default = dense<2.0> : tensor<4xf32>, onnx.name = "b"}) -> tensor<4x2xf32> {
  %w = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["w"]}
  %half = onnx.initializer dense<0.5> : tensor<f32> {onnx.outputs = ["half"]}
  %shape = onnx.initializer dense<[4, 2]> : tensor<2xi64> {onnx.outputs = ["shape"]}
  %0 = onnx.Mul(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %1 = onnx.Mul(%0, %half) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = onnx.Add(%1, %b) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %3 = onnx.Reshape(%2, %shape) : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return %3 : tensor<4x2xf32>
}

//--- roles.mlir
// Roles that are there already are the frontend's: no constant is lifted, and an evaluated normalization stays one.
// CHECK-LABEL: func.func @roles(
// CHECK-NOT:     train.role = "parameter"{{.+}}train.role = "parameter"
// CHECK:         onnx.initializer
// CHECK:         onnx.BatchNormalization({{.+}}) {epsilon
func.func @roles(%x: tensor<2x4xf32>, %w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"},
                 %m: tensor<4xf32> {onnx.name = "m", train.role = "buffer"}) -> tensor<2x4xf32> {
  %one = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["one"]}
  %0 = onnx.BatchNormalization(%x, %w, %one, %m, %one) {epsilon = 1.0e-5 : f32}
      : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

//--- patterns.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "trainable": ["a.*", "scale"], "frozen": ["a2"]}
//--- patterns.mlir
// Patterns match whole names; what is named is taken whatever its rank, frozen wins.
// CHECK-LABEL: func.func @patterns(
// CHECK-SAME:    onnx.name = "a1", {{[^%]+}} train.role = "parameter"
// CHECK-SAME:    onnx.name = "scale", {{[^%]+}} train.role = "parameter"
// CHECK-NOT:     parameter
// CHECK-DAG:     onnx.initializer {{.+}} {onnx.outputs = ["a2"]}
// CHECK-DAG:     onnx.initializer {{.+}} {onnx.outputs = ["ba"]}
func.func @patterns(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a1 = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["a1"]}
  %a2 = onnx.initializer dense<2.0> : tensor<4xf32> {onnx.outputs = ["a2"]}
  %ba = onnx.initializer dense<3.0> : tensor<4xf32> {onnx.outputs = ["ba"]}
  %scale = onnx.initializer dense<4.0> : tensor<f32> {onnx.outputs = ["scale"]}
  %0 = onnx.Mul(%x, %a1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Mul(%0, %a2) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = onnx.Mul(%1, %ba) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = onnx.Mul(%2, %scale) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

//--- norms.json
{"loss": "y", "optimizer": {"sgd": {"lr": 1}}, "frozen": ["(frozen.*)?"]}
//--- norms.mlir
// Running statistics are buffers whose new values are results; the variance is unbiased: share / (8 - 1) is added.
// CHECK-LABEL: func.func @trained(
// CHECK-SAME:    %[[X:[A-Za-z0-9_]+]]: tensor<2x3x4xf32>,
// CHECK-SAME:    %[[M:[A-Za-z0-9_]+]]: tensor<3xf32> {onnx.name = "bn.mean", train.init = dense<0.000000e+00> : tensor<3xf32>, train.role = "buffer"},
// CHECK-SAME:    %[[V:[A-Za-z0-9_]+]]: tensor<3xf32> {onnx.name = "bn.var", train.init = dense<1.000000e+00> : tensor<3xf32>, train.role = "buffer"},
// CHECK-SAME:    %[[S:[A-Za-z0-9_]+]]: tensor<3xf32> {onnx.name = "bn.weight", {{[^%]+}} train.role = "parameter"},
// CHECK-SAME:    %[[B:[A-Za-z0-9_]+]]: tensor<3xf32> {onnx.name = "bn.bias", {{[^%]+}} train.role = "parameter"})
// CHECK-SAME:    -> (tensor<2x3x4xf32> {onnx.name = "y"},
// CHECK-SAME:        tensor<3xf32> {onnx.name = "next.bn.mean", train.alias = 1 : i64, train.role = "buffer"},
// CHECK-SAME:        tensor<3xf32> {onnx.name = "next.bn.var", train.alias = 2 : i64, train.role = "buffer"})
// CHECK:         %[[Y:[A-Za-z0-9_]+]], %[[MEAN:[A-Za-z0-9_]+]], %[[VAR:[A-Za-z0-9_]+]] = onnx.BatchNormalization(%[[X]], %[[S]], %[[B]], %[[M]], %[[V]])
// CHECK-SAME:      epsilon = 1.000000e-03 : f32, momentum = 8.000000e-01 : f32, onnx.name = "bn"
// CHECK-SAME:      training_mode = 1
// CHECK:         %[[SHARE:[A-Za-z0-9_]+]] = onnx.Sub(%[[VAR]],
// CHECK:         %[[SEVENTH:[A-Za-z0-9_]+]] = onnx.Constant() {value = dense<0.142857149> : tensor<f32>}
// CHECK:         %[[MORE:[A-Za-z0-9_]+]] = onnx.Mul(%[[SHARE]], %[[SEVENTH]])
// CHECK:         %[[UNBIASED:[A-Za-z0-9_]+]] = onnx.Add(%[[VAR]], %[[MORE]])
// CHECK:         return %[[Y]], %[[MEAN]], %[[UNBIASED]]
func.func @trained(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %s = onnx.initializer dense<1.0> : tensor<3xf32> {onnx.outputs = ["bn.weight"]}
  %b = onnx.initializer dense<0.0> : tensor<3xf32> {onnx.outputs = ["bn.bias"]}
  %m = onnx.initializer dense<0.0> : tensor<3xf32> {onnx.outputs = ["bn.mean"]}
  %v = onnx.initializer dense<1.0> : tensor<3xf32> {onnx.outputs = ["bn.var"]}
  %0 = onnx.BatchNormalization(%x, %s, %b, %m, %v) {epsilon = 1.0e-3 : f32, momentum = 8.0e-1 : f32, onnx.name = "bn"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Equal tensors that the exporter stored once are still two things: a bias to train and a running mean.
// CHECK-LABEL: func.func @shared_zeros(
// CHECK-SAME:    onnx.name = "zeros", train.init = {{[^%]+}}, train.role = "buffer"
// CHECK-SAME:    onnx.name = "zeros.0", train.init = {{[^%]+}}, train.role = "parameter"
func.func @shared_zeros(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %zeros = onnx.initializer dense<0.0> : tensor<3xf32> {onnx.outputs = ["zeros"]}
  %ones = onnx.initializer dense<1.0> : tensor<3xf32> {onnx.outputs = ["ones"]}
  %0 = onnx.BatchNormalization(%x, %ones, %zeros, %zeros, %ones) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// A frozen running mean keeps its layer in inference mode; its scale is trained all the same.
// CHECK-LABEL: func.func @frozen(
// CHECK-SAME:    onnx.name = "s", {{[^%]+}} train.role = "parameter"
// CHECK-NOT:     buffer
// CHECK:         onnx.BatchNormalization
// CHECK-NOT:     training_mode
func.func @frozen(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32> {onnx.name = "y"}) {
  %s = onnx.initializer dense<1.0> : tensor<3xf32> {onnx.outputs = ["s"]}
  %m = onnx.initializer dense<0.0> : tensor<3xf32> {onnx.outputs = ["frozen.mean"]}
  %v = onnx.initializer dense<1.0> : tensor<3xf32> {onnx.outputs = ["frozen.var"]}
  %0 = onnx.BatchNormalization(%x, %s, %s, %m, %v) : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// Every Dropout in training mode draws numbers of its own, wherever it ends up: by its name, or by its number.
// CHECK-LABEL: func.func @seeds
//       CHECK:   onnx.Dropout({{.*}}onnx.name = "drop", {{.*}}seed = [[A:[0-9]+]] : i64
//       CHECK:   onnx.Dropout({{.*}}seed = [[B:[0-9]+]] : i64
//       CHECK:   onnx.Dropout({{.*}}seed = 7 : i64
//       CHECK:   onnx.Dropout({{.*}}) :
func.func @seeds(%x: tensor<4xf32>, %ratio: tensor<f32>) -> tensor<4xf32> {
  %w = onnx.initializer dense<1.0> : tensor<4xf32> {onnx.outputs = ["w"]}
  %yes = onnx.Constant() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %0 = onnx.Mul(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Dropout(%0, %ratio, %yes) {onnx.name = "drop"} : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  %2 = onnx.Dropout(%1, %ratio, %yes) : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  %3 = onnx.Dropout(%2, %ratio, %yes) {seed = 7 : i64} : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  %4 = onnx.Dropout(%3, %ratio) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
