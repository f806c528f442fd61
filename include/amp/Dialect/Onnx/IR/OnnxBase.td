// The onnx dialect, its types and attributes.

#ifndef AMP_DIALECT_ONNX_IR_ONNXBASE
#define AMP_DIALECT_ONNX_IR_ONNXBASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::amp::onnx";
  let summary = "ONNX models, one operation per operator of the pinned opset";
  let description = [{
    Operators are generated from the schemas of opset 26 (`data/onnx-26.json`). Beside them stand `onnx.model`,
    `onnx.initializer`, `onnx.yield` and `onnx.node`, which hold what a model file has and an operator does not. The mapping
    between files and IR is in `docs/rationale/onnx.md`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let extraClassDeclaration = [{
    /// Value names of an op's present results: array of strings.
    static constexpr llvm::StringLiteral getOutputsAttrName() { return "onnx.outputs"; }
    /// Name of a node; of an argument or result of the graph function.
    static constexpr llvm::StringLiteral getNameAttrName() { return "onnx.name"; }
    /// Default of an overridable graph input.
    static constexpr llvm::StringLiteral getDefaultAttrName() { return "onnx.default"; }
    static constexpr llvm::StringLiteral getDocStringAttrName() { return "onnx.doc_string"; }
    /// What a proto says beyond the modelled fields, as bytes of that proto.
    static constexpr llvm::StringLiteral getVerbatimAttrName() { return "onnx.verbatim"; }
    /// Attribute name -> TensorProto.name of a tensor attribute.
    static constexpr llvm::StringLiteral getTensorNamesAttrName() { return "onnx.tensor_names"; }
    /// The graph dictionary on a function.
    static constexpr llvm::StringLiteral getGraphAttrName() { return "onnx.graph"; }

  private:
    void registerOps();
    void registerTypes();
    void registerAttributes();
    ::mlir::LogicalResult verifyNameAttribute(::mlir::Operation *op, ::mlir::NamedAttribute attribute);

  public:
  }];
}

class Onnx_Type<string name, string typeMnemonic, list<Trait> traits = []> : TypeDef<Onnx_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

class Onnx_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Onnx_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Onnx_MapType : Onnx_Type<"Map", "map"> {
  let summary = "Map from keys to values, as `TypeProto.Map`";
  let parameters = (ins "::mlir::Type":$keyType, "::mlir::Type":$valueType);
  let assemblyFormat = "`<` $keyType `,` $valueType `>`";
}

def Onnx_OpaqueType : Onnx_Type<"Opaque", "opaque"> {
  let summary = "A type only its domain knows, as `TypeProto.Opaque`";
  let parameters = (ins StringRefParameter<>:$domain, StringRefParameter<>:$name);
  let assemblyFormat = "`<` $domain `,` $name `>`";
}

def Onnx_OptionalType : Onnx_Type<"Optional", "optional"> {
  let summary = "A tensor or sequence, or nothing, as `TypeProto.Optional`";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def Onnx_SequenceType : Onnx_Type<"Sequence", "seq"> {
  let summary = "Sequence of values of one type, as `TypeProto.Sequence`";
  let parameters = (ins "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $elementType `>`";
}

def Onnx_SparseTensorType : Onnx_Type<"SparseTensor", "sparse_tensor"> {
  let summary = "Sparse tensor, as `TypeProto.SparseTensor`";
  let parameters = (ins "::mlir::Type":$tensorType);
  let assemblyFormat = "`<` $tensorType `>`";
}

def Onnx_StringType : Onnx_Type<"String", "string"> {
  let summary = "Element type of tensors of byte strings";
}

def Onnx_UnknownType : Onnx_Type<"Unknown", "unknown"> {
  let summary = "Type of a value whose type neither the file nor inference tells";
}

def Onnx_DimsAttr : Onnx_Attr<"Dims", "dims"> {
  let summary = "Names of the dimensions of a tensor type";
  let description = [{
    One entry per dimension: a string, the `dim_param` (empty: none), or an integer, a `dim_value` that is no size (such as -1).

    Example: `tensor<?x768xf32, #onnx.dims<"batch", "">>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::Attribute">:$names);
  let assemblyFormat = "`<` $names `>`";
  let extraClassDeclaration = [{
    /// The name of dimension `index`; empty when it has none.
    ::llvm::StringRef getName(unsigned index) const;
  }];
}

def Onnx_OpsetAttr : Onnx_Attr<"Opset", "opset"> {
  let summary = "One opset import: a domain (empty for ai.onnx) and its version";
  let parameters = (ins StringRefParameter<>:$domain, "int64_t":$version);
  let assemblyFormat = "`<` $domain `,` $version `>`";
}

def Onnx_ProtoAttr : Onnx_Attr<"Proto", "proto"> {
  let summary = "Bytes of a protobuf message that the IR does not model";
  let description = "`kind` is the message's name, for instance `SparseTensorProto`.";
  let parameters = (ins StringRefParameter<>:$kind, StringRefParameter<>:$bytes);
  let assemblyFormat = "`<` $kind `,` $bytes `>`";
}

#endif // AMP_DIALECT_ONNX_IR_ONNXBASE
