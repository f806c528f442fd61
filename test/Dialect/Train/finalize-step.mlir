// RUN: amp-opt %s --split-input-file --train-finalize-step | FileCheck %s

// Unused arguments go, numbers of aliased ones follow.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: tensor<1xf32>, %[[B:[a-z0-9_]+]]: tensor<2xf32>)
// CHECK-SAME:    -> (tensor<1xf32> {train.alias = 0 : i64}, tensor<2xf32> {train.alias = 1 : i64})
func.func @unused(%0: tensor<5xf32>, %a: tensor<1xf32>, %1: tensor<6xf32>, %b: tensor<2xf32>) -> (tensor<1xf32> {train.alias = 1 : i64}, tensor<2xf32> {train.alias = 3 : i64}) {
  return %a, %b : tensor<1xf32>, tensor<2xf32>
}

// -----

// What is written stays, even if it is never read.
// CHECK-LABEL: func.func @train_step(
// CHECK-SAME:    %[[A:[a-z0-9_]+]]: tensor<1xf32>, %[[B:[a-z0-9_]+]]: tensor<1xf32>)
// CHECK-SAME:    train.alias = 1 : i64
func.func @written(%a: tensor<1xf32>, %b: tensor<1xf32>) -> (tensor<1xf32> {train.alias = 1 : i64}) {
  return %a : tensor<1xf32>
}
