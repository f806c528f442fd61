//===- OnnxDialect.cpp - The onnx dialect ---------------------------------===//
//
// Registration, checks of the dialect's discardable attributes, and the operations that are not operators.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "RegisterOps.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FoldInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp::onnx;

#include "amp/Dialect/Onnx/IR/OnnxDialect.cpp.inc"
#include "amp/Dialect/Onnx/IR/OnnxInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.cpp.inc"

namespace {

/// Constants stay in the graph they are in: a body may yield them, and what a graph yields is to be produced there.
struct OnnxFoldInterface : DialectFoldInterface {
  using DialectFoldInterface::DialectFoldInterface;
  bool shouldMaterializeInto(Region *region) const final { return isa<OnnxDialect>(region->getParentOp()->getDialect()); }
};

} // namespace

void OnnxDialect::initialize() {
  addInterfaces<OnnxFoldInterface>();
  registerTypes();
  registerAttributes();
  registerOps();
}

void OnnxDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "amp/Dialect/Onnx/IR/OnnxTypes.cpp.inc"
      >();
}

void OnnxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "amp/Dialect/Onnx/IR/OnnxAttrs.cpp.inc"
      >();
}

void OnnxDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "amp/Dialect/Onnx/IR/OnnxOps.cpp.inc"
      >();
  detail::registerOpsAB(*this);
  detail::registerOpsC(*this);
  detail::registerOpsDEF(*this);
  detail::registerOpsGHIJK(*this);
  detail::registerOpsLMN(*this);
  detail::registerOpsOPQ(*this);
  detail::registerOpsR(*this);
  detail::registerOpsSTUVWXYZ(*this);
}

Operation *OnnxDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  OperationState state(loc, ConstantOp::getOperationName());
  state.addAttribute("value", value);
  state.addTypes(type);
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

LogicalResult OnnxDialect::verifyNameAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == getOutputsAttrName()) {
    auto names = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>) || names.size() != op->getNumResults())
      return op->emitOpError() << "expects '" << name << "' to hold one string per result, but got "
                               << attribute.getValue();
    return success();
  }
  if (name == getTensorNamesAttrName() || name == getGraphAttrName()) {
    if (!isa<DictionaryAttr>(attribute.getValue()))
      return op->emitOpError() << "expects '" << name << "' to be a dictionary, but got " << attribute.getValue();
    return success();
  }
  if (name == getDefaultAttrName())
    return success();
  if (name != getNameAttrName() && name != getDocStringAttrName() && name != getVerbatimAttrName())
    return op->emitOpError() << "has an unknown attribute '" << name << "'";
  if (!isa<StringAttr>(attribute.getValue()))
    return op->emitOpError() << "expects '" << name << "' to be a string, but got " << attribute.getValue();
  return success();
}

LogicalResult OnnxDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  return verifyNameAttribute(op, attribute);
}

LogicalResult OnnxDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyNameAttribute(op, attribute);
}

LogicalResult OnnxDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyNameAttribute(op, attribute);
}

//===----------------------------------------------------------------------===//
// Attributes and operations
//===----------------------------------------------------------------------===//

StringRef DimsAttr::getName(unsigned index) const {
  auto name = index < getNames().size() ? dyn_cast<StringAttr>(getNames()[index]) : StringAttr();
  return name ? name.getValue() : StringRef();
}

std::optional<int64_t> ModelOp::getOpset(StringRef domain) {
  auto canonical = [](StringRef name) { return name == "ai.onnx" ? StringRef() : name; };
  for (auto opset : getOpsets().getAsRange<OpsetAttr>())
    if (canonical(opset.getDomain()) == canonical(domain))
      return opset.getVersion();
  return std::nullopt;
}

void InitializerOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  // One that the graph lists as an input is part of its signature, used or not.
  if (getInputIndexAttr())
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult NodeOp::verify() {
  auto countPresent = [](DenseBoolArrayAttr present, unsigned given) {
    return present ? llvm::count(present.asArrayRef(), true) : int64_t(given);
  };
  if (countPresent(getOperandPresentAttr(), getNumOperands()) != getNumOperands())
    return emitOpError("expects 'operand_present' to mark ") << getNumOperands() << " positions as given";
  if (countPresent(getResultPresentAttr(), getNumResults()) != getNumResults())
    return emitOpError("expects 'result_present' to mark ") << getNumResults() << " positions as given";
  size_t names = getRegionNamesAttr() ? getRegionNamesAttr().size() : 0;
  if (names != (*this)->getNumRegions())
    return emitOpError("expects one entry of 'region_names' per region, but got ")
           << names << " for " << (*this)->getNumRegions() << " regions";
  return success();
}
