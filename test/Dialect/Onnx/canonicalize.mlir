// RUN: amp-opt %s --canonicalize --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @shape
// CHECK-DAG:     %[[ALL:.+]] = onnx.Constant() {value = dense<[2, 3, 4]> : tensor<3xi64>}
// CHECK-DAG:     %[[LAST:.+]] = onnx.Constant() {value = dense<4> : tensor<1xi64>}
// CHECK-DAG:     %[[NONE:.+]] = onnx.Constant() {value = dense<> : tensor<0xi64>}
// CHECK:         return %[[ALL]], %[[LAST]], %[[NONE]]
func.func @shape(%x: tensor<2x3x4xf32>) -> (tensor<3xi64>, tensor<1xi64>, tensor<0xi64>) {
  %0 = onnx.Shape(%x) : (tensor<2x3x4xf32>) -> tensor<3xi64>
  %1 = onnx.Shape(%x) {start = -1 : i64} : (tensor<2x3x4xf32>) -> tensor<1xi64>
  %2 = onnx.Shape(%x) {start = 2 : i64, end = -2 : i64} : (tensor<2x3x4xf32>) -> tensor<0xi64>
  return %0, %1, %2 : tensor<3xi64>, tensor<1xi64>, tensor<0xi64>
}

// -----

// Only the sizes that are asked for need be static.
// CHECK-LABEL: func.func @part_of_shape
// CHECK:         %[[PART:.+]] = onnx.Constant() {value = dense<[3, 4]> : tensor<2xi64>}
// CHECK:         %[[OPEN:.+]] = onnx.Shape
// CHECK:         return %[[PART]], %[[OPEN]]
func.func @part_of_shape(%x: tensor<?x3x4xf32>) -> (tensor<2xi64>, tensor<3xi64>) {
  %0 = onnx.Shape(%x) {start = 1 : i64, end = 9 : i64} : (tensor<?x3x4xf32>) -> tensor<2xi64>
  %1 = onnx.Shape(%x) : (tensor<?x3x4xf32>) -> tensor<3xi64>
  return %0, %1 : tensor<2xi64>, tensor<3xi64>
}

// -----

// The result's type must be the constant's own.
// CHECK-LABEL: func.func @shape_of_open_type
// CHECK:         onnx.Shape(%{{.*}}) : (tensor<2xf32>) -> tensor<?xi64>
func.func @shape_of_open_type(%x: tensor<2xf32>) -> tensor<?xi64> {
  %0 = onnx.Shape(%x) : (tensor<2xf32>) -> tensor<?xi64>
  return %0 : tensor<?xi64>
}

// -----

// CHECK-LABEL: func.func @encoding_stays
// CHECK:         onnx.Constant() {{.*}} -> tensor<1xi64, #onnx.dims<"k">>
func.func @encoding_stays(%x: tensor<2xf32>) -> tensor<1xi64, #onnx.dims<"k">> {
  %0 = onnx.Shape(%x) : (tensor<2xf32>) -> tensor<1xi64, #onnx.dims<"k">>
  return %0 : tensor<1xi64, #onnx.dims<"k">>
}

// -----

// CHECK-LABEL: func.func @size
// CHECK-DAG:     %[[SIX:.+]] = onnx.Constant() {value = dense<6> : tensor<i64>}
// CHECK-DAG:     %[[OPEN:.+]] = onnx.Size(%{{.*}}) : (tensor<?xf32>)
// CHECK-DAG:     %[[HUGE:.+]] = onnx.Size(%{{.*}}) : (tensor<4294967296x4294967296xf32>)
// CHECK:         return %[[SIX]], %[[OPEN]], %[[HUGE]]
func.func @size(%x: tensor<2x3xf32>, %y: tensor<?xf32>, %z: tensor<4294967296x4294967296xf32>) -> (tensor<i64>, tensor<i64>, tensor<i64>) {
  %0 = onnx.Size(%x) : (tensor<2x3xf32>) -> tensor<i64>
  %1 = onnx.Size(%y) : (tensor<?xf32>) -> tensor<i64>
  %2 = onnx.Size(%z) : (tensor<4294967296x4294967296xf32>) -> tensor<i64>
  return %0, %1, %2 : tensor<i64>, tensor<i64>, tensor<i64>
}

// -----

// What exporters write: the static sizes out of a shape with a batch dimension.
// CHECK-LABEL: func.func @sizes_beside_dynamic_ones
// CHECK-DAG:     %[[THREE:.+]] = onnx.Constant() {value = dense<3> : tensor<i64>}
// CHECK-DAG:     %[[TAIL:.+]] = onnx.Constant() {value = dense<[3, 4]> : tensor<2xi64>}
// CHECK-DAG:     %[[LIST:.+]] = onnx.Constant() {value = dense<[3, 7]> : tensor<2xi64>}
// CHECK-DAG:     %[[BATCH:.+]] = onnx.Gather
// CHECK:         return %[[THREE]], %[[TAIL]], %[[LIST]], %[[BATCH]]
func.func @sizes_beside_dynamic_ones(%x: tensor<?x3x4xf32>) -> (tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>) {
  %zero = onnx.initializer dense<0> : tensor<i64>
  %one = onnx.initializer dense<1> : tensor<i64>
  %start = onnx.initializer dense<1> : tensor<1xi64>
  %end = onnx.initializer dense<9223372036854775807> : tensor<1xi64>
  %axes = onnx.initializer dense<0> : tensor<1xi64>
  %seven = onnx.initializer dense<7> : tensor<1xi64>
  %shape = onnx.Shape(%x) : (tensor<?x3x4xf32>) -> tensor<3xi64>
  %0 = onnx.Gather(%shape, %one) : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %1 = onnx.Slice(%shape, %start, %end, %axes) : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %2 = onnx.Unsqueeze(%0, %axes) : (tensor<i64>, tensor<1xi64>) -> tensor<1xi64>
  %3 = onnx.Concat(%2, %seven) {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %4 = onnx.Gather(%shape, %zero) : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  return %0, %1, %3, %4 : tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>
}

// -----

// A size through operators that only move it, none of which folds by itself.
// CHECK-LABEL: func.func @through_concat
// CHECK:         %[[THREE:.+]] = onnx.Constant() {value = dense<3> : tensor<i64>}
// CHECK:         return %[[THREE]]
func.func @through_concat(%x: tensor<?x3xf32>) -> tensor<i64> {
  %axes = onnx.initializer dense<0> : tensor<1xi64>
  %minus = onnx.initializer dense<-1> : tensor<1xi64>
  %end = onnx.initializer dense<9> : tensor<1xi64>
  %shape = onnx.Shape(%x) : (tensor<?x3xf32>) -> tensor<2xi64>
  %twice = onnx.Concat(%shape, %shape) {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %last = onnx.Slice(%twice, %minus, %end) : (tensor<4xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %0 = onnx.Squeeze(%last, %axes) : (tensor<1xi64>, tensor<1xi64>) -> tensor<i64>
  return %0 : tensor<i64>
}

//===----------------------------------------------------------------------===//
// Elements picked from constants
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @gather
// CHECK-DAG:     %[[ROWS:.+]] = onnx.Constant() {value = dense<{{\[\[}}5.000000e+00, 6.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>}
// CHECK-DAG:     %[[COLUMN:.+]] = onnx.Constant() {value = dense<[2.000000e+00, 4.000000e+00, 6.000000e+00]> : tensor<3xf32>}
// CHECK-DAG:     %[[BEYOND:.+]] = onnx.Gather
// CHECK:         return %[[ROWS]], %[[COLUMN]], %[[BEYOND]]
func.func @gather() -> (tensor<2x2xf32>, tensor<3xf32>, tensor<2xf32>) {
  %x = onnx.initializer dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %rows = onnx.initializer dense<[-1, 0]> : tensor<2xi64>
  %one = onnx.initializer dense<1> : tensor<i32>
  %three = onnx.initializer dense<3> : tensor<i64>
  %0 = onnx.Gather(%x, %rows) : (tensor<3x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %1 = onnx.Gather(%x, %one) {axis = 1 : i64} : (tensor<3x2xf32>, tensor<i32>) -> tensor<3xf32>
  %2 = onnx.Gather(%x, %three) : (tensor<3x2xf32>, tensor<i64>) -> tensor<2xf32>
  return %0, %1, %2 : tensor<2x2xf32>, tensor<3xf32>, tensor<2xf32>
}

// -----

// Bounds are clamped, steps may go backwards, of two axes each has its own.
// CHECK-LABEL: func.func @slice
// CHECK-DAG:     %[[BACK:.+]] = onnx.Constant() {value = dense<[4, 3, 2, 1, 0]> : tensor<5xi64>}
// CHECK-DAG:     %[[STEP:.+]] = onnx.Constant() {value = dense<[0, 3]> : tensor<2xi64>}
// CHECK-DAG:     %[[NONE:.+]] = onnx.Constant() {value = dense<> : tensor<0xi64>}
// CHECK-DAG:     %[[BOX:.+]] = onnx.Constant() {value = dense<{{\[\[}}5], [8]]> : tensor<2x1xi8>}
// CHECK:         return %[[BACK]], %[[STEP]], %[[NONE]], %[[BOX]]
func.func @slice() -> (tensor<5xi64>, tensor<2xi64>, tensor<0xi64>, tensor<2x1xi8>) {
  %x = onnx.initializer dense<[0, 1, 2, 3, 4]> : tensor<5xi64>
  %y = onnx.initializer dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi8>
  %zero = onnx.initializer dense<0> : tensor<1xi64>
  %low = onnx.initializer dense<-9223372036854775808> : tensor<1xi64>
  %high = onnx.initializer dense<9223372036854775807> : tensor<1xi64>
  %minus = onnx.initializer dense<-1> : tensor<1xi64>
  %three = onnx.initializer dense<3> : tensor<1xi64>
  %ones = onnx.initializer dense<1> : tensor<2xi64>
  %ends = onnx.initializer dense<[9, -1]> : tensor<2xi64>
  %0 = onnx.Slice(%x, %high, %low, %zero, %minus) : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<5xi64>
  %1 = onnx.Slice(%x, %low, %high, _, %three) : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>, _, tensor<1xi64>) -> tensor<2xi64>
  %2 = onnx.Slice(%x, %three, %zero) : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<0xi64>
  %3 = onnx.Slice(%y, %ones, %ends) : (tensor<3x3xi8>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x1xi8>
  return %0, %1, %2, %3 : tensor<5xi64>, tensor<2xi64>, tensor<0xi64>, tensor<2x1xi8>
}

// -----

// CHECK-LABEL: func.func @slice_by_nothing_stays
// CHECK:         onnx.Slice
func.func @slice_by_nothing_stays() -> tensor<5xi64> {
  %x = onnx.initializer dense<[0, 1, 2, 3, 4]> : tensor<5xi64>
  %zero = onnx.initializer dense<0> : tensor<1xi64>
  %0 = onnx.Slice(%x, %zero, %zero, _, %zero) : (tensor<5xi64>, tensor<1xi64>, tensor<1xi64>, _, tensor<1xi64>) -> tensor<5xi64>
  return %0 : tensor<5xi64>
}

// -----

// CHECK-LABEL: func.func @concat
// CHECK-DAG:     %[[DOWN:.+]] = onnx.Constant() {value = dense<{{\[\[}}1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>}
// CHECK-DAG:     %[[RIGHT:.+]] = onnx.Constant() {value = dense<{{\[\[}}1, 2, 1, 2], [3, 4, 3, 4]]> : tensor<2x4xi64>}
// CHECK:         return %[[DOWN]], %[[RIGHT]]
func.func @concat() -> (tensor<3x2xi64>, tensor<2x4xi64>) {
  %x = onnx.initializer dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %y = onnx.initializer dense<[[5, 6]]> : tensor<1x2xi64>
  %0 = onnx.Concat(%x, %y) {axis = -2 : i64} : (tensor<2x2xi64>, tensor<1x2xi64>) -> tensor<3x2xi64>
  %1 = onnx.Concat(%x, %x) {axis = 1 : i64} : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x4xi64>
  return %0, %1 : tensor<3x2xi64>, tensor<2x4xi64>
}

// -----

// CHECK-LABEL: func.func @where
// CHECK:         %[[R:.+]] = onnx.Constant() {value = dense<{{\[\[}}7, 2], [7, 4]]> : tensor<2x2xi64>}
// CHECK:         return %[[R]]
func.func @where() -> tensor<2x2xi64> {
  %c = onnx.initializer dense<[true, false]> : tensor<2xi1>
  %x = onnx.initializer dense<7> : tensor<i64>
  %y = onnx.initializer dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
  %0 = onnx.Where(%c, %x, %y) : (tensor<2xi1>, tensor<i64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

//===----------------------------------------------------------------------===//
// Other shapes
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @reshape
// CHECK-DAG:     %[[A:.+]] = onnx.Constant() {value = dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>}
// CHECK-DAG:     %[[B:.+]] = onnx.Constant() {value = dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi64>}
// CHECK-DAG:     %[[C:.+]] = onnx.Reshape
// CHECK:         return %[[A]], %[[B]], %[[C]]
func.func @reshape() -> (tensor<2x3xi64>, tensor<6xi64>, tensor<4x2xi64>) {
  %x = onnx.initializer dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>
  %two_rest = onnx.initializer dense<[2, -1]> : tensor<2xi64>
  %rest = onnx.initializer dense<-1> : tensor<1xi64>
  %wrong = onnx.initializer dense<[4, 2]> : tensor<2xi64>
  %0 = onnx.Reshape(%x, %two_rest) : (tensor<3x2xi64>, tensor<2xi64>) -> tensor<2x3xi64>
  %1 = onnx.Reshape(%x, %rest) : (tensor<3x2xi64>, tensor<1xi64>) -> tensor<6xi64>
  %2 = onnx.Reshape(%x, %wrong) : (tensor<3x2xi64>, tensor<2xi64>) -> tensor<4x2xi64>
  return %0, %1, %2 : tensor<2x3xi64>, tensor<6xi64>, tensor<4x2xi64>
}

// -----

// 0 takes the size over, or is a size.
// CHECK-LABEL: func.func @reshape_zero
// CHECK-DAG:     %[[A:.+]] = onnx.Constant() {value = dense<{{\[\[\[}}1, 2]]]> : tensor<1x1x2xi64>}
// CHECK-DAG:     %[[B:.+]] = onnx.Constant() {value = dense<> : tensor<0x3xi64>}
// CHECK:         return %[[A]], %[[B]]
func.func @reshape_zero() -> (tensor<1x1x2xi64>, tensor<0x3xi64>) {
  %x = onnx.initializer dense<[[1, 2]]> : tensor<1x2xi64>
  %e = onnx.initializer dense<> : tensor<2x0xi64>
  %to = onnx.initializer dense<[0, 1, 2]> : tensor<3xi64>
  %zero = onnx.initializer dense<[0, 3]> : tensor<2xi64>
  %0 = onnx.Reshape(%x, %to) : (tensor<1x2xi64>, tensor<3xi64>) -> tensor<1x1x2xi64>
  %1 = onnx.Reshape(%e, %zero) {allowzero = 1 : i64} : (tensor<2x0xi64>, tensor<2xi64>) -> tensor<0x3xi64>
  return %0, %1 : tensor<1x1x2xi64>, tensor<0x3xi64>
}

// -----

// CHECK-LABEL: func.func @reshape_to_the_same_type
// CHECK-SAME:    %[[X:.+]]: tensor<2x3xf32>
// CHECK-NEXT:    onnx.Relu(%[[X]])
func.func @reshape_to_the_same_type(%x: tensor<2x3xf32>, %s: tensor<2xi64>) -> tensor<2x3xf32> {
  %0 = onnx.Reshape(%x, %s) : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  %1 = onnx.Relu(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// The same type with a dynamic size may be another shape.
// CHECK-LABEL: func.func @reshape_of_dynamic_type
// CHECK:         onnx.Reshape
func.func @reshape_of_dynamic_type(%x: tensor<?x?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = onnx.Reshape(%x, %s) : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = onnx.Relu(%0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %1 : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @squeeze_and_unsqueeze
// CHECK-DAG:     %[[A:.+]] = onnx.Constant() {value = dense<[1, 2]> : tensor<2xi64>}
// CHECK-DAG:     %[[B:.+]] = onnx.Constant() {value = dense<{{\[\[}}1, 2]]> : tensor<1x2xi64>}
// CHECK-DAG:     %[[C:.+]] = onnx.Constant() {value = dense<{{\[\[\[\[}}1], [2]]]]> : tensor<1x1x2x1xi64>}
// CHECK:         return %[[A]], %[[B]], %[[C]]
func.func @squeeze_and_unsqueeze() -> (tensor<2xi64>, tensor<1x2xi64>, tensor<1x1x2x1xi64>) {
  %x = onnx.initializer dense<[[[1, 2]]]> : tensor<1x1x2xi64>
  %y = onnx.initializer dense<[[1, 2]]> : tensor<1x2xi64>
  %one = onnx.initializer dense<1> : tensor<1xi64>
  %axes = onnx.initializer dense<[-1, 0]> : tensor<2xi64>
  %0 = onnx.Squeeze(%x) : (tensor<1x1x2xi64>) -> tensor<2xi64>
  %1 = onnx.Squeeze(%x, %one) : (tensor<1x1x2xi64>, tensor<1xi64>) -> tensor<1x2xi64>
  %2 = onnx.Unsqueeze(%y, %axes) : (tensor<1x2xi64>, tensor<2xi64>) -> tensor<1x1x2x1xi64>
  return %0, %1, %2 : tensor<2xi64>, tensor<1x2xi64>, tensor<1x1x2x1xi64>
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @constant_of_shape
// CHECK-DAG:     %[[F:.+]] = onnx.Constant() {value = dense<0.000000e+00> : tensor<2x2xf32>}
// CHECK-DAG:     %[[I:.+]] = onnx.Constant() {value = dense<-1> : tensor<3xi64>}
// CHECK-DAG:     %[[E:.+]] = onnx.Constant() {value = dense<> : tensor<0xf32>}
// CHECK-DAG:     %[[BIG:.+]] = onnx.ConstantOfShape
// CHECK:         return %[[F]], %[[I]], %[[E]], %[[BIG]]
func.func @constant_of_shape() -> (tensor<2x2xf32>, tensor<3xi64>, tensor<0xf32>, tensor<257xf32>) {
  %two = onnx.initializer dense<2> : tensor<2xi64>
  %three = onnx.initializer dense<3> : tensor<1xi64>
  %zero = onnx.initializer dense<0> : tensor<1xi64>
  %big = onnx.initializer dense<257> : tensor<1xi64>
  %0 = onnx.ConstantOfShape(%two) : (tensor<2xi64>) -> tensor<2x2xf32>
  %1 = onnx.ConstantOfShape(%three) {value = dense<-1> : tensor<1xi64>} : (tensor<1xi64>) -> tensor<3xi64>
  %2 = onnx.ConstantOfShape(%zero) : (tensor<1xi64>) -> tensor<0xf32>
  %3 = onnx.ConstantOfShape(%big) : (tensor<1xi64>) -> tensor<257xf32>
  return %0, %1, %2, %3 : tensor<2x2xf32>, tensor<3xi64>, tensor<0xf32>, tensor<257xf32>
}

// -----

// CHECK-LABEL: func.func @range
// CHECK-DAG:     %[[UP:.+]] = onnx.Constant() {value = dense<[1, 3, 5]> : tensor<3xi64>}
// CHECK-DAG:     %[[DOWN:.+]] = onnx.Constant() {value = dense<[6, 1]> : tensor<2xi32>}
// CHECK-DAG:     %[[NONE:.+]] = onnx.Constant() {value = dense<> : tensor<0xi64>}
// CHECK-DAG:     %[[FLOAT:.+]] = onnx.Range(%{{.*}}) : (tensor<f32>
// CHECK-DAG:     %[[ZERO:.+]] = onnx.Range(%{{.*}}) : (tensor<i64>
// CHECK:         return %[[UP]], %[[DOWN]], %[[NONE]], %[[FLOAT]], %[[ZERO]]
func.func @range() -> (tensor<3xi64>, tensor<2xi32>, tensor<0xi64>, tensor<1xf32>, tensor<?xi64>) {
  %0 = onnx.Constant() {value_int = 0 : i64} : () -> tensor<i64>
  %1 = onnx.Constant() {value_int = 1 : i64} : () -> tensor<i64>
  %2 = onnx.Constant() {value_int = 2 : i64} : () -> tensor<i64>
  %6 = onnx.Constant() {value_int = 6 : i64} : () -> tensor<i64>
  %s = onnx.initializer dense<6> : tensor<i32>
  %l = onnx.initializer dense<-3> : tensor<i32>
  %d = onnx.initializer dense<-5> : tensor<i32>
  %f = onnx.Constant() {value_float = 1.0 : f32} : () -> tensor<f32>
  %up = onnx.Range(%1, %6, %2) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  %down = onnx.Range(%s, %l, %d) : (tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2xi32>
  %none = onnx.Range(%6, %1, %2) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<0xi64>
  %float = onnx.Range(%f, %f, %f) : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<1xf32>
  %zero = onnx.Range(%1, %6, %0) : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  return %up, %down, %none, %float, %zero : tensor<3xi64>, tensor<2xi32>, tensor<0xi64>, tensor<1xf32>, tensor<?xi64>
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @arithmetic
// CHECK-DAG:     %[[ADD:.+]] = onnx.Constant() {value = dense<[-5, 9]> : tensor<2xi64>}
// CHECK-DAG:     %[[SUB:.+]] = onnx.Constant() {value = dense<[-9, 5]> : tensor<2xi64>}
// CHECK-DAG:     %[[MUL:.+]] = onnx.Constant() {value = dense<[-14, 14]> : tensor<2xi64>}
// CHECK-DAG:     %[[DIV:.+]] = onnx.Constant() {value = dense<[-3, 3]> : tensor<2xi64>}
// CHECK-DAG:     %[[MIN:.+]] = onnx.Constant() {value = dense<[-7, 2]> : tensor<2xi64>}
// CHECK-DAG:     %[[MAX:.+]] = onnx.Constant() {value = dense<[2, 7]> : tensor<2xi64>}
// CHECK:         return %[[ADD]], %[[SUB]], %[[MUL]], %[[DIV]], %[[MIN]], %[[MAX]]
func.func @arithmetic() -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) {
  %x = onnx.initializer dense<[-7, 7]> : tensor<2xi64>
  %y = onnx.initializer dense<2> : tensor<i64>
  %0 = onnx.Add(%x, %y) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %1 = onnx.Sub(%x, %y) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %2 = onnx.Mul(%y, %x) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  %3 = onnx.Div(%x, %y) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  %4 = onnx.Min(%x, %y, %y) : (tensor<2xi64>, tensor<i64>, tensor<i64>) -> tensor<2xi64>
  %5 = onnx.Max(%x, %y) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>
}

// -----

// Unsigned types have their own order and division.
// CHECK-LABEL: func.func @unsigned
// CHECK-DAG:     %[[DIV:.+]] = onnx.Constant() {value = dense<127> : tensor<ui8>}
// CHECK-DAG:     %[[MAX:.+]] = onnx.Constant() {value = dense<255> : tensor<ui8>}
// CHECK:         return %[[DIV]], %[[MAX]]
func.func @unsigned() -> (tensor<ui8>, tensor<ui8>) {
  %x = onnx.initializer dense<255> : tensor<ui8>
  %y = onnx.initializer dense<2> : tensor<ui8>
  %0 = onnx.Div(%x, %y) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %1 = onnx.Max(%y, %x) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  return %0, %1 : tensor<ui8>, tensor<ui8>
}

// -----

// Overflow, division by zero and floats are left to the engine.
// CHECK-LABEL: func.func @left_open
// CHECK:         onnx.Add
// CHECK:         onnx.Sub
// CHECK:         onnx.Mul
// CHECK:         onnx.Div
// CHECK:         onnx.Div
// CHECK:         onnx.Add
func.func @left_open() -> (tensor<i32>, tensor<ui8>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>) {
  %max = onnx.initializer dense<2147483647> : tensor<i32>
  %one = onnx.initializer dense<1> : tensor<ui8>
  %two = onnx.initializer dense<2> : tensor<ui8>
  %low = onnx.initializer dense<-9223372036854775808> : tensor<i64>
  %minus = onnx.initializer dense<-1> : tensor<i64>
  %zero = onnx.initializer dense<0> : tensor<i64>
  %f = onnx.initializer dense<1.0> : tensor<f32>
  %0 = onnx.Add(%max, %max) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %1 = onnx.Sub(%one, %two) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  %2 = onnx.Mul(%low, %minus) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %3 = onnx.Div(%low, %minus) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %4 = onnx.Div(%low, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %5 = onnx.Add(%f, %f) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2, %3, %4, %5 : tensor<i32>, tensor<ui8>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @logic
// CHECK-DAG:     %[[EQUAL:.+]] = onnx.Constant() {value = dense<{{\[\[}}true, false], [false, true]]> : tensor<2x2xi1>}
// CHECK-DAG:     %[[NOT:.+]] = onnx.Constant() {value = dense<{{\[\[}}false, true], [true, false]]> : tensor<2x2xi1>}
// CHECK:         return %[[EQUAL]], %[[NOT]]
func.func @logic() -> (tensor<2x2xi1>, tensor<2x2xi1>) {
  %x = onnx.initializer dense<[-1, 2]> : tensor<2xi64>
  %y = onnx.initializer dense<[[-1], [2]]> : tensor<2x1xi64>
  %0 = onnx.Equal(%x, %y) : (tensor<2xi64>, tensor<2x1xi64>) -> tensor<2x2xi1>
  %1 = onnx.Not(%0) : (tensor<2x2xi1>) -> tensor<2x2xi1>
  return %0, %1 : tensor<2x2xi1>, tensor<2x2xi1>
}

//===----------------------------------------------------------------------===//
// Cast
//===----------------------------------------------------------------------===//

// -----

// 2049 lies between two f16 values, 2^24 + 1 between two f32 values: ties to even.
// CHECK-LABEL: func.func @cast_rounds_to_even
// CHECK-DAG:     %[[F16:.+]] = onnx.Constant() {value = dense<[2.048000e+03, 2.052000e+03, 0x7C00, 0xFC00, 5.960460e-08, 0.000000e+00]> : tensor<6xf16>}
// CHECK-DAG:     %[[BF16:.+]] = onnx.Constant() {value = dense<[1.000000e+00, 1.015630e+00]> : tensor<2xbf16>}
// CHECK-DAG:     %[[F32:.+]] = onnx.Constant() {value = dense<0x4B800000> : tensor<f32>}
// CHECK:         return %[[F16]], %[[BF16]], %[[F32]]
func.func @cast_rounds_to_even() -> (tensor<6xf16>, tensor<2xbf16>, tensor<f32>) {
  %x = onnx.initializer dense<[2049.0, 2051.0, 65520.0, -1.0e9, 5.0e-8, 2.98e-8]> : tensor<6xf32>
  %y = onnx.initializer dense<[1.00390625, 1.01171875]> : tensor<2xf64>
  %z = onnx.initializer dense<16777217> : tensor<i64>
  %0 = onnx.Cast(%x) {to = 10 : i64} : (tensor<6xf32>) -> tensor<6xf16>
  %1 = onnx.Cast(%y) {to = 16 : i64} : (tensor<2xf64>) -> tensor<2xbf16>
  %2 = onnx.Cast(%z) {to = 1 : i64} : (tensor<i64>) -> tensor<f32>
  return %0, %1, %2 : tensor<6xf16>, tensor<2xbf16>, tensor<f32>
}

// -----

// Integers keep their low bits, floats lose their fraction, bools are 0 or 1.
// CHECK-LABEL: func.func @cast_to_integers
// CHECK-DAG:     %[[LOW:.+]] = onnx.Constant() {value = dense<-56> : tensor<i8>}
// CHECK-DAG:     %[[TRUNC:.+]] = onnx.Constant() {value = dense<[-2, 2]> : tensor<2xi32>}
// CHECK-DAG:     %[[ONE:.+]] = onnx.Constant() {value = dense<[1, 0]> : tensor<2xi64>}
// CHECK-DAG:     %[[BOOL:.+]] = onnx.Constant() {value = dense<[true, false, true]> : tensor<3xi1>}
// CHECK-DAG:     %[[WIDE:.+]] = onnx.Constant() {value = dense<255> : tensor<i64>}
// CHECK:         return %[[LOW]], %[[TRUNC]], %[[ONE]], %[[BOOL]], %[[WIDE]]
func.func @cast_to_integers() -> (tensor<i8>, tensor<2xi32>, tensor<2xi64>, tensor<3xi1>, tensor<i64>) {
  %a = onnx.initializer dense<200> : tensor<i16>
  %b = onnx.initializer dense<[-2.75, 2.75]> : tensor<2xf32>
  %c = onnx.initializer dense<[true, false]> : tensor<2xi1>
  %d = onnx.initializer dense<[0.25, -0.0, 0x7FC00000]> : tensor<3xf32>
  %e = onnx.initializer dense<255> : tensor<ui8>
  %0 = onnx.Cast(%a) {to = 3 : i64} : (tensor<i16>) -> tensor<i8>
  %1 = onnx.Cast(%b) {to = 6 : i64} : (tensor<2xf32>) -> tensor<2xi32>
  %2 = onnx.Cast(%c) {to = 7 : i64} : (tensor<2xi1>) -> tensor<2xi64>
  %3 = onnx.Cast(%d) {to = 9 : i64} : (tensor<3xf32>) -> tensor<3xi1>
  %4 = onnx.Cast(%e) {to = 7 : i64} : (tensor<ui8>) -> tensor<i64>
  return %0, %1, %2, %3, %4 : tensor<i8>, tensor<2xi32>, tensor<2xi64>, tensor<3xi1>, tensor<i64>
}

// -----

// Out of range, NaN, and 8-bit floats, whose overflow an attribute decides.
// CHECK-LABEL: func.func @cast_left_open
// CHECK:         onnx.Cast
// CHECK:         onnx.Cast
// CHECK:         onnx.Cast
func.func @cast_left_open() -> (tensor<i8>, tensor<i32>, tensor<f8E4M3FN>) {
  %big = onnx.initializer dense<300.0> : tensor<f32>
  %nan = onnx.initializer dense<0x7FC00000> : tensor<f32>
  %0 = onnx.Cast(%big) {to = 3 : i64} : (tensor<f32>) -> tensor<i8>
  %1 = onnx.Cast(%nan) {to = 6 : i64} : (tensor<f32>) -> tensor<i32>
  %2 = onnx.Cast(%big) {to = 17 : i64} : (tensor<f32>) -> tensor<f8E4M3FN>
  return %0, %1, %2 : tensor<i8>, tensor<i32>, tensor<f8E4M3FN>
}

//===----------------------------------------------------------------------===//
// Identity and constants
//===----------------------------------------------------------------------===//

// -----

// One that ends a graph gives an output its name, so it stays.
// CHECK-LABEL: func.func @identity
// CHECK-SAME:    %[[X:.+]]: tensor<2xf32>
// CHECK-NEXT:    %[[Y:.+]] = onnx.Relu(%[[X]])
// CHECK-NEXT:    %[[Z:.+]] = onnx.Identity(%[[Y]])
// CHECK-NEXT:    return %[[Z]]
func.func @identity(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = onnx.Identity(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = onnx.Cast(%0) {to = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %2 = onnx.Relu(%1) : (tensor<2xf32>) -> tensor<2xf32>
  %3 = onnx.Identity(%2) : (tensor<2xf32>) -> tensor<2xf32>
  return %3 : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @identity_that_forgets_a_size
// CHECK:         onnx.Identity
func.func @identity_that_forgets_a_size(%x: tensor<2xf32>) -> tensor<?xf32> {
  %0 = onnx.Identity(%x) : (tensor<2xf32>) -> tensor<?xf32>
  %1 = onnx.Relu(%0) : (tensor<?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// Initializers are not merged; one that is a graph input stays even unused.
// CHECK-LABEL: func.func @initializers
// CHECK-NEXT:    onnx.initializer dense<1> : tensor<1xi64> {input_index = 0 : i64, onnx.outputs = ["a"]}
// CHECK-NEXT:    %[[B:.+]] = onnx.initializer dense<1> : tensor<1xi64> {onnx.outputs = ["b"]}
// CHECK-NEXT:    return %[[B]]
func.func @initializers() -> tensor<1xi64> {
  %0 = onnx.initializer dense<1> : tensor<1xi64> {input_index = 0 : i64, onnx.outputs = ["a"]}
  %1 = onnx.initializer dense<1> : tensor<1xi64> {onnx.outputs = ["b"]}
  %2 = onnx.initializer dense<1> : tensor<1xi64> {onnx.outputs = ["unused"]}
  return %1 : tensor<1xi64>
}

// -----

// A constant of a body stays in the body.
// CHECK-LABEL: func.func @constant_in_a_body
// CHECK:         onnx.If
// CHECK-NEXT:      %[[TWO:.+]] = onnx.Constant() {value = dense<2> : tensor<1xi64>}
// CHECK-NEXT:      onnx.yield %[[TWO]]
func.func @constant_in_a_body(%c: tensor<i1>, %x: tensor<2xf32>, %y: tensor<1xi64>) -> tensor<1xi64> {
  %0 = onnx.If(%c) ({
    %1 = onnx.Shape(%x) : (tensor<2xf32>) -> tensor<1xi64>
    onnx.yield %1 : tensor<1xi64>
  }, {
    onnx.yield %y : tensor<1xi64>
  }) : (tensor<i1>) -> tensor<1xi64>
  return %0 : tensor<1xi64>
}
