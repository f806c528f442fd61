// Passes of the onnx dialect.

#ifndef AMP_DIALECT_ONNX_TRANSFORMS_PASSES
#define AMP_DIALECT_ONNX_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def BindDimsPass : Pass<"onnx-bind-dims", "::mlir::func::FuncOp"> {
  let summary = "Replace symbolic dimensions by numbers";
  let description = [{
    Gives the symbolic dimensions of a function's arguments the sizes that
    `bind` says, as `name=size`; a dimension without a name is called
    `<argument>.<axis>`. A name is replaced wherever a type has it. Then types
    are inferred again and what computes shapes is folded, in turns, so that
    targets of Reshape and the like become constants.

    A name that no argument has is an error, and so are dimensions of arguments
    that are left without a size: the message lists them all.

    ```mlir
    func.func @f(%x: tensor<?x4xf32, #onnx.dims<"batch", "">>) -> tensor<?x4xf32> {
      %0 = onnx.Relu(%x) : (tensor<?x4xf32, #onnx.dims<"batch", "">>) -> tensor<?x4xf32>
      return %0 : tensor<?x4xf32>
    }
    ```
    becomes, with `bind=batch=32`,
    ```mlir
    func.func @f(%x: tensor<32x4xf32>) -> tensor<32x4xf32> {
      %0 = onnx.Relu(%x) : (tensor<32x4xf32>) -> tensor<32x4xf32>
      return %0 : tensor<32x4xf32>
    }
    ```
  }];
  let options = [
    ListOption<"bind", "bind", "std::string",
               "Sizes of symbolic dimensions, as name=size">
  ];
  let dependentDialects = ["::amp::onnx::OnnxDialect"];
}

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
