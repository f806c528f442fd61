// RUN: not amp-opt %s --amp-assign-precision=dtype=f64 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: error: expects f16 or bf16 for the option 'dtype', but got 'f64'

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 policy=none-such" 2>&1 | FileCheck %s --check-prefix=POLICY
// POLICY: error: {{.*}}none-such

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 lossy-constants=drop" 2>&1 | FileCheck %s --check-prefix=LOSSY
// LOSSY: error: expects wide, clamp or convert for the option 'lossy-constants', but got 'drop'

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 allow=MatMul deny=MatMul" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: operator 'MatMul' is both allowed and denied

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 deny=MatMull" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: cannot deny 'MatMull'{{.*}}did you mean 'MatMul'?

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=mm" 2>&1 | FileCheck %s --check-prefix=PIN-TYPE
// PIN-TYPE: error: option 'pin=mm': expects a type, f32, f16 or bf16, after the last '='

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=(=f32" 2>&1 | FileCheck %s --check-prefix=PIN-REGEX
// PIN-REGEX: error: option 'pin=(=f32': '(' is no regular expression:

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=m=f32" 2>&1 | FileCheck %s --check-prefix=PIN-NONE
// PIN-NONE: error: option 'pin=m=f32' matches no node; a pattern must match a whole name

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=mm=f32 pin=m.=f16" 2>&1 | FileCheck %s --check-prefix=PIN-BOTH
// PIN-BOTH: error: 'mm' is pinned both by 'mm=f32' and by 'm.=f16'

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=celu=f16" 2>&1 | FileCheck %s --check-prefix=PIN-ILLEGAL
// PIN-ILLEGAL: error: cannot pin 'celu' as 'celu=f16' asks: Celu does not take f16 there

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=half=f32" 2>&1 | FileCheck %s --check-prefix=PIN-HALF
// PIN-HALF: error: cannot pin 'half' as 'half=f32' asks: it has half types in the source, which stay

// RUN: not amp-opt %s --amp-assign-precision="pin=mm=f16" 2>&1 | FileCheck %s --check-prefix=PIN-OFF
// PIN-OFF: error: cannot pin 'mm' as 'mm=f16' asks: autocast is off where it stands

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin=cast=f16" 2>&1 | FileCheck %s --check-prefix=PIN-NEVER
// PIN-NEVER: error: cannot pin 'cast' as 'cast=f16' asks: Cast has no precision to decide

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin-slot=mm=f16" 2>&1 | FileCheck %s --check-prefix=SLOT-SYNTAX
// SLOT-SYNTAX: error: option 'pin-slot=mm=f16': expects ':' and the number of an input, from 0, before '='

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin-slot=mm:2=f16" 2>&1 | FileCheck %s --check-prefix=SLOT-NONE
// SLOT-NONE: error: cannot pin an input of 'mm' as 'mm:2=f16' asks: it has no input 2

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 pin-slot=resize:2=f16" 2>&1 | FileCheck %s --check-prefix=SLOT-FIXED
// SLOT-FIXED: error: cannot pin 'resize' as 'resize:2=f16' asks: Resize does not take f16 there

// RUN: not amp-opt %s --amp-assign-precision="dtype=f16 decisions=%t/none.json" 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: cannot read decision file '{{.*}}none.json'

func.func @errors(%x: tensor<4x4xf32>, %h: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<4x4xf16>, tensor<4x4xf32>) {
  %s = onnx.initializer dense<1.0> : tensor<2xf32>
  %0 = onnx.MatMul(%x, %x) {onnx.name = "mm"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = onnx.Celu(%0) {onnx.name = "celu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = onnx.Relu(%h) {onnx.name = "half"} : (tensor<4x4xf16>) -> tensor<4x4xf16>
  %3 = onnx.Cast(%1) {onnx.name = "cast", to = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = onnx.Resize(%3, _, %s) {onnx.name = "resize"} : (tensor<4x4xf32>, _, tensor<2xf32>) -> tensor<4x4xf32>
  return %1, %2, %4 : tensor<4x4xf32>, tensor<4x4xf16>, tensor<4x4xf32>
}
