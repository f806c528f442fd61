// RUN: amp-opt %s --train-evaluate --split-input-file | FileCheck %s
// RUN: amp-opt %s --train-evaluate=outputs-only --split-input-file | FileCheck %s --check-prefix=OUTPUTS

// Running statistics are read, not written.
// CHECK-LABEL: func.func @norm
//  CHECK-SAME:   %[[X:.+]]: tensor<2x3x4xf32>, %[[S:.+]]: tensor<3xf32>, %[[M:.+]]: tensor<3xf32> {{.+}}, %[[V:.+]]: tensor<3xf32>
//  CHECK-NEXT:   %[[Y:.+]] = onnx.BatchNormalization(%[[X]], %[[S]], %[[S]], %[[M]], %[[V]]) {epsilon = 1.000000e-03 : f32, onnx.outputs = ["y"]}
//  CHECK-NEXT:   %[[LOSS:.+]] = onnx.ReduceMean(%[[Y]])
//  CHECK-NEXT:   return %[[LOSS]], %[[Y]]
// OUTPUTS-LABEL: func.func @norm
//       OUTPUTS:   return %{{.+}} : tensor<2x3x4xf32>
func.func @norm(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %m: tensor<3xf32> {train.role = "buffer"}, %v: tensor<3xf32> {train.role = "buffer"})
    -> (tensor<f32> {train.role = "loss"}, tensor<2x3x4xf32> {train.role = "output"},
        tensor<3xf32> {train.alias = 2 : i64, train.role = "buffer"}, tensor<3xf32> {train.alias = 3 : i64, train.role = "buffer"}) {
  %y, %mean, %var = onnx.BatchNormalization(%x, %s, %s, %m, %v) {epsilon = 1.000000e-03 : f32, training_mode = 1 : i64, onnx.outputs = ["y", "m", "v"]} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %loss = onnx.ReduceMean(%y) {keepdims = 0 : i64} : (tensor<2x3x4xf32>) -> tensor<f32>
  return %loss, %y, %mean, %var : tensor<f32>, tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// A layer that is applied twice starts from the same statistics both times.
// CHECK-LABEL: func.func @shared
//  CHECK-SAME:   %[[M:[^ ]+]]: tensor<3xf32> {train.role = "buffer"}, %[[V:[^ ]+]]: tensor<3xf32> {train.role = "buffer"})
//  CHECK-NEXT:   onnx.BatchNormalization({{.+}}, %[[M]], %[[V]])
//  CHECK-NEXT:   onnx.BatchNormalization({{.+}}, %[[M]], %[[V]])
func.func @shared(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>, %m: tensor<3xf32> {train.role = "buffer"}, %v: tensor<3xf32> {train.role = "buffer"})
    -> (tensor<2x3x4xf32>, tensor<3xf32> {train.alias = 2 : i64}, tensor<3xf32> {train.alias = 3 : i64}) {
  %y, %mean, %var = onnx.BatchNormalization(%x, %s, %s, %m, %v) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %z, %mean2, %var2 = onnx.BatchNormalization(%y, %s, %s, %mean, %var) {training_mode = 1 : i64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  return %z, %mean2, %var2 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @dropout
//       CHECK:   onnx.Dropout(%{{[^,]+}}, %{{[^,]+}}) :
func.func @dropout(%x: tensor<4xf32>) -> (tensor<4xf32> {train.role = "output"}) {
  %ratio = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %yes = onnx.Constant() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %y, %mask = onnx.Dropout(%x, %ratio, %yes) : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xi1>)
  return %y : tensor<4xf32>
}
