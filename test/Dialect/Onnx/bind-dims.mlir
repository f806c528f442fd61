// RUN: amp-opt %s --onnx-bind-dims=bind=batch=32,seq=8 --split-input-file | FileCheck %s

// Sizes reach results, and the target of a reshape that is computed from them becomes a constant.
// CHECK-LABEL: func.func @heads
//  CHECK-SAME:   (%[[X:.+]]: tensor<32x8x12xf32>) -> tensor<32x8x3x4xf32>
//       CHECK:   %[[TARGET:.+]] = onnx.Constant() {value = dense<[32, 8, 3, 4]> : tensor<4xi64>}
//       CHECK:   onnx.Reshape(%[[X]], %[[TARGET]])
func.func @heads(%x: tensor<?x?x12xf32, #onnx.dims<"batch", "seq", "">>) -> tensor<?x?x?x?xf32> {
  %zero = onnx.Constant() {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %two = onnx.Constant() {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %rest = onnx.Constant() {value = dense<[3, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %shape = onnx.Shape(%x) : (tensor<?x?x12xf32, #onnx.dims<"batch", "seq", "">>) -> tensor<3xi64>
  %lead = onnx.Slice(%shape, %zero, %two) : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
  %target = onnx.Concat(%lead, %rest) {axis = 0 : i64} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?xi64>
  %y = onnx.Reshape(%x, %target) : (tensor<?x?x12xf32, #onnx.dims<"batch", "seq", "">>, tensor<?xi64>) -> tensor<?x?x?x?xf32>
  return %y : tensor<?x?x?x?xf32>
}

// -----

// A name is replaced also where inference cannot follow.
// CHECK-LABEL: func.func @custom
//       CHECK:   -> tensor<32x8xf32>
func.func @custom(%x: tensor<?x?xf32, #onnx.dims<"batch", "seq">>) -> tensor<?x?xf32, #onnx.dims<"batch", "seq">> {
  %y = onnx.node "com.example" "Mystery" (%x) : (tensor<?x?xf32, #onnx.dims<"batch", "seq">>) -> tensor<?x?xf32, #onnx.dims<"batch", "seq">>
  return %y : tensor<?x?xf32, #onnx.dims<"batch", "seq">>
}

// -----

// A weight keeps its name: what moves it about is not folded.
// CHECK-LABEL: func.func @weight
//       CHECK:   %[[W:.+]] = onnx.initializer dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> {onnx.outputs = ["norm.weight"]}
//       CHECK:   %[[COLUMN:.+]] = onnx.Unsqueeze(%[[W]],
//       CHECK:   onnx.Mul(%{{.+}}, %[[COLUMN]]) {{.+}} -> tensor<32x2x8xf32>
func.func @weight(%x: tensor<?x2x?xf32, #onnx.dims<"batch", "", "seq">>) -> tensor<?x2x?xf32> {
  %w = onnx.initializer dense<[1.0, 2.0]> : tensor<2xf32> {onnx.outputs = ["norm.weight"]}
  %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %column = onnx.Unsqueeze(%w, %axes) : (tensor<2xf32>, tensor<1xi64>) -> tensor<2x1xf32>
  %y = onnx.Mul(%x, %column) : (tensor<?x2x?xf32, #onnx.dims<"batch", "", "seq">>, tensor<2x1xf32>) -> tensor<?x2x?xf32>
  return %y : tensor<?x2x?xf32>
}
