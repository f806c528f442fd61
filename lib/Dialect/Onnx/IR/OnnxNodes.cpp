//===- OnnxNodes.cpp - Code that treats all nodes alike -------------------===//
//
// Formal parameters by position, names, constants, and the check that type variables agree.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"

using namespace mlir;
using namespace amp::onnx;

StringRef amp::onnx::getOpType(Operation *op) {
  if (auto schemaOp = dyn_cast<SchemaOpInterface>(op))
    return schemaOp.getSpec().name;
  if (auto node = dyn_cast<NodeOp>(op))
    return node.getOpType();
  return {};
}

StringRef amp::onnx::getNodeName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(OnnxDialect::getNameAttrName());
  return name ? name.getValue() : StringRef();
}

StringRef amp::onnx::getValueName(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto names = result.getOwner()->getAttrOfType<ArrayAttr>(OnnxDialect::getOutputsAttrName());
    if (!names || result.getResultNumber() >= names.size())
      return {};
    return cast<StringAttr>(names[result.getResultNumber()]).getValue();
  }
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto function = dyn_cast<func::FuncOp>(parent)) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), OnnxDialect::getNameAttrName());
    return name ? name.getValue() : StringRef();
  }
  auto yield = dyn_cast<YieldOp>(argument.getOwner()->getTerminator());
  auto names = yield && yield.getGraphAttr() ? yield.getGraphAttr().getAs<ArrayAttr>("inputs") : ArrayAttr();
  if (!names || argument.getArgNumber() >= names.size())
    return {};
  return cast<StringAttr>(names[argument.getArgNumber()]).getValue();
}

void amp::onnx::setValueName(OpResult result, StringRef name) {
  Operation *op = result.getOwner();
  Builder builder(op->getContext());
  SmallVector<Attribute> names(op->getNumResults(), builder.getStringAttr(""));
  if (auto old = op->getAttrOfType<ArrayAttr>(OnnxDialect::getOutputsAttrName()))
    llvm::copy(old.getValue().take_front(names.size()), names.begin());
  names[result.getResultNumber()] = builder.getStringAttr(name);
  op->setAttr(OnnxDialect::getOutputsAttrName(), builder.getArrayAttr(names));
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

namespace {

/// Values by position: `getRange(i)` says where formal `i`'s values lie in `values`.
template <typename Range, typename Fn>
SmallVector<Value> positional(ArrayRef<FormalSpec> formals, Range values, Fn getRange) {
  SmallVector<Value> result;
  for (unsigned index = 0; index < formals.size(); ++index) {
    auto [first, count] = getRange(index);
    for (unsigned i = 0; i < count; ++i)
      result.push_back(values[first + i]);
    if (count == 0 && formals[index].kind == FormalKind::Optional)
      result.push_back(Value());
  }
  while (!result.empty() && !result.back())
    result.pop_back();
  return result;
}

template <typename Fn> unsigned formalOf(ArrayRef<FormalSpec> formals, unsigned valueIndex, Fn getRange) {
  for (unsigned index = 0; index < formals.size(); ++index) {
    auto [first, count] = getRange(index);
    if (valueIndex < first + count)
      return index;
  }
  llvm_unreachable("every operand and result belongs to a formal");
}

/// Splits `given` values by position over the formals; fails when they do not fit.
template <typename T>
LogicalResult distribute(ArrayRef<FormalSpec> formals, ArrayRef<T> given, SmallVectorImpl<T> &present,
                         SmallVectorImpl<int32_t> &sizes) {
  unsigned position = 0;
  for (const FormalSpec &formal : formals) {
    unsigned count = 0;
    if (formal.kind == FormalKind::Variadic) {
      for (; position < given.size(); ++position, ++count) {
        if (!given[position])
          return failure();
        present.push_back(given[position]);
      }
    } else if (position < given.size()) {
      if (T value = given[position++]) {
        present.push_back(value);
        count = 1;
      }
    }
    if (count == 0 && formal.kind == FormalKind::Single)
      return failure();
    sizes.push_back(count);
  }
  return success(position == given.size());
}

} // namespace

SmallVector<Value> amp::onnx::getPositionalInputs(Operation *op) {
  auto schemaOp = cast<SchemaOpInterface>(op);
  return positional(schemaOp.getSpec().inputs, op->getOperands(), [&](unsigned i) { return schemaOp.getInputRange(i); });
}

SmallVector<Value> amp::onnx::getPositionalOutputs(Operation *op) {
  auto schemaOp = cast<SchemaOpInterface>(op);
  return positional(schemaOp.getSpec().outputs, op->getResults(), [&](unsigned i) { return schemaOp.getOutputRange(i); });
}

unsigned amp::onnx::getFormalOfPosition(ArrayRef<FormalSpec> formals, unsigned position) {
  return std::min<unsigned>(position, formals.size() - 1);
}

unsigned amp::onnx::getFormalOfOperand(Operation *op, unsigned operandIndex) {
  auto schemaOp = cast<SchemaOpInterface>(op);
  return formalOf(schemaOp.getSpec().inputs, operandIndex, [&](unsigned i) { return schemaOp.getInputRange(i); });
}

unsigned amp::onnx::getFormalOfResult(Operation *op, unsigned resultIndex) {
  auto schemaOp = cast<SchemaOpInterface>(op);
  return formalOf(schemaOp.getSpec().outputs, resultIndex, [&](unsigned i) { return schemaOp.getOutputRange(i); });
}

LogicalResult amp::onnx::buildSchemaOp(OperationState &state, const OpSpec &spec, ArrayRef<Value> inputs,
                                       ArrayRef<Type> resultTypes) {
  SmallVector<Value> operands;
  SmallVector<Type> types;
  SmallVector<int32_t> inputSizes, outputSizes;
  if (failed(distribute(spec.inputs, inputs, operands, inputSizes)) ||
      failed(distribute(spec.outputs, resultTypes, types, outputSizes)))
    return failure();
  state.addOperands(operands);
  state.addTypes(types);
  Builder builder(state.getContext());
  if (spec.sizedInputs)
    state.addAttribute("operandSegmentSizes", builder.getDenseI32ArrayAttr(inputSizes));
  if (spec.sizedOutputs)
    state.addAttribute("resultSegmentSizes", builder.getDenseI32ArrayAttr(outputSizes));
  return success();
}

//===----------------------------------------------------------------------===//
// Type variables
//===----------------------------------------------------------------------===//

LogicalResult amp::onnx::detail::verifyTypeVariables(Operation *op) {
  auto schemaOp = cast<SchemaOpInterface>(op);
  const OpSpec &spec = schemaOp.getSpec();
  SmallVector<Type, 4> bound(spec.typeVars.size());
  auto bind = [&](const FormalSpec &formal, Type type, StringRef kind) -> LogicalResult {
    if (formal.typeVar < 0)
      return success();
    Type element = getTensorElementType(type);
    Type &known = bound[formal.typeVar];
    if (!known)
      known = element;
    if (known == element)
      return success();
    return op->emitOpError() << "expects one element type for type variable " << spec.typeVars[formal.typeVar]
                             << ", but got " << known << " and " << element << " (" << kind << " '" << formal.name << "')";
  };
  for (auto [index, formal] : llvm::enumerate(spec.inputs)) {
    auto [first, count] = schemaOp.getInputRange(index);
    for (Value value : op->getOperands().slice(first, count))
      if (failed(bind(formal, value.getType(), "input")))
        return failure();
  }
  for (auto [index, formal] : llvm::enumerate(spec.outputs)) {
    auto [first, count] = schemaOp.getOutputRange(index);
    for (Value value : op->getResults().slice(first, count))
      if (failed(bind(formal, value.getType(), "output")))
        return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The tensor of a Constant that gives its value in one of the plain attributes.
static ElementsAttr getPlainConstant(ConstantOp constant) {
  Builder builder(constant.getContext());
  auto getType = [](ArrayRef<int64_t> shape, Type elementType) { return RankedTensorType::get(shape, elementType); };
  if (IntegerAttr single = constant.getValueIntAttr())
    return DenseElementsAttr::get(getType({}, builder.getI64Type()), single.getInt());
  if (DenseI64ArrayAttr list = constant.getValueIntsAttr())
    return DenseElementsAttr::get(getType(list.size(), builder.getI64Type()), list.asArrayRef());
  if (FloatAttr single = constant.getValueFloatAttr())
    return DenseElementsAttr::get(getType({}, builder.getF32Type()), single.getValue());
  if (DenseF32ArrayAttr list = constant.getValueFloatsAttr())
    return DenseElementsAttr::get(getType(list.size(), builder.getF32Type()), list.asArrayRef());
  Type stringType = StringType::get(constant.getContext());
  if (StringAttr single = constant.getValueStringAttr())
    return DenseStringElementsAttr::get(getType({}, stringType), single.getValue());
  if (ArrayAttr list = constant.getValueStringsAttr()) {
    SmallVector<StringRef> strings;
    for (auto string : list.getAsRange<StringAttr>())
      strings.push_back(string.getValue());
    return DenseStringElementsAttr::get(getType(list.size(), stringType), strings);
  }
  return {};
}

ElementsAttr amp::onnx::getConstantValue(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto initializer = dyn_cast_or_null<InitializerOp>(op))
    return initializer.getValue();
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  if (!constant)
    return {};
  return constant.getValueAttr() ? constant.getValueAttr() : getPlainConstant(constant);
}

std::optional<SmallVector<int64_t>> amp::onnx::getConstantInts(Value value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(getConstantValue(value));
  auto type = elements ? dyn_cast<IntegerType>(elements.getElementType()) : IntegerType();
  if (!type)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (const APInt &element : elements.getValues<APInt>())
    result.push_back(type.isUnsigned() ? element.getZExtValue() : element.getSExtValue());
  return result;
}
