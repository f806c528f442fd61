// RUN: amp-opt %s --split-input-file --train-split-step --verify-diagnostics

// expected-error @+1 {{there is no function 'train_step' to split: run --build-training-step first}}
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{nothing checks gradients, so there is no place to split: run --train-add-optimizer first}}
func.func @train_step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func @train_step(%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %0, %1 = train.check_gradients %x : tensor<4xf32>
  // expected-error @+1 {{a second check of gradients in 'train_step': a step is split at its only one}}
  %2, %3 = train.check_gradients %x, %x : tensor<4xf32>, tensor<4xf32>
  return %0, %2 : tensor<f32>, tensor<f32>
}
