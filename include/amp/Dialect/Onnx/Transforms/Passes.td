// Passes of the onnx dialect.

#ifndef AMP_DIALECT_ONNX_TRANSFORMS_PASSES
#define AMP_DIALECT_ONNX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def InferTypesPass : Pass<"onnx-infer-types", "::mlir::func::FuncOp"> {
  let summary = "Infer the types of all values again and refine them";
  let description = [{
    Runs the operators' type inference in program order, bodies of control flow
    before the op they belong to, and merges what it says into the present
    types: sizes and names of dimensions that were open become known. Where the
    two contradict each other the inferred type holds and a warning names the
    value. An op whose operands can't be what its operator takes is an error.

    Results of the function are refined, too; its arguments keep their types, and
    so do results of `onnx.node` and values that an op of another dialect reads.

    ```mlir
    %0 = onnx.Relu(%x) : (tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<*xf32>
    ```
    becomes
    ```mlir
    %0 = onnx.Relu(%x) : (tensor<?x4xf32, #onnx.dims<"N", "">>) -> tensor<?x4xf32, #onnx.dims<"N", "">>
    ```
  }];
  let statistics = [
    Statistic<"numConflicts", "num-conflicts", "Values declared otherwise than inferred">,
    Statistic<"numRefined", "num-refined", "Values that got another type">
  ];
}

#endif // AMP_DIALECT_ONNX_TRANSFORMS_PASSES
