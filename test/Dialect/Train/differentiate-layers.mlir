// RUN: amp-opt %s --train-differentiate --split-input-file | FileCheck %s

// Automatic padding becomes explicit; the weight's gradient is float32, the bias is summed in float32.
// CHECK-LABEL: func.func @conv(
// CHECK: %[[G:.+]] = onnx.Reshape({{.*}} -> tensor<1x2x4xf16>
// CHECK: train.conv_weight_gradient %arg0, %[[G]] {{.*}}pads = array<i64: 0, 1>, strides = array<i64: 2>} : (tensor<1x3x8xf16>, tensor<1x2x4xf16>) -> tensor<2x3x3xf32>
// CHECK: %[[WIDE:.+]] = amp.cast %[[G]] : tensor<1x2x4xf16> to tensor<1x2x4xf32>
// CHECK: onnx.ReduceSum(%[[WIDE]]
// CHECK-NOT: train.conv_input_gradient
func.func @conv(%x: tensor<1x3x8xf16>, %w: tensor<2x3x3xf32> {train.role = "parameter"}, %b: tensor<2xf32> {train.role = "parameter"},
                %r: tensor<8x1xf16>) -> (tensor<1x1xf16> {train.role = "loss"}) {
  %w16 = amp.cast %w : tensor<2x3x3xf32> to tensor<2x3x3xf16>
  %b16 = amp.cast %b : tensor<2xf32> to tensor<2xf16>
  %y = onnx.Conv(%x, %w16, %b16) {auto_pad = "SAME_UPPER", strides = array<i64: 2>} : (tensor<1x3x8xf16>, tensor<2x3x3xf16>, tensor<2xf16>) -> tensor<1x2x4xf16>
  %shape = onnx.Constant() {value = dense<[1, 8]> : tensor<2xi64>} : () -> tensor<2xi64>
  %flat = onnx.Reshape(%y, %shape) : (tensor<1x2x4xf16>, tensor<2xi64>) -> tensor<1x8xf16>
  %loss = onnx.MatMul(%flat, %r) : (tensor<1x8xf16>, tensor<8x1xf16>) -> tensor<1x1xf16>
  return %loss : tensor<1x1xf16>
}

// -----

// The seed enters the loss in float32; the scores get their cotangent in one rounding.
// CHECK-LABEL: func.func @cross_entropy(
// CHECK: %[[SEED:.+]] = train.seed : tensor<f32>
// CHECK: %[[D:.+]] = train.softmax_cross_entropy_gradient mean %{{.+}}, %arg1 loss(%[[SEED]] : tensor<f32>) {ignore_index = -1 : i64} : tensor<4x3xf32>, tensor<4xi64>
// CHECK: amp.cast %[[D]] : tensor<4x3xf32> to tensor<4x3xf16>
func.func @cross_entropy(%x: tensor<4x3xf16> {train.role = "parameter"}, %t: tensor<4xi64>) -> (tensor<f32> {train.role = "loss"}) {
  %wide = amp.cast %x : tensor<4x3xf16> to tensor<4x3xf32>
  %loss = onnx.SoftmaxCrossEntropyLoss(%wide, %t) {ignore_index = -1 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Running statistics neither give nor take cotangents.
// CHECK-LABEL: func.func @batch_norm(
// CHECK: train.norm_gradient %arg0, %{{.+}} scale(%{{.+}} : tensor<3xf32>) {axes = array<i64: 0>, centered, epsilon = {{.*}}} : tensor<4x3xf32>, tensor<3xf32>
// CHECK: return %{{.+}}, %{{.+}}, %[[DSCALE:.+]], %[[ZERO:.+]] : tensor<1x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
func.func @batch_norm(%x: tensor<4x3xf32>, %scale: tensor<3xf32> {train.role = "parameter"}, %b: tensor<3xf32>, %mean: tensor<3xf32> {train.role = "parameter"},
                      %var: tensor<3xf32>, %r: tensor<12x1xf32>) -> (tensor<1x1xf32> {train.role = "loss"}, tensor<3xf32>) {
  %y, %next, %v = onnx.BatchNormalization(%x, %scale, %b, %mean, %var) {training_mode = 1 : i64}
      : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
  %shape = onnx.Constant() {value = dense<[1, 12]> : tensor<2xi64>} : () -> tensor<2xi64>
  %flat = onnx.Reshape(%y, %shape) : (tensor<4x3xf32>, tensor<2xi64>) -> tensor<1x12xf32>
  %loss = onnx.MatMul(%flat, %r) : (tensor<1x12xf32>, tensor<12x1xf32>) -> tensor<1x1xf32>
  return %loss, %next : tensor<1x1xf32>, tensor<3xf32>
}
