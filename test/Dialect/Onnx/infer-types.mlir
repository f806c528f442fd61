// RUN: amp-opt %s --onnx-infer-types --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @chain
// CHECK-SAME:    -> (tensor<?x8xf32, #onnx.dims<"N", "">> {onnx.name = "y"})
// CHECK:         onnx.MatMul
// CHECK-SAME:    -> tensor<?x8xf32, #onnx.dims<"N", "">>
// CHECK:         onnx.Relu
// CHECK-SAME:    -> tensor<?x8xf32, #onnx.dims<"N", "">>
// CHECK:         return %{{.*}} : tensor<?x8xf32, #onnx.dims<"N", "">>
func.func @chain(%x: tensor<?x4xf32, #onnx.dims<"N", "">>, %w: tensor<4x8xf32>)
    -> (tensor<*xf32> {onnx.name = "y"}) {
  %0 = onnx.MatMul(%x, %w) : (tensor<?x4xf32, #onnx.dims<"N", "">>, tensor<4x8xf32>) -> tensor<?x?xf32>
  %1 = onnx.Relu(%0) : (tensor<?x?xf32>) -> tensor<*xf32>
  return %1 : tensor<*xf32>
}

// -----

// The declared name stays, and so does a size that inference can't know.
// CHECK-LABEL: func.func @declared_stays
// CHECK:         onnx.Relu
// CHECK-SAME:    -> tensor<?x4xf32, #onnx.dims<"batch", "">>
func.func @declared_stays(%x: tensor<?x?xf32, #onnx.dims<"N", "">>) {
  %0 = onnx.Relu(%x) : (tensor<?x?xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"batch", "">>
  return
}

// -----

// Types found in a body reach the op around it, also through an outer value.
// CHECK-LABEL: func.func @branches
// CHECK-SAME:    -> tensor<2x?xf32>
// CHECK:         onnx.Relu
// CHECK-SAME:    -> tensor<2x3xf32>
// CHECK:         onnx.yield %{{.*}} : tensor<2x3xf32>
// CHECK:         (tensor<i1>) -> tensor<2x?xf32>
func.func @branches(%c: tensor<i1>, %x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> tensor<*xf32> {
  %0 = onnx.If(%c) ({
    %1 = onnx.Relu(%x) : (tensor<2x3xf32>) -> tensor<*xf32>
    onnx.yield %1 : tensor<*xf32>
  }, {
    onnx.yield %y : tensor<2x4xf32>
  }) : (tensor<i1>) -> tensor<*xf32>
  return %0 : tensor<*xf32>
}

// -----

// A scan's body sees one row.
// CHECK-LABEL: func.func @scan_arguments
// CHECK:         ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK:         onnx.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CHECK:         -> (tensor<4xf32>, tensor<9x4xf32>)
func.func @scan_arguments(%s: tensor<4xf32>, %x: tensor<9x4xf32>) {
  %0, %1 = onnx.Scan(%s, %x) ({
  ^bb0(%a: tensor<*xf32>, %b: tensor<*xf32>):
    %2 = onnx.Add(%a, %b) : (tensor<*xf32>, tensor<*xf32>) -> tensor<*xf32>
    onnx.yield %2, %2 : tensor<*xf32>, tensor<*xf32>
  }) {num_scan_inputs = 1 : i64} : (tensor<4xf32>, tensor<9x4xf32>) -> (tensor<*xf32>, tensor<*xf32>)
  return
}

// -----

// What no operator says anything about keeps its type.
// CHECK-LABEL: func.func @custom_node
// CHECK:         onnx.node "com.example" "Foo"(%{{.*}}) : (tensor<4xf32>) -> !onnx.unknown
// CHECK:         amp.cast %{{.*}} : tensor<?xf32> to tensor<?xf16>
func.func @custom_node(%x: tensor<4xf32>) {
  %0 = onnx.node "com.example" "Foo" (%x) : (tensor<4xf32>) -> !onnx.unknown
  %1 = onnx.Relu(%x) : (tensor<4xf32>) -> tensor<?xf32>
  %2 = amp.cast %1 : tensor<?xf32> to tensor<?xf16>
  return
}

// -----

// CHECK-LABEL: func.func @conflict
// CHECK:         onnx.Relu(%{{.*}}) {{.*}} -> tensor<4xf32>
// CHECK:         onnx.Neg(%{{.*}}) {{.*}} -> tensor<4xf32>
func.func @conflict(%x: tensor<4xf32>) {
  // expected-warning @below {{value 'y' of Relu 'act' is declared as 'tensor<5xf32>', but inferred to be 'tensor<4xf32>', which is what it now is}}
  %0 = onnx.Relu(%x) {onnx.name = "act", onnx.outputs = ["y"]} : (tensor<4xf32>) -> tensor<5xf32>
  %1 = onnx.Neg(%0) {onnx.name = "neg"} : (tensor<5xf32>) -> tensor<*xf32>
  return
}
