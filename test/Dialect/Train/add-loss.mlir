// RUN: split-file %s %t
// RUN: amp-opt %t/ce.mlir --train-add-loss=config=%t/ce.json | FileCheck %t/ce.mlir
// RUN: amp-opt %t/sum.mlir --train-add-loss=config=%t/sum.json | FileCheck %t/sum.mlir
// RUN: amp-opt %t/own.mlir --train-add-loss=config=%t/own.json | FileCheck %t/own.mlir

//--- ce.json
{"loss": {"softmax_cross_entropy": {"logits": "logits", "labels": "y", "ignore_index": -1, "class_axis": -1}}, "optimizer": {"sgd": {"lr": 1}}}
//--- ce.mlir
// Classes in the last dimension: one row per label. Roles are set, the loss comes first.
// CHECK-LABEL: func.func @cross_entropy(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<2x4x3xf32> {onnx.name = "x", train.role = "input"}, %[[Y:[a-z0-9_]+]]: tensor<2x4xi64> {onnx.name = "y", train.role = "label"})
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<2x4x3xf32> {onnx.name = "logits", train.role = "output"})
// CHECK:         %[[Z:[a-z0-9_]+]] = onnx.Neg(%[[X]])
// CHECK:         %[[ROWS:[a-z0-9_]+]] = onnx.Reshape(%[[Z]], %{{.+}}) : {{.+}} -> tensor<8x3xf32>
// CHECK:         %[[LABELS:[a-z0-9_]+]] = onnx.Reshape(%[[Y]], %{{.+}}) : {{.+}} -> tensor<8xi64>
// CHECK:         %[[LOSS:[a-z0-9_]+]] = onnx.SoftmaxCrossEntropyLoss(%[[ROWS]], %[[LABELS]]) {ignore_index = -1 : i64, onnx.name = "train.loss.0", reduction = "mean"}
// CHECK:         return %[[LOSS]], %[[Z]]
func.func @cross_entropy(%x: tensor<2x4x3xf32> {onnx.name = "x"}) -> (tensor<2x4x3xf32> {onnx.name = "logits"}) {
  %0 = onnx.Neg(%x) : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

//--- sum.json
{"loss": {"sum": [{"output": "aux", "weight": 0.25}, {"mse": {"logits": "hidden", "labels": "target", "reduction": "sum"}}]}, "outputs": ["out"], "optimizer": {"sgd": {"lr": 1}}}
//--- sum.mlir
// A weighted sum, of an output and of a value inside; an input that holds the labels is used; only `out` is kept.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME:    %[[X:[a-z0-9_]+]]: tensor<4xf32> {onnx.name = "x", train.role = "input"}, %[[T:[a-z0-9_]+]]: tensor<4xf32> {onnx.name = "target", train.role = "label"})
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<4xf32> {onnx.name = "out", train.role = "output"})
// CHECK:         %[[AUX:[a-z0-9_]+]] = onnx.ReduceMean(%{{.+}}) {keepdims = 0 : i64, onnx.name = "train.loss.mean"
// CHECK:         %[[WEIGHTED:[a-z0-9_]+]] = onnx.Mul(%[[AUX]],
// CHECK:         %[[D:[a-z0-9_]+]] = onnx.Sub(%{{.+}}, %[[T]])
// CHECK:         %[[SQUARES:[a-z0-9_]+]] = onnx.Mul(%[[D]], %[[D]])
// CHECK:         %[[MSE:[a-z0-9_]+]] = onnx.ReduceSum(%[[SQUARES]])
// CHECK:         %[[SUM:[a-z0-9_]+]] = onnx.Add(%[[WEIGHTED]], %[[MSE]])
// CHECK:         return %[[SUM]], %{{.+}} : tensor<f32>, tensor<4xf32>
func.func @sum(%x: tensor<4xf32> {onnx.name = "x"}, %t: tensor<4xf32> {onnx.name = "target"}) -> (tensor<f32> {onnx.name = "aux"}, tensor<4xf32> {onnx.name = "out"}, tensor<4xf32> {onnx.name = "other"}) {
  %0 = onnx.Abs(%x) {onnx.outputs = ["hidden"]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.ReduceMean(%0) {keepdims = 0 : i64, onnx.name = "mean"} : (tensor<4xf32>) -> tensor<f32>
  return %1, %0, %x : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

//--- own.json
{"loss": "cost", "optimizer": {"sgd": {"lr": 1}}}
//--- own.mlir
// A loss of one element becomes one of rank 0, and is not an output any more.
// CHECK-LABEL: func.func @own(
// CHECK-SAME:    -> (tensor<f32> {onnx.name = "loss", train.role = "loss"}, tensor<2xf32> {onnx.name = "y", train.role = "output"})
// CHECK:         %[[COST:[a-z0-9_]+]] = onnx.ReduceMean({{.+}} {onnx.name = "train.loss.1"} : (tensor<2xf32>) -> tensor<1xf32>
// CHECK:         %[[LOSS:[a-z0-9_]+]] = onnx.Reshape(%[[COST]], {{.+}} -> tensor<f32>
// CHECK:         return %[[LOSS]], %{{.+}} : tensor<f32>, tensor<2xf32>
func.func @own(%x: tensor<2xf32>) -> (tensor<2xf32> {onnx.name = "y"}, tensor<1xf32> {onnx.name = "cost"}) {
  %0 = onnx.ReduceMean(%x) : (tensor<2xf32>) -> tensor<1xf32>
  return %x, %0 : tensor<2xf32>, tensor<1xf32>
}
