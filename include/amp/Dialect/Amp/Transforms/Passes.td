// Passes of the amp dialect.

#ifndef AMP_DIALECT_AMP_TRANSFORMS_PASSES
#define AMP_DIALECT_AMP_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InlineRegionsPass : Pass<"amp-inline-regions"> {
  let summary = "Put the ops of autocast regions in the place of the regions";
  let description = [{
    `amp.autocast` matters while precision is assigned; afterwards its body is
    moved to where the op stands. `amp-materialize-casts` does the same to the
    regions of ops with decisions; this pass is for graphs that are not to be autocast.

    ```mlir
    %y = amp.autocast dtype = f16 -> tensor<4xf32> {
      %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
      amp.yield %e : tensor<4xf32>
    }
    return %y : tensor<4xf32>
    ```
    becomes
    ```mlir
    %e = onnx.Exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %e : tensor<4xf32>
    ```
  }];
}

#endif // AMP_DIALECT_AMP_TRANSFORMS_PASSES
