// RUN: amp-opt %s -o %t.onnx && %python %root/test/Inputs/print-model %t.onnx | FileCheck %s

// The public name stays with the public value; what had it before is named
// after it. Casts are named after what they read, and never like anything else,
// be it in a body.
//      CHECK: main_graph (float[N,4] x, bool c) => (float[N,4] y, float[N,4] z)
//      CHECK: [cast_x_f16_2] x_f16_2 = Cast <to: int = 10> (x)
// CHECK-NEXT: [relu] y_f16 = Relu (x_f16_2)
// CHECK-NEXT: [cast_y] y = Cast <to: int = 1> (y_f16)
// CHECK-NEXT: z = If (c)
//  CHECK-DAG: x_f16 = Neg (x)
//  CHECK-DAG: x_f16_1 = Abs (x)
func.func @main_graph(%x: tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "x"}, %c: tensor<i1> {onnx.name = "c"})
    -> (tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "y"}, tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "z"}) {
  %0 = amp.cast %x : tensor<?x4xf32, #onnx.dims<"N", "">> to tensor<?x4xf16, #onnx.dims<"N", "">>
  %1 = onnx.Relu(%0) {onnx.name = "relu", onnx.outputs = ["y"]}
    : (tensor<?x4xf16, #onnx.dims<"N", "">>) -> tensor<?x4xf16, #onnx.dims<"N", "">>
  %2 = amp.cast %1 : tensor<?x4xf16, #onnx.dims<"N", "">> to tensor<?x4xf32, #onnx.dims<"N", "">>
  %3 = onnx.If(%c) ({
    %4 = onnx.Neg(%x) {onnx.outputs = ["x_f16"]}
      : (tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
    onnx.yield %4 {graph = {name = "then", outputs = ["x_f16"]}} : tensor<?x4xf32, #onnx.dims<"N", "">>
  }, {
    %4 = onnx.Abs(%x) {onnx.outputs = ["x_f16_1"]}
      : (tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
    onnx.yield %4 {graph = {name = "else", outputs = ["x_f16_1"]}} : tensor<?x4xf32, #onnx.dims<"N", "">>
  }) {onnx.outputs = ["z"]} : (tensor<i1>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
  return %2, %3 : tensor<?x4xf32, #onnx.dims<"N", "">>, tensor<?x4xf32, #onnx.dims<"N", "">>
}
