// Base class of the operations generated from schemas.

#ifndef AMP_DIALECT_ONNX_IR_ONNXSCHEMAOP
#define AMP_DIALECT_ONNX_IR_ONNXSCHEMAOP

include "amp/Dialect/Onnx/IR/OnnxBase.td"
include "amp/Dialect/Onnx/IR/OnnxInterfaces.td"
include "amp/Dialect/Onnx/IR/OnnxTypeSets.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// One operator, since the given opset. Every operator has the same assembly form:
/// `onnx.Name(%a, _, %b) {attributes} : (type, _, type) -> type`, with `_` for an absent optional value.
class Onnx_SchemaOp<string name, int since, list<Trait> traits>
    : Op<Onnx_Dialect, name, !listconcat(traits, [DeclareOpInterfaceMethods<Onnx_SchemaOpInterface>])> {
  let summary = "ONNX operator " # name # ", as of opset " # since;
  let description = "Semantics: the operator specification, [" # name # "](https://onnx.ai/onnx/operators/onnx__" # name # ".html), version " # since # ".";
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  // Operands and results by formal position, null where absent.
  let builders = [OpBuilder<(ins "::llvm::ArrayRef<::mlir::Value>":$inputs, "::llvm::ArrayRef<::mlir::Type>":$resultTypes,
                                 CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attributes)>];
  let extraClassDefinition = [{
    const ::amp::onnx::OpSpec &$cppClass::getSpec() {
      static const ::amp::onnx::OpSpec &spec = *::amp::onnx::lookupSpec("}] # name # [{");
      return spec;
    }
    void $cppClass::build(::mlir::OpBuilder &, ::mlir::OperationState &state, ::llvm::ArrayRef<::mlir::Value> inputs,
                          ::llvm::ArrayRef<::mlir::Type> resultTypes, ::llvm::ArrayRef<::mlir::NamedAttribute> attributes) {
      if (::mlir::failed(::amp::onnx::buildSchemaOp(state, getSpec(), inputs, resultTypes)))
        ::llvm::report_fatal_error("operands or results do not fit the formal parameters of }] # name # [{");
      state.addAttributes(attributes);
      for (unsigned i = 0; i < getSpec().regions.size(); ++i)
        state.addRegion();
    }
    ::mlir::ParseResult $cppClass::parse(::mlir::OpAsmParser &parser, ::mlir::OperationState &result) {
      return ::amp::onnx::detail::parseSchemaOp(parser, result, getSpec());
    }
    void $cppClass::print(::mlir::OpAsmPrinter &printer) { ::amp::onnx::detail::printSchemaOp(printer, *this); }
  }];
}

#endif // AMP_DIALECT_ONNX_IR_ONNXSCHEMAOP
