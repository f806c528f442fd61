// RUN: amp-opt %s --train-differentiate --split-input-file | FileCheck %s
// RUN: amp-opt %s --train-differentiate=half-weight-gradients --split-input-file | FileCheck %s --check-prefix=HALF

// A value used three times: contributions of a half type are added in float32 and rounded once.
// CHECK-LABEL: func.func @fan_in(
//       CHECK:   %[[A:.+]] = onnx.Mul
//       CHECK:   amp.cast {{.*}} : tensor<4xf16> to tensor<4xf32>
//       CHECK:   amp.cast {{.*}} : tensor<4xf16> to tensor<4xf32>
//       CHECK:   amp.cast {{.*}} : tensor<4xf16> to tensor<4xf32>
//       CHECK:   %[[S:.+]] = onnx.Add({{.*}}tensor<4xf32>
//       CHECK:   %[[T:.+]] = onnx.Add(%[[S]], {{.*}}tensor<4xf32>
//       CHECK:   %[[G:.+]] = amp.cast %[[T]] : tensor<4xf32> to tensor<4xf16>
//       CHECK:   return %{{.+}}, %[[G]]
// Autograd adds them pairwise in the half type.
//  HALF-LABEL: func.func @fan_in(
//    HALF-NOT:   onnx.Add({{.*}}tensor<4xf32>
//        HALF:   return
func.func @fan_in(%x: tensor<4xf16> {onnx.name = "x", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = onnx.Sin(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %1 = onnx.Cos(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %2 = onnx.Exp(%x) : (tensor<4xf16>) -> tensor<4xf16>
  %3 = onnx.Mul(%0, %1) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %4 = onnx.Mul(%3, %2) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %5 = amp.cast %4 : tensor<4xf16> to tensor<4xf32>
  %6 = onnx.ReduceSum(%5) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// -----

// The gradient of a float32 weight that is used in float16 leaves its product in float32 and is not rounded on its way through
// the cast. The activation's is float16.
// CHECK-LABEL: func.func @wide_weight(
//       CHECK:   train.matmul {{.*}} {transB} : (tensor<8x3xf16>, tensor<4x3xf16>) -> tensor<8x4xf16>
//       CHECK:   %[[DW:.+]] = train.matmul {{.*}} {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf32>
//       CHECK:   return %{{.+}}, %{{.+}}, %[[DW]] : tensor<f32>, tensor<8x4xf16>, tensor<4x3xf32>
//  HALF-LABEL: func.func @wide_weight(
//        HALF:   %[[DW:.+]] = train.matmul {{.*}} {transA} : (tensor<8x4xf16>, tensor<8x3xf16>) -> tensor<4x3xf16>
//        HALF:   %[[CAST:.+]] = amp.cast %[[DW]] : tensor<4x3xf16> to tensor<4x3xf32>
//        HALF:   return %{{.+}}, %{{.+}}, %[[CAST]]
func.func @wide_weight(%x: tensor<8x4xf16> {train.role = "parameter"}, %w: tensor<4x3xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = amp.cast %w : tensor<4x3xf32> to tensor<4x3xf16>
  %sin = onnx.Sin(%x) : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %1 = onnx.MatMul(%sin, %0) : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
  %2 = amp.cast %1 : tensor<8x3xf16> to tensor<8x3xf32>
  %3 = onnx.ReduceSumSquare(%2) {keepdims = 0 : i64} : (tensor<8x3xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// A bias is summed in float32 and stays so.
// CHECK-LABEL: func.func @wide_bias(
//       CHECK:   train.seed
//       CHECK:   %[[G:.+]] = amp.cast {{.*}} : tensor<8x3xf16> to tensor<8x3xf32>
//       CHECK:   %[[S:.+]] = onnx.ReduceSum(%[[G]],
//       CHECK:   %[[R:.+]] = onnx.Reshape(%[[S]],
//       CHECK:   return %{{.+}}, %[[R]] : tensor<f32>, tensor<3xf32>
//  HALF-LABEL: func.func @wide_bias(
//        HALF:   onnx.ReduceSum({{.*}}tensor<8x3xf32>
//        HALF:   amp.cast {{.*}} : tensor<3xf32> to tensor<3xf16>
func.func @wide_bias(%x: tensor<8x3xf16>, %b: tensor<3xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = amp.cast %b : tensor<3xf32> to tensor<3xf16>
  %1 = onnx.Add(%x, %0) : (tensor<8x3xf16>, tensor<3xf16>) -> tensor<8x3xf16>
  %2 = amp.cast %1 : tensor<8x3xf16> to tensor<8x3xf32>
  %3 = onnx.ReduceSumSquare(%2) {keepdims = 0 : i64} : (tensor<8x3xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Tied weights: the embedding's rows and the head's product are added in float32.
// CHECK-LABEL: func.func @tied(
//   CHECK-DAG:   %[[HEAD:.+]] = train.matmul {{.*}} -> tensor<4x7xf32>
//   CHECK-DAG:   %[[HEADT:.+]] = onnx.Transpose(%[[HEAD]])
//   CHECK-DAG:   %[[ROWS:.+]] = onnx.ScatterND({{.*}}reduction = "add"{{.*}} -> tensor<7x4xf32>
//       CHECK:   %[[SUM:.+]] = onnx.Add(%[[HEADT]], %[[ROWS]]) : (tensor<7x4xf32>, tensor<7x4xf32>)
//       CHECK:   return %{{.+}}, %[[SUM]]
func.func @tied(%w: tensor<7x4xf32> {train.role = "parameter"}, %ids: tensor<5xi64>) -> (tensor<f32> {train.role = "loss"}) {
  %0 = amp.cast %w : tensor<7x4xf32> to tensor<7x4xf16>
  %1 = onnx.Gather(%0, %ids) : (tensor<7x4xf16>, tensor<5xi64>) -> tensor<5x4xf16>
  %2 = onnx.Tanh(%1) : (tensor<5x4xf16>) -> tensor<5x4xf16>
  %3 = onnx.Transpose(%0) : (tensor<7x4xf16>) -> tensor<4x7xf16>
  %4 = onnx.MatMul(%2, %3) : (tensor<5x4xf16>, tensor<4x7xf16>) -> tensor<5x7xf16>
  %5 = amp.cast %4 : tensor<5x7xf16> to tensor<5x7xf32>
  %6 = onnx.ReduceSumSquare(%5) {keepdims = 0 : i64} : (tensor<5x7xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// -----

// What does not lead to the loss is not differentiated, nor what no parameter leads to; an unused parameter has a gradient of
// zeros. Operators without a rule may stand there.
// CHECK-LABEL: func.func @dead_branches(
//       CHECK:   onnx.NonMaxSuppression
//       CHECK:   train.seed
//   CHECK-NOT:   onnx.Cos
//       CHECK:   %[[GW:.+]] = onnx.Mul
//   CHECK-NOT:   onnx.Mul
//       CHECK:   %[[ZERO:.+]] = onnx.Constant() {value = dense<0.000000e+00> : tensor<4xf32>}
//       CHECK:   return %{{.+}}, %{{.+}}, %[[GW]], %[[ZERO]]
func.func @dead_branches(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}, %unused: tensor<4xf32> {onnx.name = "u", train.role = "parameter"},
                         %x: tensor<4xf32>, %boxes: tensor<1x2x4xf32>, %scores: tensor<1x1x2xf32>)
    -> (tensor<f32> {train.role = "loss"}, tensor<?x3xi64>) {
  %picked = onnx.NonMaxSuppression(%boxes, %scores) : (tensor<1x2x4xf32>, tensor<1x1x2xf32>) -> tensor<?x3xi64>
  %side = onnx.Sin(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %s = onnx.Sin(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = onnx.Mul(%w, %s) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.ReduceSum(%0) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %1, %picked : tensor<f32>, tensor<?x3xi64>
}

// -----

// Stop edges: through Floor, a comparison and integers nothing comes back, and it is not a missing rule.
// CHECK-LABEL: func.func @stop_edges(
//       CHECK:   train.seed
//   CHECK-NOT:   onnx.Floor
//       CHECK:   onnx.Where
//       CHECK:   return
func.func @stop_edges(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = onnx.Floor(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Less(%0, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = onnx.Where(%1, %w, %0) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = onnx.ReduceSum(%2) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Only results with a cotangent count: Split's others are zeros, made because Concat wants them.
// CHECK-LABEL: func.func @absent_cotangents(
//       CHECK:   %[[NONE:.+]] = onnx.Constant() {value = dense<0.000000e+00>
//       CHECK:   %[[ZEROS:.+]] = onnx.Expand(%[[NONE]], {{.*}} -> tensor<2xf32>
//       CHECK:   onnx.Concat(%{{.+}}, %[[ZEROS]])
func.func @absent_cotangents(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0:2 = onnx.Split(%w) {num_outputs = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %1 = onnx.ReduceSum(%0#0) {keepdims = 0 : i64} : (tensor<2xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The parts of a split weight meet in float32.
// CHECK-LABEL: func.func @split_weight(
//       CHECK:   onnx.Concat({{.*}} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x6xf32>
func.func @split_weight(%x: tensor<8x4xf16>, %w: tensor<4x6xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = amp.cast %w : tensor<4x6xf32> to tensor<4x6xf16>
  %1:2 = onnx.Split(%0) {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<4x6xf16>) -> (tensor<4x3xf16>, tensor<4x3xf16>)
  %2 = onnx.MatMul(%x, %1#0) : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
  %3 = onnx.MatMul(%x, %1#1) : (tensor<8x4xf16>, tensor<4x3xf16>) -> tensor<8x3xf16>
  %4 = onnx.Mul(%2, %3) : (tensor<8x3xf16>, tensor<8x3xf16>) -> tensor<8x3xf16>
  %5 = amp.cast %4 : tensor<8x3xf16> to tensor<8x3xf32>
  %6 = onnx.ReduceSum(%5) {keepdims = 0 : i64} : (tensor<8x3xf32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// -----

// The gradient says whose it is.
// CHECK-LABEL: func.func @names(
//  CHECK-SAME:   tensor<4xf32> {onnx.name = "grad.w", train.of = "w", train.role = "gradient"}
func.func @names(%w: tensor<4xf32> {onnx.name = "w", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = onnx.ReduceSumSquare(%w) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// Backward drops what forward dropped: the mask becomes a result.
// CHECK-LABEL: func.func @dropout(
//       CHECK:   %{{.+}}, %[[MASK:.+]] = onnx.Dropout(
//       CHECK:   onnx.Where(%[[MASK]],
func.func @dropout(%w: tensor<4xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %r = onnx.Constant() {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %t = onnx.Constant() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %0 = onnx.Dropout(%w, %r, %t) : (tensor<4xf32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  %1 = onnx.ReduceSum(%0) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Convolutions make the weight's gradient in float32; autograd would have rounded it.
// CHECK-LABEL: func.func @conv_weight(
//       CHECK:   %[[DW:.+]] = train.conv_weight_gradient {{.*}} -> tensor<2x3x3xf32>
//       CHECK:   return %{{.+}}, %[[DW]]
//  HALF-LABEL: func.func @conv_weight(
//        HALF:   %[[DW:.+]] = train.conv_weight_gradient
//        HALF:   %[[ROUNDED:.+]] = amp.cast %[[DW]] : tensor<2x3x3xf32> to tensor<2x3x3xf16>
//        HALF:   %[[R:.+]] = amp.cast %[[ROUNDED]] : tensor<2x3x3xf16> to tensor<2x3x3xf32>
//        HALF:   return %{{.+}}, %[[R]]
func.func @conv_weight(%x: tensor<1x3x8xf16>, %w: tensor<2x3x3xf32> {train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = amp.cast %w : tensor<2x3x3xf32> to tensor<2x3x3xf16>
  %1 = onnx.Conv(%x, %0) : (tensor<1x3x8xf16>, tensor<2x3x3xf16>) -> tensor<1x2x6xf16>
  %2 = amp.cast %1 : tensor<1x2x6xf16> to tensor<1x2x6xf32>
  %3 = onnx.ReduceSumSquare(%2) {keepdims = 0 : i64} : (tensor<1x2x6xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// No gradient passes where the frontend stops it: the second use is a constant to backward.
// CHECK-LABEL: func.func @stop_gradient(
//  CHECK-SAME:   %[[X:[a-z0-9]+]]: tensor<4xf32>
//       CHECK:   %[[STOPPED:.+]] = onnx.Identity(%[[X]])
//       CHECK:   %[[LOSS:.+]] = onnx.ReduceSum
//       CHECK:   %[[SEED:.+]] = train.seed
//       CHECK:   onnx.Mul(%{{.+}}, %[[STOPPED]])
//   CHECK-NOT:   onnx.Add
//       CHECK:   return %[[LOSS]]
func.func @stop_gradient(%x: tensor<4xf32> {onnx.name = "x", train.role = "parameter"}) -> (tensor<f32> {train.role = "loss"}) {
  %0 = onnx.Identity(%x) {train.stop_gradient} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Mul(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = onnx.ReduceSum(%1) {keepdims = 0 : i64} : (tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
