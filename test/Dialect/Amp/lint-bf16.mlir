// RUN: amp-opt %s --amp-lint="dtype=bf16 file=%t.json" --verify-diagnostics
// RUN: FileCheck %s --input-file=%t.json --check-prefix=JSON
// RUN: amp-opt %s --amp-lint="dtype=bf16 file=%t.json" 2>/dev/null | FileCheck %s

// bf16 has the range of float32, nearly, and fewer digits.

// CHECK-LABEL: func.func @bf16
//       CHECK:   onnx.Max
// JSON:      "findings": [
// JSON-NEXT:   {"rule":"overflowing-mask","name":"mask","op":"Add","message":"'mask' (Add): -3.40282e+38 becomes infinite in bf16
// JSON-NEXT:   {"rule":"long-sum","name":"","op":"ReduceSum"
// JSON-NEXT:  ]
func.func @bf16(%x: tensor<300xf32>) -> (tensor<300xf32>, tensor<1xf32>, tensor<300xf32>) {
  %low = onnx.initializer dense<0xFF7FFFFF> : tensor<f32>
  %big = onnx.initializer dense<-1.0e9> : tensor<f32>
  %eps = onnx.initializer dense<1.0e-12> : tensor<f32>
  // expected-warning @below {{'mask' (Add): -3.40282e+38 becomes infinite in bf16 on the way to a Softmax, which gives NaN where all is masked; keep it in float32, set lossy-constants=clamp, or take a mask of -3.38e+38}}
  %a = onnx.Add(%x, %low) {onnx.name = "mask"} : (tensor<300xf32>, tensor<f32>) -> tensor<300xf32>
  %b = onnx.Add(%a, %big) : (tensor<300xf32>, tensor<f32>) -> tensor<300xf32>
  %p = onnx.Softmax(%b) : (tensor<300xf32>) -> tensor<300xf32>
  // expected-warning @below {{ReduceSum: sums 300 elements, and a sum held in bf16 stops counting ones at 256}}
  %s = onnx.ReduceSum(%p) : (tensor<300xf32>) -> tensor<1xf32>
  %g = onnx.Max(%x, %eps) : (tensor<300xf32>, tensor<f32>) -> tensor<300xf32>
  %d = onnx.Div(%x, %g) : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  return %p, %s, %d : tensor<300xf32>, tensor<1xf32>, tensor<300xf32>
}
