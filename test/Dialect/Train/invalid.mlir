// RUN: amp-opt %s --split-input-file --verify-diagnostics

func.func @inner_sizes(%a: tensor<8x4xf32>, %b: tensor<5x3xf32>) -> tensor<8x3xf32> {
  // expected-error @below {{'train.matmul' op has operands that do not multiply: 'tensor<8x4xf32>' and 'tensor<5x3xf32>'}}
  %0 = train.matmul %a, %b : (tensor<8x4xf32>, tensor<5x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

func.func @batches(%a: tensor<2x8x4xf32>, %b: tensor<3x4x3xf32>) -> tensor<2x8x3xf32> {
  // expected-error @below {{has operands that do not multiply}}
  %0 = train.matmul %a, %b : (tensor<2x8x4xf32>, tensor<3x4x3xf32>) -> tensor<2x8x3xf32>
  return %0 : tensor<2x8x3xf32>
}

// -----

func.func @element_types(%a: tensor<8x4xf32>, %b: tensor<4x3xf16>) -> tensor<8x3xf32> {
  // expected-error @below {{'train.matmul' op expects operands of one element type, but got 'f32' and 'f16'}}
  %0 = train.matmul %a, %b : (tensor<8x4xf32>, tensor<4x3xf16>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

func.func @vector(%a: tensor<4xf32>, %b: tensor<4x3xf32>) -> tensor<3xf32> {
  // expected-error @below {{'train.matmul' op expects operands of at least two dimensions}}
  %0 = train.matmul %a, %b : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

func.func @result(%a: tensor<8x4xf32>, %b: tensor<4x3xf32>) -> tensor<3x8xf32> {
  // expected-error @below {{'train.matmul' op expects a result of shape (8, 3), but got 'tensor<3x8xf32>'}}
  %0 = train.matmul %a, %b : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

func.func @integer_seed() -> tensor<i64> {
  // expected-error @below {{'train.seed' op result #0 must be ranked tensor of}}
  %0 = train.seed : tensor<i64>
  return %0 : tensor<i64>
}

// -----

// expected-error @below {{expects 'train.role' to be the name of a role, but got "weight"}}
func.func @role(%w: tensor<4xf32> {train.role = "weight"}) {
  return
}

// -----

// expected-error @below {{expects 'train.alias' to be the number of an argument (i64), but got 1 : i64}}
func.func @alias(%w: tensor<4xf32>) -> (tensor<4xf32> {train.alias = 1 : i64}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{has an unknown attribute 'train.owner' = "w"}}
func.func @unknown(%w: tensor<4xf32> {train.owner = "w"}) {
  return
}
