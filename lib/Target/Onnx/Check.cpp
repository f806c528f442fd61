//===- Check.cpp - Whether a module has the form of an ONNX model ---------===//
// One walk before anything is planned, so that the rest need not look again.
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "Names.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using amp::onnx::OnnxDialect;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

static bool isElementType(Type type) {
  return proto::exportElementType(type) != ::onnx::TensorProto::UNDEFINED;
}

static bool hasOnnxForm(Type type) {
  if (auto tensor = dyn_cast<TensorType>(type))
    return isElementType(tensor.getElementType());
  if (auto sequence = dyn_cast<amp::onnx::SequenceType>(type))
    return hasOnnxForm(sequence.getElementType());
  if (auto optional = dyn_cast<amp::onnx::OptionalType>(type))
    return hasOnnxForm(optional.getElementType());
  return isa<OnnxDialect>(type.getDialect());
}

/// Whether `value` is the form of some kind of attribute, as
/// docs/rationale/onnx.md has it.
static bool hasOnnxForm(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integer.getType().isSignlessInteger(64);
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, llvm::IsaPred<StringAttr>);
  if (auto type = dyn_cast<TypeAttr>(value))
    return hasOnnxForm(type.getValue());
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getType().isF32();
  if (auto tensor = dyn_cast<ElementsAttr>(value))
    return isa<DenseElementsAttr, DenseResourceElementsAttr,
               DenseStringElementsAttr>(value) &&
           isElementType(tensor.getElementType());
  return isa<StringAttr, DenseI64ArrayAttr, DenseF32ArrayAttr,
             amp::onnx::ProtoAttr>(value);
}

/// Fails when `bytes`, which are kept as they are, are no message of that type.
template <typename Message>
static LogicalResult checkBytes(Operation *op, StringAttr bytes) {
  Message message;
  if (!bytes || message.ParsePartialFromString(bytes.str()))
    return success();
  return op->emitError() << "has unmodelled fields ('verbatim') that are not "
                         << "the bytes of a " << message.GetTypeName();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static LogicalResult checkAttribute(Operation *op, StringRef name,
                                    Attribute value) {
  if (!value || hasOnnxForm(value))
    return success();
  return op->emitError() << "has the attribute '" << name << "' of the form "
                         << value << ", which no attribute of ONNX has";
}

static LogicalResult checkNode(Operation *op) {
  if (failed(checkBytes<::onnx::NodeProto>(
          op,
          op->getAttrOfType<StringAttr>(OnnxDialect::getVerbatimAttrName()))))
    return failure();
  if (auto schemaOp = dyn_cast<amp::onnx::SchemaOpInterface>(op)) {
    for (const amp::onnx::AttrSpec &spec : schemaOp.getSpec().attributes)
      if (failed(checkAttribute(
              op, spec.name,
              op->getInherentAttr(spec.odsName).value_or(Attribute()))))
        return failure();
    return success();
  }
  if (DictionaryAttr fields = cast<amp::onnx::NodeOp>(op).getFieldsAttr())
    for (NamedAttribute field : fields)
      if (failed(checkAttribute(op, field.getName(), field.getValue())))
        return failure();
  for (Type type : op->getResultTypes())
    if (!hasOnnxForm(type))
      return op->emitError()
             << "has a result of type " << type << ", which ONNX has not";
  return success();
}

/// Checks the end of a graph and what is said there about it.
static LogicalResult checkTerminator(Operation *op) {
  DictionaryAttr graph = getGraphDictionary(op->getBlock());
  if (!graph)
    return success();
  return checkBytes<::onnx::GraphProto>(op,
                                        graph.getAs<StringAttr>("verbatim"));
}

static LogicalResult checkOperation(Operation *op) {
  if (isa<amp::onnx::SchemaOpInterface, amp::onnx::NodeOp>(op))
    return checkNode(op);
  if (isa<amp::onnx::YieldOp, func::ReturnOp>(op))
    return checkTerminator(op);
  if (auto initializer = dyn_cast<amp::onnx::InitializerOp>(op)) {
    if (failed(checkAttribute(op, "value", initializer.getValue())))
      return failure();
    return checkBytes<::onnx::TensorProto>(
        op, op->getAttrOfType<StringAttr>(OnnxDialect::getVerbatimAttrName()));
  }
  if (isa<CastOp>(op))
    return success();
  if (isa<AutocastOp>(op))
    return op->emitError() << "'" << op->getName()
                           << "' cannot be written to an ONNX file; run "
                              "--autocast or --amp-inline-regions first";
  return op->emitError() << "'" << op->getName()
                         << "' cannot be written to an ONNX file; lower it to "
                            "operations of the onnx dialect first";
}

static LogicalResult checkSignature(func::FuncOp function) {
  FunctionType signature = function.getFunctionType();
  for (auto [kind, types] : {std::pair("input", signature.getInputs()),
                             std::pair("output", signature.getResults())})
    for (auto [index, type] : llvm::enumerate(types))
      if (!hasOnnxForm(type))
        return function.emitError()
               << kind << " " << index << " of the graph has the type " << type
               << ", which ONNX has not";
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(checkAttribute(
            function, OnnxDialect::getDefaultAttrName(),
            function.getArgAttr(i, OnnxDialect::getDefaultAttrName()))))
      return failure();
  return success();
}

LogicalResult amp::onnx_export::checkFunction(func::FuncOp function) {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitError("expects a body of one block to write as the "
                              "graph of an ONNX model");
  if (failed(checkSignature(function)))
    return failure();
  WalkResult result =
      function.getBody().walk<WalkOrder::PreOrder>([](Operation *op) {
        return failed(checkOperation(op)) ? WalkResult::interrupt()
                                          : WalkResult::advance();
      });
  return failure(result.wasInterrupted());
}

LogicalResult amp::onnx_export::checkModel(amp::onnx::ModelOp model) {
  ArrayAttr props = model.getMetadataPropsAttr();
  auto isPair = [](Attribute entry) {
    auto pair = dyn_cast<ArrayAttr>(entry);
    return pair && pair.size() == 2 &&
           llvm::all_of(pair, llvm::IsaPred<StringAttr>);
  };
  if (props && !llvm::all_of(props, isPair))
    return model.emitError() << "expects 'metadata_props' to hold pairs of "
                                "strings, but got "
                             << props;
  return checkBytes<::onnx::ModelProto>(model, model.getVerbatimAttr());
}
