// Operations that hold what a model file has and an operator does not.

#ifndef AMP_DIALECT_ONNX_IR_ONNXOPS
#define AMP_DIALECT_ONNX_IR_ONNXOPS

include "amp/Dialect/Onnx/IR/OnnxBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Onnx_Op<string mnemonic, list<Trait> traits = []> : Op<Onnx_Dialect, mnemonic, traits>;

def Onnx_InitializerOp : Onnx_Op<"initializer", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A constant stored in the model file beside the nodes";
  let description = [{
    `value` may live in the mapped file. With `input_index` the initializer is listed among the graph inputs at that
    position too, as IR versions before 4 demand.

    It is part of what the file says, so that canonicalization neither merges equal ones nor moves them; an unused one goes
    unless it is an input.

    Example:
    ```mlir
    %w = onnx.initializer dense<1.0> : tensor<2x2xf32> {onnx.outputs = ["w"]}
    ```
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<I64Attr>:$input_index);
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let hasCustomAssemblyFormat = 1;
}

def Onnx_ModelOp : Onnx_Op<"model"> {
  let summary = "What a model file says beside its graph";
  let description = [{
    At most one per module. `verbatim` is a `ModelProto` with the fields that the IR does not model (functions, training
    information, unknown fields).

    Example:
    ```mlir
    onnx.model ir_version 8 opsets [#onnx.opset<"", 17>] {producer_name = "pytorch"}
    ```
  }];
  let arguments = (ins I64Attr:$ir_version, TypedArrayAttrBase<Onnx_OpsetAttr, "opset imports">:$opsets,
      OptionalAttr<StrAttr>:$producer_name, OptionalAttr<StrAttr>:$producer_version, OptionalAttr<StrAttr>:$model_domain,
      OptionalAttr<I64Attr>:$model_version, OptionalAttr<StrAttr>:$doc_string, OptionalAttr<ArrayAttr>:$metadata_props,
      OptionalAttr<StrAttr>:$verbatim);
  let assemblyFormat = "`ir_version` $ir_version `opsets` $opsets attr-dict";
  let extraClassDeclaration = [{
    /// Version of the import of `domain`, if any ("" and "ai.onnx" are the same domain).
    std::optional<int64_t> getOpset(::llvm::StringRef domain);
  }];
}

def Onnx_NodeOp : Onnx_Op<"node", [RecursiveMemoryEffects]> {
  let summary = "A node that no operation models";
  let description = [{
    Custom domains, calls of local functions, operators newer than the pinned opset, operator versions our table has no step for, and
    nodes with operands of unknown type. Keeps every field: `operand_present` and `result_present` tell which positions are
    given; each region is the graph attribute that `region_names` names; `fields` are its other attributes.

    Example:
    ```mlir
    %y = onnx.node "com.example" "Foo" (%x) {fields = {k = 3 : i64}, opset = 1 : i64} : (tensor<4xf32>) -> !onnx.unknown
    ```
  }];
  let arguments = (ins StrAttr:$op_domain, StrAttr:$op_type, Variadic<AnyType>:$inputs, OptionalAttr<DictionaryAttr>:$fields,
      OptionalAttr<I64Attr>:$opset, OptionalAttr<DenseBoolArrayAttr>:$operand_present,
      OptionalAttr<DenseBoolArrayAttr>:$result_present, OptionalAttr<StrArrayAttr>:$region_names);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "$op_domain $op_type `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs) $bodies";
  let hasVerifier = 1;
}

def Onnx_YieldOp : Onnx_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "End of a graph that is an attribute of a node";
  let description = [{
    `graph` is the graph dictionary of `docs/rationale/onnx.md`.

    Example:
    ```mlir
    onnx.yield %a, %b {graph = {name = "then", outputs = ["a", "b"]}} : tensor<4xf32>, tensor<i1>
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, OptionalAttr<DictionaryAttr>:$graph);
  let assemblyFormat = "($values^)? attr-dict (`:` type($values)^)?";
}

#endif // AMP_DIALECT_ONNX_IR_ONNXOPS
