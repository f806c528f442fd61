// RUN: amp-opt %s --amp-assign-precision=dtype=f16 --split-input-file --verify-diagnostics | FileCheck %s
// RUN: amp-opt %s --amp-assign-precision="dtype=f16 policy=torch-cuda" --split-input-file | FileCheck %s --check-prefix=TORCH

// Branches agree, or are float32.
// CHECK-LABEL: func.func @if(
//       CHECK:   onnx.Gemm{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.ReduceMean{{.*}}(f32, _) -> (f32)
//       CHECK:   {{.*}}<never (_) -> (f32), rule = region
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   {{.*}}<never (_) -> (f16), rule = region
//       CHECK:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = follow
func.func @if(%c: tensor<i1>, %x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0 = onnx.If(%c) ({
    %w = onnx.initializer dense<2.0> : tensor<2x2xf32>
    %3 = onnx.Gemm(%x, %w) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %3 : tensor<2x2xf32>
  }, {
    %a = onnx.initializer dense<1> : tensor<1xi64>
    %4 = onnx.ReduceMean(%x, %a) : (tensor<2x2xf32>, tensor<1xi64>) -> tensor<2x1xf32>
    %5 = onnx.Add(%x, %4) : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    onnx.yield %5 : tensor<2x2xf32>
  }) : (tensor<i1>) -> tensor<2x2xf32>
  %1 = onnx.If(%c) ({
    %6 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %6 : tensor<2x2xf32>
  }, {
    %7 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %7 : tensor<2x2xf32>
  }) : (tensor<i1>) -> tensor<2x2xf32>
  %2 = onnx.Relu(%1) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Carried values are float32; scan outputs have the type of what is yielded.
// CHECK-LABEL: func.func @loop(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//  CHECK-NEXT:   onnx.Add{{.*}}<promote (f32, f32) -> (f32), rule = range, {{.*}}by = "loop">
//       CHECK:   <never (_, _, f32) -> (f32, f16), rule = loop
// TORCH-LABEL: func.func @loop(
//       TORCH:   <never (_, _, f32) -> (f32, f16), rule = loop
func.func @loop(%n: tensor<i64>, %acc: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<?x2x2xf32>) {
  %t = onnx.initializer dense<true> : tensor<i1>
  %0:2 = onnx.Loop(%n, %t, %acc) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<2x2xf32>):
    %1 = onnx.MatMul(%v, %v) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = onnx.Add(%a, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %c, %2, %1 : tensor<i1>, tensor<2x2xf32>, tensor<2x2xf32>
  }) {onnx.name = "loop"} : (tensor<i64>, tensor<i1>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<?x2x2xf32>)
  return %0#0, %0#1 : tensor<2x2xf32>, tensor<?x2x2xf32>
}

// -----

// In program order a carried value may be half when it is so all the way round; else it is demoted and the body decided again.
// TORCH-LABEL: func.func @carried(
//       TORCH:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       TORCH:   onnx.Relu{{.*}}(f16) -> (f16)
//       TORCH:   <never (_, _, f16) -> (f16), rule = loop
//       TORCH:   onnx.Relu{{.*}}(f32) -> (f32)
//       TORCH:   onnx.Exp{{.*}}(f32) -> (f32)
//       TORCH:   <never (_, _, f32) -> (f32), rule = loop
func.func @carried(%n: tensor<i64>, %x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %t = onnx.initializer dense<true> : tensor<i1>
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = onnx.Loop(%n, %t, %0) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<2x2xf32>):
    %3 = onnx.Relu(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %c, %3 : tensor<i1>, tensor<2x2xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = onnx.Loop(%n, %t, %0) ({
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %a: tensor<2x2xf32>):
    %4 = onnx.Relu(%a) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = onnx.Exp(%4) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %c, %5 : tensor<i1>, tensor<2x2xf32>
  }) : (tensor<i64>, tensor<i1>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1, %2 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Slices of what Scan reads have the type of the whole.
// CHECK-LABEL: func.func @scan(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.Relu{{.*}}<follow (f16) -> (f16), rule = follow
//       CHECK:   <never (f32, f16) -> (f32, f16), rule = loop
func.func @scan(%s: tensor<2xf32>, %x: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>) {
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1:2 = onnx.Scan(%s, %0) ({
  ^bb0(%state: tensor<2xf32>, %row: tensor<2xf32>):
    %2 = onnx.Relu(%row) : (tensor<2xf32>) -> tensor<2xf32>
    onnx.yield %state, %2 : tensor<2xf32>, tensor<2xf32>
  }) {num_scan_inputs = 1 : i64} : (tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2x2xf32>)
  return %1#0, %1#1 : tensor<2xf32>, tensor<2x2xf32>
}

// -----

// The innermost region holds; a region's result is the value it yields.
// CHECK-LABEL: func.func @autocast(
//       CHECK:   onnx.MatMul{{.*}}(bf16, bf16) -> (bf16)
//       CHECK:   onnx.MatMul{{.*}}<never (f32, f32) -> (f32), rule = disabled
//       CHECK:   onnx.Softmax{{.*}}<wide (f32) -> (f32), rule = table
//       CHECK:   onnx.Relu{{.*}}<follow (bf16) -> (bf16), rule = follow
func.func @autocast(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %0:2 = amp.autocast dtype = bf16 -> tensor<2x2xf32>, tensor<2x2xf32> {
    %1 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = amp.autocast enabled = false -> tensor<2x2xf32> {
      %4 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      amp.yield %4 : tensor<2x2xf32>
    }
    %3 = onnx.Softmax(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    amp.yield %1, %3 : tensor<2x2xf32>, tensor<2x2xf32>
  }
  %5 = onnx.Relu(%0#0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %5, %0#1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Of a node that nothing models, nothing changes, inside either.
// CHECK-LABEL: func.func @unknown(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.node{{.*}}<never (f32) -> (f32), rule = unknown
//       CHECK:   onnx.MatMul{{.*}}<never (f32, f32) -> (f32), rule = disabled
func.func @unknown(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // expected-remark @below {{2 nodes of the operator 'Foo', which no policy knows, keep their types}}
  %1 = onnx.node "com.example" "Foo" (%0) {opset = 1 : i64, region_names = ["body"]} : (tensor<2x2xf32>) -> tensor<2x2xf32> {
    %3 = onnx.MatMul(%0, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %3 : tensor<2x2xf32>
  }
  %2 = onnx.node "com.example" "Foo" (%1) {opset = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @sequence_map(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.Add{{.*}}<promote (f32, f32) -> (f32), rule = promote
func.func @sequence_map(%s: !onnx.seq<tensor<2x2xf32>>, %x: tensor<2x2xf32>) -> !onnx.seq<tensor<2x2xf32>> {
  %0 = onnx.SequenceMap(%s) ({
  ^bb0(%e: tensor<2x2xf32>):
    %1 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = onnx.Add(%e, %1) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    onnx.yield %2 : tensor<2x2xf32>
  }) : (!onnx.seq<tensor<2x2xf32>>) -> !onnx.seq<tensor<2x2xf32>>
  return %0 : !onnx.seq<tensor<2x2xf32>>
}

// -----

// Where autocast is off nothing is cast. Under an eager framework's policy what is half already stays half, and types promote.
// CHECK-LABEL: func.func @off(
//       CHECK:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       CHECK:   onnx.Relu{{.*}}(f32) -> (f32)
//       CHECK:   onnx.MatMul{{.*}}(f32, f32) -> (f32)
// TORCH-LABEL: func.func @off(
//       TORCH:   onnx.MatMul{{.*}}(f16, f16) -> (f16)
//       TORCH:   onnx.Relu{{.*}}(f16) -> (f16)
//       TORCH:   onnx.Exp{{.*}}<promote (f16) -> (f16)
//       TORCH:   onnx.MatMul{{.*}}<promote (f32, f32) -> (f32)
//       TORCH:   onnx.MatMul{{.*}}<narrow (f16, f16) -> (f16)
func.func @off(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = amp.autocast enabled = false -> tensor<2x2xf32> {
    %2 = onnx.Relu(%0) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = onnx.Exp(%2) : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = onnx.MatMul(%3, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %5 = amp.autocast -> tensor<2x2xf32> {
      %6 = onnx.MatMul(%4, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      amp.yield %6 : tensor<2x2xf32>
    }
    amp.yield %5 : tensor<2x2xf32>
  }
  return %1 : tensor<2x2xf32>
}

// -----

// The type of another tensor is the one it has under an eager framework's autocast, not the declared one.
// CHECK-LABEL: func.func @cast_like(
//       CHECK:   onnx.CastLike{{.*}}(f32, f32) -> (f32)
// TORCH-LABEL: func.func @cast_like(
//       TORCH:   onnx.CastLike{{.*}}<follow (f32, f16) -> (f16)
func.func @cast_like(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = onnx.MatMul(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = onnx.CastLike(%y, %0) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
