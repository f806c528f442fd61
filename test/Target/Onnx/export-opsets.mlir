// RUN: amp-opt %s -o %t.onnx 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %python %root/test/Inputs/print-model %t.onnx | FileCheck %s
// RUN: not amp-opt %s --export-opset=13 -o %t.none.onnx 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: not ls %t.none.onnx

// The node that needs more than the model's opset is named, once per step; IR
// version 10 comes with opset 22.
// REMARK-COUNT-1: remark: opset raised from 11 to 22: node 'conv1' (Conv): opset 11 does not take tensor(bfloat16) as input 0 ('X')
//     REMARK-NOT: remark: opset raised
//          FIXED: error: node 'conv1' (Conv) cannot be written for opset 13: opset 13 does not take tensor(bfloat16)
//          CHECK: ir_version: 10
//          CHECK: opset_import: ["" : 22]
//          CHECK: Conv
onnx.model ir_version 6 opsets [#onnx.opset<"", 11>]
func.func @f(%x: tensor<1x1x4xbf16> {onnx.name = "x"}, %w: tensor<1x1x1xbf16> {onnx.name = "w"})
    -> (tensor<1x1x4xbf16> {onnx.name = "y"}) {
  %0 = onnx.Conv(%x, %w) {onnx.name = "conv1", onnx.outputs = ["h"]}
    : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16>
  %1 = onnx.Conv(%0, %w) {onnx.name = "conv2", onnx.outputs = ["y"]}
    : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16>
  return %1 : tensor<1x1x4xbf16>
}
