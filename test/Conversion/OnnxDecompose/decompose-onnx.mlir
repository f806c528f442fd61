// RUN: amp-opt %s --decompose-onnx --split-input-file | FileCheck %s
// RUN: amp-opt %s --decompose-onnx=keep=Softmax --split-input-file | FileCheck %s --check-prefix=KEEP

// Half types are widened once, and rounded once at the end.
// CHECK-LABEL: func.func @softmax
//       CHECK:   %[[X:.+]] = amp.cast %{{.+}} : tensor<2x4xf16> to tensor<2x4xf32>
//       CHECK:   %[[MAX:.+]] = onnx.ReduceMax(%[[X]],
//       CHECK:   %[[SHIFTED:.+]] = onnx.Sub(%[[X]], %[[MAX]])
//       CHECK:   %[[EXP:.+]] = onnx.Exp(%[[SHIFTED]])
//       CHECK:   %[[SUM:.+]] = onnx.ReduceSum(%[[EXP]],
//       CHECK:   %[[P:.+]] = onnx.Div(%[[EXP]], %[[SUM]])
//       CHECK:   %[[Y:.+]] = amp.cast %[[P]] {onnx.outputs = ["y"]} : tensor<2x4xf32> to tensor<2x4xf16>
//       CHECK:   return %[[Y]]
//  KEEP-LABEL: func.func @softmax
//        KEEP:   onnx.Softmax
func.func @softmax(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  %y = onnx.Softmax(%x) {onnx.outputs = ["y"]} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %y : tensor<2x4xf16>
}

// -----

// The rows of all batches are one product with a matrix on the right.
// CHECK-LABEL: func.func @flat_rows
//       CHECK:   %[[ROWS:.+]] = onnx.Reshape
//       CHECK:   %[[P:.+]] = train.matmul %[[ROWS]], %{{.+}} : (tensor<6x4xf16>, tensor<4x5xf16>) -> tensor<6x5xf16>
//       CHECK:   onnx.Reshape(%[[P]],
func.func @flat_rows(%a: tensor<2x3x4xf16>, %b: tensor<4x5xf16>) -> tensor<2x3x5xf16> {
  %y = onnx.MatMul(%a, %b) : (tensor<2x3x4xf16>, tensor<4x5xf16>) -> tensor<2x3x5xf16>
  return %y : tensor<2x3x5xf16>
}

// -----

// The bias is added before the product is rounded.
// CHECK-LABEL: func.func @gemm_bias
//       CHECK:   %[[P:.+]] = train.matmul %{{.+}}, %{{.+}} {transB} : (tensor<2x4xf16>, tensor<3x4xf16>) -> tensor<2x3xf32>
//       CHECK:   %[[C:.+]] = amp.cast %{{.+}} : tensor<3xf16> to tensor<3xf32>
//       CHECK:   %[[SUM:.+]] = onnx.Add(%[[P]], %[[C]])
//       CHECK:   amp.cast %[[SUM]] : tensor<2x3xf32> to tensor<2x3xf16>
func.func @gemm_bias(%a: tensor<2x4xf16>, %b: tensor<3x4xf16>, %c: tensor<3xf16>) -> tensor<2x3xf16> {
  %y = onnx.Gemm(%a, %b, %c) {transB = 1 : i64} : (tensor<2x4xf16>, tensor<3x4xf16>, tensor<3xf16>) -> tensor<2x3xf16>
  return %y : tensor<2x3xf16>
}

// -----

// Integers are multiplied by no train.matmul.
// CHECK-LABEL: func.func @integer_product
//       CHECK:   onnx.MatMul
func.func @integer_product(%a: tensor<2x4xi64>, %b: tensor<4x3xi64>) -> tensor<2x3xi64> {
  %y = onnx.MatMul(%a, %b) : (tensor<2x4xi64>, tensor<4x3xi64>) -> tensor<2x3xi64>
  return %y : tensor<2x3xi64>
}

// -----

// All log probabilities are made only if somebody reads them.
// CHECK-LABEL: func.func @cross_entropy
//       CHECK:   onnx.GatherElements
//       CHECK:   onnx.Sub{{.+}} -> tensor<2xf32>
//   CHECK-NOT:   onnx.Sub
//       CHECK:   return
func.func @cross_entropy(%x: tensor<2x4xf32>, %labels: tensor<2xi64>) -> tensor<f32> {
  %loss, %log = onnx.SoftmaxCrossEntropyLoss(%x, %labels) : (tensor<2x4xf32>, tensor<2xi64>) -> (tensor<f32>, tensor<2x4xf32>)
  return %loss : tensor<f32>
}

// -----

// A composite that nobody reads goes.
// CHECK-LABEL: func.func @unused
//  CHECK-NEXT:   return
func.func @unused(%x: tensor<2x4xf32>) {
  %y = onnx.Gelu(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}
