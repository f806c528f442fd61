// RUN: amp-opt %s --onnx-infer-types --split-input-file --verify-diagnostics

// Every wrong op is told, not only the first.
func.func @two_errors(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error @below {{'onnx.MatMul' op of node 'head/matmul' has operands or attributes that its operator does not take: Incompatible dimensions for matrix multiplication}}
  %0 = onnx.MatMul(%x, %y) {onnx.name = "head/matmul"} : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  // expected-error @below {{'onnx.Add' op has operands or attributes that its operator does not take: Incompatible dimensions}}
  %1 = onnx.Add(%x, %y) : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @in_a_body(%c: tensor<i1>, %x: tensor<2x3xf32>) {
  %0 = onnx.If(%c) ({
    // expected-error @below {{'onnx.Concat' op of node 'cat' has operands or attributes that its operator does not take: axis must be in [-rank, rank-1].}}
    %1 = onnx.Concat(%x, %x) {axis = 4 : i64, onnx.name = "cat"} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<*xf32>
    onnx.yield %1 : tensor<*xf32>
  }, {
    onnx.yield %x : tensor<2x3xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  return
}
