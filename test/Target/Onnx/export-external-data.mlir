// RUN: rm -rf %t && mkdir %t
// RUN: amp-opt %s --external-data-threshold=1000 -o %t/m.onnx
// RUN: %python -c "import onnx, sys; onnx.checker.check_model(sys.argv[1]); m = onnx.load(sys.argv[1]); print(*(f'{t.name} {sum(onnx.numpy_helper.to_array(t))}' for t in m.graph.initializer), sep='\n')" %t/m.onnx | FileCheck %s
// RUN: ls -s -A %t | FileCheck %s --check-prefix=FILES
// RUN: not amp-opt %s --external-data-threshold=1000 --emit=onnx -o - 2>&1 | FileCheck %s --check-prefix=PIPE
// RUN: amp-opt %t/m.onnx -o %t/again.onnx && %python -c "import onnx, sys; assert onnx.load(sys.argv[1]).graph.initializer[0].data_location == 0" %t/again.onnx

// Large tensors go to a file beside the model, which ONNX's checker and loader
// find; small ones stay. Narrowed ones are narrowed there, too.
//      CHECK: wide 600.0
// CHECK-NEXT: narrow 900.0
// CHECK-NEXT: small 2.0
//  FILES-DAG: m.onnx{{$}}
//  FILES-DAG: m.onnx.data
//  FILES-NOT: tmp
//       PIPE: cannot be written to standard output
func.func @f(%x: tensor<300xf32> {onnx.name = "x"})
    -> (tensor<300xf32> {onnx.name = "a"}, tensor<600xf16> {onnx.name = "b"}, tensor<300xf32> {onnx.name = "c"}) {
  %0 = onnx.initializer dense<2.0> : tensor<300xf32> {onnx.outputs = ["wide"]}
  %1 = onnx.initializer dense<1.5> : tensor<600xf32> {onnx.outputs = ["narrow"]}
  %2 = onnx.initializer dense<2.0> : tensor<1xf32> {onnx.outputs = ["small"]}
  %3 = amp.cast %1 : tensor<600xf32> to tensor<600xf16>
  %4 = onnx.Add(%x, %0) {onnx.outputs = ["a"]} : (tensor<300xf32>, tensor<300xf32>) -> tensor<300xf32>
  %5 = onnx.Abs(%3) {onnx.outputs = ["b"]} : (tensor<600xf16>) -> tensor<600xf16>
  %6 = onnx.Add(%x, %2) {onnx.outputs = ["c"]} : (tensor<300xf32>, tensor<1xf32>) -> tensor<300xf32>
  return %4, %5, %6 : tensor<300xf32>, tensor<600xf16>, tensor<300xf32>
}
