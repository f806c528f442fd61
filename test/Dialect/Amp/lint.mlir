// RUN: amp-opt %s --amp-lint --split-input-file --verify-diagnostics

// A guard of 1e-12 under a division, and one of 1e-6 that stays, imprecise.
func.func @underflowing_guard(%m: tensor<2x4xf32>, %n: tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>) {
  %e = onnx.initializer dense<1.0e-12> : tensor<f32>
  %s = onnx.Constant() {value_float = 1.0e-6 : f32} : () -> tensor<f32>
  // expected-warning @below {{'guard' (Max): 1e-12 becomes 0 in f16 and guards 'norm' (Div) no more; keep both and what is between in float32, or take a guard of at least 6.2e-05 [underflowing-guard]}}
  %q = onnx.Max(%n, %e) {onnx.name = "guard"} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %y = onnx.Div(%m, %q) {onnx.name = "norm"} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  // expected-warning @below {{Add of 'v': 1e-06 becomes 1.01328e-06 in f16, which is less precise than other numbers, and guards Sqrt of 'r'}}
  %v = onnx.Add(%n, %s) {onnx.outputs = ["v"]} : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %r = onnx.Sqrt(%v) {onnx.outputs = ["r"]} : (tensor<2x1xf32>) -> tensor<2x1xf32>
  return %y, %r : tensor<2x4xf32>, tensor<2x1xf32>
}

// -----

// The guard is moved before it is used.
func.func @guard_behind_a_reshape(%n: tensor<2x1xf32>, %s: tensor<1xi64>) -> tensor<2xf32> {
  %e = onnx.initializer dense<1.0e-8> : tensor<f32>
  // expected-warning @below {{Add: 1e-08 becomes 0 in f16 and guards Log no more}}
  %v = onnx.Add(%n, %e) : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %f = onnx.Reshape(%v, %s) : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<2xf32>
  %r = onnx.Log(%f) : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// 1e-5 keeps three digits, 1e-12 guards nothing here, and a dividend needs no guard.
func.func @harmless_small_constants(%m: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e = onnx.initializer dense<1.0e-5> : tensor<f32>
  %t = onnx.initializer dense<1.0e-3> : tensor<f32>
  %a = onnx.Add(%m, %e) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %b = onnx.Sqrt(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = onnx.Add(%m, %t) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = onnx.Div(%c, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Field case 10: the mask becomes -inf, and a row that is masked as a whole NaN.
func.func @overflowing_mask(%s: tensor<2x4xf32>, %m: tensor<2x4xi1>) -> tensor<2x4xf32> {
  %neg = onnx.initializer dense<-1.0e9> : tensor<f32>
  // expected-warning @below {{'mask' (Where): -1e+09 becomes infinite in f16 on the way to a Softmax, which gives NaN where all is masked; keep it in float32, set lossy-constants=clamp, or take a mask of -65504 [overflowing-mask]}}
  %w = onnx.Where(%m, %s, %neg) {onnx.name = "mask"} : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %p = onnx.Softmax(%w) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// -----

// (1 - mask) * -1e9 + scores, as BERT has it. -65504 and -inf are fine.
func.func @mask_that_is_multiplied(%s: tensor<2x4xf32>, %m: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %neg = onnx.initializer dense<-1.0e9> : tensor<f32>
  %low = onnx.initializer dense<-65504.0> : tensor<f32>
  %inf = onnx.initializer dense<0xFF800000> : tensor<f32>
  // expected-warning @below {{Mul: -1e+09 becomes infinite}}
  %a = onnx.Mul(%m, %neg) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %b = onnx.Add(%s, %a) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %c = onnx.Add(%b, %low) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %d = onnx.Add(%c, %inf) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %p = onnx.Softmax(%d) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %p : tensor<2x4xf32>
}

// -----

// Field case 11: over range and under; infinity is what it was.
func.func @weight_range(%x: tensor<1x2xf32>) -> tensor<1x3xf32> {
  // expected-warning @below {{'W': of 6 values, 1 would be infinite and 1 zero in f16; keep its readers in float32 (the default of the balanced policy), or set lossy-constants=clamp [weight-range]}}
  %w = onnx.initializer dense<[[70000.0, 20000.0, 1.0e-9], [0.0, 0.0, 0.0]]> : tensor<2x3xf32> {onnx.outputs = ["W"]}
  %p = onnx.initializer dense<0x7F800000> : tensor<f32>
  %m = onnx.MatMul(%x, %w) : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
  %y = onnx.Min(%m, %p) : (tensor<1x3xf32>, tensor<f32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// -----

// Nobody reads it, or in a slot that stays float32; a few zeros among many.
func.func @harmless_weights(%x: tensor<1x1x2x2xf32>) -> tensor<*xf32> {
  %unused = onnx.initializer dense<1.0e9> : tensor<4xf32>
  %scales = onnx.initializer dense<[1.0, 1.0, 1.0e9, 1.0]> : tensor<4xf32>
  %few = onnx.initializer dense<[1.0e-9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]> : tensor<17xf32>
  %r = onnx.Resize(%x, _, %scales) : (tensor<1x1x2x2xf32>, _, tensor<4xf32>) -> tensor<*xf32>
  %y = onnx.Mul(%r, %few) : (tensor<*xf32>, tensor<17xf32>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}

// -----

// Field case 15.
func.func @long_sums(%x: tensor<65536x1xf32>, %u: tensor<?x4xf32>) -> (tensor<1x1xf32>, tensor<65536x1xf32>, tensor<1x4xf32>) {
  %axes = onnx.initializer dense<0> : tensor<1xi64>
  // expected-warning @below {{'mean' (ReduceMean): sums 65536 elements, and a sum held in f16 stops counting ones at 2048; keep it in float32, or run it where sums are accumulated in float32 [long-sum]}}
  %a = onnx.ReduceMean(%x, %axes) {onnx.name = "mean"} : (tensor<65536x1xf32>, tensor<1xi64>) -> tensor<1x1xf32>
  %axis = onnx.initializer dense<0> : tensor<i64>
  // expected-warning @below {{CumSum: sums 65536 elements}}
  %b = onnx.CumSum(%x, %axis) : (tensor<65536x1xf32>, tensor<i64>) -> tensor<65536x1xf32>
  // How many is not known.
  %c = onnx.ReduceSum(%u, %axes) : (tensor<?x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  return %a, %b, %c : tensor<1x1xf32>, tensor<65536x1xf32>, tensor<1x4xf32>
}

// -----

// 2048 is the last number f16 counts to; a sum over no axis is none; integers
// count further.
func.func @short_sums(%x: tensor<2048xf32>, %y: tensor<4096xf32>, %i: tensor<4096xi32>) -> (tensor<1xf32>, tensor<4096xf32>, tensor<1xi32>) {
  %a = onnx.ReduceSum(%x) : (tensor<2048xf32>) -> tensor<1xf32>
  %b = onnx.ReduceSum(%y) {noop_with_empty_axes = 1 : i64} : (tensor<4096xf32>) -> tensor<4096xf32>
  %c = onnx.ReduceSum(%i) : (tensor<4096xi32>) -> tensor<1xi32>
  return %a, %b, %c : tensor<1xf32>, tensor<4096xf32>, tensor<1xi32>
}

// -----

func.func private @declared(tensor<1xf32>)

func.func @pool(%x: tensor<1x8x112x112xf32>) -> tensor<1x8x1x1xf32> {
  // expected-warning @below {{'pool' (GlobalAveragePool): sums 12544 elements}}
  %a = onnx.GlobalAveragePool(%x) {onnx.name = "pool"} : (tensor<1x8x112x112xf32>) -> tensor<1x8x1x1xf32>
  return %a : tensor<1x8x1x1xf32>
}

// -----

// Field case 13: positions become angles.
func.func @positions(%n: tensor<i64>) -> tensor<?x2xf32> {
  %zero = onnx.initializer dense<0> : tensor<i64>
  %one = onnx.initializer dense<1> : tensor<i64>
  %axis = onnx.initializer dense<1> : tensor<1xi64>
  %inv = onnx.initializer dense<[[1.0, 0.01]]> : tensor<1x2xf32>
  %r = onnx.Range(%zero, %n, %one) {onnx.name = "rope/range"} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %f = onnx.Cast(%r) {to = 1 : i64} : (tensor<?xi64>) -> tensor<?xf32>
  %u = onnx.Unsqueeze(%f, %axis) : (tensor<?xf32>, tensor<1xi64>) -> tensor<?x1xf32>
  // expected-warning @below {{'rope/angles' (MatMul): computes with integers of 'rope/range' (Range) as floats, and f16 holds integers up to 2048 only: positions beyond fall together; keep this op and the path to it in float32, for instance with pin=<names>=f32 [half-positions]}}
  %a = onnx.MatMul(%u, %inv) {onnx.name = "rope/angles"} : (tensor<?x1xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
  %c = onnx.Cos(%a) {onnx.name = "rope/cos"} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %c : tensor<?x2xf32>
}

// -----

// Position ids that come from outside matter where they become angles.
func.func @position_ids(%ids: tensor<1x8xi64>, %inv: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %f = onnx.Cast(%ids) {onnx.outputs = ["ids_f"], to = 1 : i64} : (tensor<1x8xi64>) -> tensor<1x8xf32>
  %a = onnx.Mul(%f, %inv) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  // expected-warning @below {{Sin: computes with integers of Cast of 'ids_f' as floats}}
  %s = onnx.Sin(%a) : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %s : tensor<1x8xf32>
}

// -----

// A range that ends at 1024, a mask of integers, and indices that stay integers.
func.func @harmless_integers(%m: tensor<1024xi64>, %x: tensor<1024xf32>, %n: tensor<i64>) -> (tensor<1024xf32>, tensor<1024xf32>, tensor<?xi64>) {
  %zero = onnx.initializer dense<0> : tensor<i64>
  %one = onnx.initializer dense<1> : tensor<i64>
  %end = onnx.initializer dense<1024> : tensor<i64>
  %r = onnx.Range(%zero, %end, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1024xi64>
  %f = onnx.Cast(%r) {to = 1 : i64} : (tensor<1024xi64>) -> tensor<1024xf32>
  %a = onnx.Mul(%f, %x) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %g = onnx.Cast(%m) {to = 1 : i64} : (tensor<1024xi64>) -> tensor<1024xf32>
  %b = onnx.Mul(%g, %x) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %s = onnx.Range(%zero, %n, %one) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %i = onnx.Mul(%s, %one) : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  return %a, %b, %i : tensor<1024xf32>, tensor<1024xf32>, tensor<?xi64>
}
