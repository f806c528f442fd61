// RUN: amp-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

func.func @too_few_types(%x: tensor<4xf32>) {
  // expected-error @below {{expected as many operand types as operands, but got 1 types and 2 operands}}
  %0 = onnx.Add(%x, %x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @absent_operand_with_type(%x: tensor<4xf32>) {
  // expected-error @below {{expected '_' for both the operand and its type when it is absent}}
  %0 = onnx.Clip(%x, _) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @absent_operand_that_is_required(%x: tensor<4xf32>) {
  // expected-error @below {{operands or results do not fit the formal parameters of Add}}
  %0 = onnx.Add(%x, _) : (tensor<4xf32>, _) -> tensor<4xf32>
  return
}

// -----

func.func @too_many_results(%x: tensor<4xf32>) {
  // expected-error @below {{operands or results do not fit the formal parameters of Relu}}
  %0, %1 = onnx.Relu(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @hole_in_a_variadic(%x: tensor<4xf32>) {
  // expected-error @below {{operands or results do not fit the formal parameters of Sum}}
  %0 = onnx.Sum(%x, _, %x) : (tensor<4xf32>, _, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @initializer_without_elements() {
  // expected-error @below {{expected an elements attribute, but got "text"}}
  %0 = onnx.initializer "text"
  return
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

// -----

func.func @type_not_allowed(%x: tensor<4xi64>) {
  // expected-error @below {{'onnx.Conv' op operand #0 must be tensor of bf16 or f16 or f32 or f64 values, but got 'tensor<4xi64>'}}
  %0 = onnx.Conv(%x, %x) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @inputs_disagree(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error @below {{'onnx.Add' op expects one element type for type variable T, but got 'f32' and 'f16' (input 'B')}}
  %0 = onnx.Add(%x, %y) : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @result_disagrees(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Relu' op expects one element type for type variable T, but got 'f32' and 'f16' (output 'Y')}}
  %0 = onnx.Relu(%x) : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @sequence_disagrees(%x: !onnx.seq<tensor<4xf32>>, %i: tensor<i64>) {
  // expected-error @below {{'onnx.SequenceErase' op expects one element type for type variable S, but got 'f32' and 'i64' (output 'output_sequence')}}
  %0 = onnx.SequenceErase(%x, %i) : (!onnx.seq<tensor<4xf32>>, tensor<i64>) -> !onnx.seq<tensor<4xi64>>
  return
}

// -----

// Nothing tells whether an operator takes it: what consumes it is an onnx.node.
func.func @unknown_operand(%x: !onnx.unknown) {
  // expected-error @below {{'onnx.Relu' op operand #0 must be}}
  %0 = onnx.Relu(%x) : (!onnx.unknown) -> tensor<4xf32>
  return
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

// -----

func.func @required_attribute(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Concat' op requires attribute 'axis'}}
  %0 = onnx.Concat(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @attribute_of_another_kind(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.LeakyRelu' op attribute 'alpha' failed to satisfy constraint: 32-bit float attribute}}
  %0 = onnx.LeakyRelu(%x) {alpha = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @names_of_results(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Relu' op expects 'onnx.outputs' to hold one string per result, but got ["a", "b"]}}
  %0 = onnx.Relu(%x) {onnx.outputs = ["a", "b"]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @name_that_is_no_string(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Relu' op expects 'onnx.name' to be a string, but got 1 : i64}}
  %0 = onnx.Relu(%x) {onnx.name = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @tensor_names(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Relu' op expects 'onnx.tensor_names' to be a dictionary, but got "a"}}
  %0 = onnx.Relu(%x) {onnx.tensor_names = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_attribute(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.Relu' op has an unknown attribute 'onnx.nmae'}}
  %0 = onnx.Relu(%x) {onnx.nmae = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{'func.func' op expects 'onnx.graph' to be a dictionary, but got "main"}}
func.func @graph() attributes {onnx.graph = "main"} {
  return
}

// -----

// expected-error @below {{'func.func' op expects 'onnx.name' to be a string, but got 1 : i64}}
func.func @argument_name(%x: tensor<4xf32> {onnx.name = 1 : i64}) {
  return
}

// -----

// expected-error @below {{'func.func' op has an unknown attribute 'onnx.label'}}
func.func @result_attribute(%x: tensor<4xf32>) -> (tensor<4xf32> {onnx.label = "y"}) {
  return %x : tensor<4xf32>
}

//===----------------------------------------------------------------------===//
// Operations that are not operators
//===----------------------------------------------------------------------===//

// -----

func.func @initializer_of_another_type() {
  // expected-error @below {{'onnx.initializer' op expects the type of its value, 'tensor<i64>', but got 'tensor<i32>'}}
  %0 = "onnx.initializer"() {value = dense<1> : tensor<i64>} : () -> tensor<i32>
  return
}

// -----

func.func @present_operands(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.node' op expects 'operand_present' to mark 1 positions as given}}
  onnx.node "com.example" "Foo"(%x) {operand_present = array<i1: false, false>} : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @present_results(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.node' op expects 'result_present' to mark 1 positions as given}}
  %0 = onnx.node "com.example" "Foo"(%x) {result_present = array<i1: true, true>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @regions_without_names(%x: tensor<4xf32>) {
  // expected-error @below {{'onnx.node' op expects one entry of 'region_names' per region, but got 0 for 1 regions}}
  onnx.node "com.example" "Foo"(%x) : (tensor<4xf32>) -> () {
    onnx.yield
  }
  return
}
