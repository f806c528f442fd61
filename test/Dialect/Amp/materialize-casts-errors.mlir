// RUN: amp-opt %s --amp-materialize-casts --split-input-file --verify-diagnostics

// expected-error @below {{expects operations with decisions, but none has one: run amp-assign-precision first}}
func.func @nothing_was_decided(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @carried_value_of_two_types(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects one type for the carried value of result #0, but its decision says 'f16' for the operand and 'f32' for the result}}
  %y = onnx.Loop(%n, %c, %x) ({
  ^bb0(%i: tensor<i64>, %cc: tensor<i1>, %v: tensor<4xf32>):
    onnx.yield %cc, %v : tensor<i1>, tensor<4xf32>
  }) {amp.decision = #amp.decision<follow (_, _, f16) -> (f32), rule = loop>} : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A decision that the operator's schema does not allow.
func.func @types_that_differ(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects one element type for type variable T, but got 'f16' and 'f32' (input 'B')}}
  %y = onnx.Add(%x, %x) {amp.decision = #amp.decision<promote (f16, f32) -> (f32), rule = file>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
