// RUN: amp-opt %s --split-input-file --verify-diagnostics

func.func @cast_changes_the_shape(%x: tensor<4xf32>) -> tensor<5xf16> {
  // expected-error @below {{expects a result of type 'tensor<4xf16>', but got 'tensor<5xf16>'}}
  %0 = amp.cast %x : tensor<4xf32> to tensor<5xf16>
  return %0 : tensor<5xf16>
}

// -----

func.func @cast_drops_the_names(%x: tensor<?xf32, #onnx.dims<"N">>) -> tensor<?xf16> {
  // expected-error @below {{expects a result of type 'tensor<?xf16, #onnx.dims<"N">>', but got 'tensor<?xf16>'}}
  %0 = amp.cast %x : tensor<?xf32, #onnx.dims<"N">> to tensor<?xf16>
  return %0 : tensor<?xf16>
}

// -----

func.func @cast_of_integers(%x: tensor<4xi32>) -> tensor<4xf16> {
  // expected-error @below {{operand #0 must be tensor of 16-bit float or bfloat16 type or 32-bit float values}}
  %0 = amp.cast %x : tensor<4xi32> to tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

func.func @clamp_of_a_widening_cast(%x: tensor<4xf16>) -> tensor<4xf32> {
  // expected-error @below {{expects no 'clamp' where every value of 'tensor<4xf16>' fits in 'tensor<4xf32>'}}
  %0 = amp.cast %x clamp : tensor<4xf16> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @autocast_to_a_wide_type() {
  // expected-error @below {{attribute 'dtype' failed to satisfy constraint: any type attribute of f16 or bf16}}
  amp.autocast dtype = f64 {
  }
  return
}

// -----

func.func @yield_of_another_type(%x: tensor<4xf32>) -> tensor<4xf16> {
  // expected-error @below {{along control flow edge}}
  %0 = amp.autocast -> tensor<4xf16> {
    // expected-note @below {{region branch point}}
    amp.yield %x : tensor<4xf32>
  }
  return %0 : tensor<4xf16>
}

// -----

func.func @yield_outside_of_a_region() {
  // expected-error @below {{expects parent op 'amp.autocast'}}
  amp.yield
}

// -----

func.func @decision_with_too_few_operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects one decided type per operand, but got 1 for 2 operands}}
  %0 = onnx.Add(%x, %x) {amp.decision = #amp.decision<promote (f16) -> (f16), rule = table>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @decision_about_an_integer(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{expects no decision for result #0 of type 'tensor<4xi32>', but got 'f16'}}
  %0 = onnx.Neg(%x) {amp.decision = #amp.decision<follow (_) -> (f16), rule = table>} : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @decision_that_is_a_string(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expects 'amp.decision' to be #amp.decision<...>, but got "narrow"}}
  %0 = onnx.Neg(%x) {amp.decision = "narrow"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has an unknown attribute 'amp.decisions'}}
  %0 = onnx.Neg(%x) {amp.decisions = "narrow"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{expects 'amp.removed_casts' to be an i64 on a function, but got 1 : i32}}
func.func @count_of_another_type() attributes {amp.removed_casts = 1 : i32} {
  return
}

// -----

// expected-error @below {{expects 'amp.report' to be a text on a module, but got 1 : i64}}
module attributes {amp.report = 1 : i64} {
}

// -----

// expected-error @below {{expects 'amp.findings' to be a text on a module, but got "{}"}}
func.func @findings_of_a_function() attributes {amp.findings = "{}"} {
  return
}

// -----

// expected-error @below {{expects f16, bf16, f32 or _ for an operand or result, but got 'f64'}}
#d = #amp.decision<wide (f64) -> (f64), rule = table>

// -----

// expected-error @below {{failed to parse Amp_DecisionAttr parameter 'opClass'}}
// expected-error @below {{expects a class of a policy (narrow, wide, promote, follow, move or never), but got 'slim'}}
#d = #amp.decision<slim (f16) -> (f16), rule = table>
