// RUN: amp-opt %s --verify-roundtrip | FileCheck %s

// CHECK:       onnx.model ir_version 8 opsets [#onnx.opset<"", 17>, #onnx.opset<"ai.onnx.ml", 3>]
// CHECK-SAME:    {metadata_props = {{\[\[}}"key", "value"]], model_version = 2 : i64, producer_name = "pytorch"}
onnx.model ir_version 8 opsets [#onnx.opset<"", 17>, #onnx.opset<"ai.onnx.ml", 3>]
  {producer_name = "pytorch", model_version = 2 : i64, metadata_props = [["key", "value"]]}

// CHECK-LABEL: func.func @main
// CHECK-SAME:    %{{.*}}: tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.default = dense<1.000000e+00> : tensor<1x4xf32>, onnx.name = "x"}
// CHECK-SAME:    -> (tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "y"})
// CHECK-SAME:    attributes {onnx.graph = {name = "main", value_info = ["h"]}}
func.func @main(%x: tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "x", onnx.default = dense<1.0> : tensor<1x4xf32>})
    -> (tensor<?x4xf32, #onnx.dims<"N", "">> {onnx.name = "y"})
    attributes {onnx.graph = {name = "main", value_info = ["h"]}} {
  // CHECK: onnx.initializer dense<1.000000e+00> : tensor<4xf32> {input_index = 1 : i64, onnx.outputs = ["b"]}
  %b = onnx.initializer dense<1.0> : tensor<4xf32> {input_index = 1 : i64, onnx.outputs = ["b"]}
  // CHECK: onnx.initializer dense_resource<w> : tensor<2x3xi4>
  %w = onnx.initializer dense_resource<w> : tensor<2x3xi4>
  // CHECK: onnx.Add(%{{.*}}, %{{.*}}) {onnx.doc_string = "shift", onnx.name = "add", onnx.outputs = ["y"]}
  %y = onnx.Add(%x, %b) {onnx.name = "add", onnx.outputs = ["y"], onnx.doc_string = "shift"}
    : (tensor<?x4xf32, #onnx.dims<"N", "">>, tensor<4xf32>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
  return %y : tensor<?x4xf32, #onnx.dims<"N", "">>
}

// CHECK-LABEL: func.func @nodes
func.func @nodes(%x: tensor<4xf32>, %c: tensor<i1>) {
  // CHECK: onnx.node "com.example" "Foo"(%{{.*}}) {fields = {k = 3 : i64}, opset = 1 : i64} : (tensor<4xf32>) -> !onnx.unknown
  %0 = onnx.node "com.example" "Foo"(%x) {fields = {k = 3 : i64}, opset = 1 : i64} : (tensor<4xf32>) -> !onnx.unknown
  // CHECK: onnx.node "com.example" "Bar"(%{{.*}}, %{{.*}}) {operand_present = array<i1: true, false, true>, result_present = array<i1: false, true>}
  %1 = onnx.node "com.example" "Bar"(%0, %x) {operand_present = array<i1: true, false, true>, result_present = array<i1: false, true>}
    : (!onnx.unknown, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: onnx.node "" "Loop9"(%{{.*}}) {region_names = ["body"]}
  // CHECK-NEXT: ^bb0(%{{.*}}: !onnx.unknown)
  // CHECK-NEXT: onnx.yield %{{.*}} {graph = {inputs = ["a"], name = "body", outputs = ["a"]}} : !onnx.unknown
  %2 = onnx.node "" "Loop9"(%x) {region_names = ["body"]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: !onnx.unknown):
    onnx.yield %a {graph = {name = "body", inputs = ["a"], outputs = ["a"]}} : !onnx.unknown
  }
  return
}

// CHECK-LABEL: func.func @absent_values
func.func @absent_values(%x: tensor<4xf32>, %m: tensor<f32>) {
  // CHECK: onnx.Clip(%{{.*}}, _, %{{.*}}) : (tensor<4xf32>, _, tensor<f32>) -> tensor<4xf32>
  %0 = onnx.Clip(%x, _, %m) : (tensor<4xf32>, _, tensor<f32>) -> tensor<4xf32>
  // CHECK: onnx.Clip(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = onnx.Clip(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func private @types
// CHECK-SAME:    tensor<?x?xf32, #onnx.dims<"", -1 : i64>>
// CHECK-SAME:    !onnx.seq<tensor<*xf32>>, !onnx.optional<!onnx.seq<tensor<f16>>>
// CHECK-SAME:    !onnx.map<!onnx.string, tensor<bf16>>, !onnx.sparse_tensor<tensor<4x4xf32>>
// CHECK-SAME:    !onnx.opaque<"com.example", "handle">, tensor<2x!onnx.string>, !onnx.unknown
func.func private @types(tensor<?x?xf32, #onnx.dims<"", -1 : i64>>, !onnx.seq<tensor<*xf32>>,
  !onnx.optional<!onnx.seq<tensor<f16>>>, !onnx.map<!onnx.string, tensor<bf16>>, !onnx.sparse_tensor<tensor<4x4xf32>>,
  !onnx.opaque<"com.example", "handle">, tensor<2x!onnx.string>, !onnx.unknown)

{-#
  dialect_resources: {
    builtin: {
      w: "0x10000000210543"
    }
  }
#-}
