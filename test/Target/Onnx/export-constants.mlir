// RUN: amp-opt %s -o %t.onnx && %python %root/test/Inputs/print-model %t.onnx | FileCheck %s

// Constants that are only read through casts to one type leave in that type;
// a small one with another reader leaves in both.
//     CHECK: <float16[2] only_casts = {{[^,]+}}, float[2] both = {3,4}, bfloat16[2] both_bf16 = {{[^,]+}}>
//     CHECK: a = Add (x, only_casts)
// CHECK-NOT: Cast
//     CHECK: b = Abs (both)
//     CHECK: d = Abs (both_bf16)
func.func @f(%x: tensor<2xf16> {onnx.name = "x"})
    -> (tensor<2xf16> {onnx.name = "a"}, tensor<2xf32> {onnx.name = "b"}, tensor<2xbf16> {onnx.name = "d"}) {
  %0 = onnx.initializer dense<[1.0, 2.0]> : tensor<2xf32> {onnx.outputs = ["only_casts"]}
  %1 = onnx.initializer dense<[3.0, 4.0]> : tensor<2xf32> {onnx.outputs = ["both"]}
  %2 = amp.cast %0 : tensor<2xf32> to tensor<2xf16>
  %3 = amp.cast %1 : tensor<2xf32> to tensor<2xbf16>
  %4 = onnx.Add(%x, %2) {onnx.outputs = ["a"]} : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
  %5 = onnx.Abs(%1) {onnx.outputs = ["b"]} : (tensor<2xf32>) -> tensor<2xf32>
  %6 = onnx.Abs(%3) {onnx.outputs = ["d"]} : (tensor<2xbf16>) -> tensor<2xbf16>
  return %4, %5, %6 : tensor<2xf16>, tensor<2xf32>, tensor<2xbf16>
}
