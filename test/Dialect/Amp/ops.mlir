// RUN: amp-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @cast_keeps_the_encoding
func.func @cast_keeps_the_encoding(%x: tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf16, #onnx.dims<"N", "">> {
  // CHECK: amp.cast %{{.+}} : tensor<?x4xf32, #onnx.dims<"N", "">> to tensor<?x4xf16, #onnx.dims<"N", "">>
  %0 = amp.cast %x : tensor<?x4xf32, #onnx.dims<"N", "">> to tensor<?x4xf16, #onnx.dims<"N", "">>
  return %0 : tensor<?x4xf16, #onnx.dims<"N", "">>
}

// CHECK-LABEL: func.func @cast_clamps_an_unranked_tensor
func.func @cast_clamps_an_unranked_tensor(%x: tensor<*xf32>) -> tensor<*xbf16> {
  // CHECK: amp.cast %{{.+}} clamp : tensor<*xf32> to tensor<*xbf16>
  %0 = amp.cast %x clamp : tensor<*xf32> to tensor<*xbf16>
  return %0 : tensor<*xbf16>
}

// CHECK-LABEL: func.func @regions_nest
func.func @regions_nest(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: amp.autocast dtype = bf16 policy = "torch-cuda" -> tensor<4xf32>, tensor<4xf32> {
  %0:2 = amp.autocast dtype = bf16 policy = "torch-cuda" -> tensor<4xf32>, tensor<4xf32> {
    %a = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: amp.autocast enabled = false -> tensor<4xf32> {
    %b = amp.autocast enabled = false -> tensor<4xf32> {
      %c = onnx.Relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %c : tensor<4xf32>
    }
    // CHECK: amp.yield %{{.+}}, %{{.+}} : tensor<4xf32>, tensor<4xf32>
    amp.yield %a, %b : tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @region_without_results
func.func @region_without_results() {
  // CHECK: amp.autocast attributes {onnx.name = "r"} {
  amp.autocast attributes {onnx.name = "r"} {
  }
  return
}

// CHECK-LABEL: func.func @decisions
func.func @decisions(%x: tensor<4xf32>, %shape: tensor<1xi64>) -> tensor<4xf32> {
  // CHECK: onnx.Reshape
  // CHECK-SAME: amp.decision = #amp.decision<move (f16, _) -> (f16), rule = follow>
  %0 = onnx.Reshape(%x, %shape) {amp.decision = #amp.decision<move (f16, _) -> (f16), rule = follow>} : (tensor<4xf32>, tensor<1xi64>) -> tensor<4xf32>
  // CHECK: amp.decision = #amp.decision<wide (f32) -> (f32), rule = table, note = "e^x leaves the range.", by = "balanced">
  %1 = onnx.Exp(%0) {amp.decision = #amp.decision<wide (f32) -> (f32), rule = table, note = "e^x leaves the range.", by = "balanced">} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amp.decision = #amp.decision<wide (f32) -> (f32), rule = deny, by = "Exp">
  %2 = onnx.Exp(%1) {amp.decision = #amp.decision<wide (f32) -> (f32), rule = deny, by = "Exp">} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: amp.decision = #amp.decision<wide (f32) -> (f32), rule = table, note = "A sum.">
  %3 = onnx.Exp(%2) {amp.decision = #amp.decision<wide (f32) -> (f32), rule = table, note = "A sum.">} : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
