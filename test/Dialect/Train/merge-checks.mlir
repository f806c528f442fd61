// RUN: amp-opt %s --train-merge-checks | FileCheck %s

// Three checks, joined two by two, become one; gradients keep their order.
// CHECK-LABEL: func.func @merge_three(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<4xf32>, %[[B:[a-z0-9]+]]: tensor<2xf32>, %[[C:[a-z0-9]+]]: tensor<3xf16>)
// CHECK-NEXT:    %[[FOUND:.+]], %[[SQUARES:.+]] = train.check_gradients %[[A]], %[[B]], %[[C]] :
// CHECK-NEXT:    return %[[FOUND]], %[[SQUARES]]
func.func @merge_three(%a: tensor<4xf32>, %b: tensor<2xf32>, %c: tensor<3xf16>) -> (tensor<f32>, tensor<f32>) {
  %f0, %s0 = train.check_gradients %a : tensor<4xf32>
  %f1, %s1 = train.check_gradients %b : tensor<2xf32>
  %f01 = onnx.Max(%f0, %f1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s01 = onnx.Add(%s0, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %f2, %s2 = train.check_gradients %c : tensor<3xf16>
  %f = onnx.Max(%f01, %f2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = onnx.Add(%s01, %s2) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %f, %s : tensor<f32>, tensor<f32>
}

// Flags of single gradients are kept.
// CHECK-LABEL: func.func @flags(
// CHECK:         %{{.+}}, %{{.+}}, %[[IN:.+]]:2 = train.check_gradients
// CHECK:         return %{{.+}}, %{{.+}}, %[[IN]]#0, %[[IN]]#1
func.func @flags(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %f0, %s0, %i0 = train.check_gradients %a : tensor<4xf32> flags tensor<f32>
  %f1, %s1, %i1 = train.check_gradients %b : tensor<2xf32> flags tensor<f32>
  %f = onnx.Max(%f0, %f1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = onnx.Add(%s0, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %f, %s, %i0, %i1 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// A check whose flag is used by itself stays, as does one whose sums are kept apart.
// CHECK-LABEL: func.func @keep_shared_check(
// CHECK-COUNT-2: train.check_gradients
func.func @keep_shared_check(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %f0, %s0 = train.check_gradients %a : tensor<4xf32>
  %f1, %s1 = train.check_gradients %b : tensor<2xf32>
  %f = onnx.Max(%f0, %f1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %s = onnx.Add(%s0, %s1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %f, %s, %f0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @keep_separate_sums(
// CHECK-COUNT-2: train.check_gradients
func.func @keep_separate_sums(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %f0, %s0 = train.check_gradients %a : tensor<4xf32>
  %f1, %s1 = train.check_gradients %b : tensor<2xf32>
  %f = onnx.Max(%f0, %f1) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %f, %s0, %s1 : tensor<f32>, tensor<f32>, tensor<f32>
}
