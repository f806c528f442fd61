//===- AmpDialect.cpp - The amp dialect -----------------------------------===//
//
// Registration, the check of the decision attribute, and facts about types.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/AmpDialect.h"

using namespace mlir;
using namespace amp;

#include "amp/Dialect/Amp/IR/AmpDialect.cpp.inc"

void AmpDialect::initialize() {
  registerAttributes();
  registerOps();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

DecisionAttr amp::getDecision(Operation *op) {
  return dyn_cast_or_null<DecisionAttr>(
      op->getDiscardableAttr(AmpDialect::getDecisionAttrName()));
}

void amp::setDecision(Operation *op, DecisionAttr decision) {
  op->setDiscardableAttr(AmpDialect::getDecisionAttrName(), decision);
}

/// One entry per value, and types only for values that may change.
static LogicalResult verifySlots(Operation *op, ArrayRef<Type> slots,
                                 TypeRange types, StringRef kind) {
  if (slots.size() != types.size())
    return op->emitOpError()
           << "expects one decided type per " << kind << ", but got "
           << slots.size() << " for " << types.size() << " " << kind << "s";
  for (auto [index, slot, type] : llvm::enumerate(slots, types))
    if (!isa<NoneType>(slot) && !isCastable(type))
      return op->emitOpError()
             << "expects no decision for " << kind << " #" << index
             << " of type " << type << ", but got " << slot;
  return success();
}

LogicalResult AmpDialect::verifyOperationAttribute(Operation *op,
                                                   NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == getRemovedCastsAttrName()) {
    auto count = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!isa<func::FuncOp>(op) || !count || !count.getType().isInteger(64))
      return op->emitOpError()
             << "expects '" << name << "' to be an i64 on a function, but got "
             << attribute.getValue();
    return success();
  }
  if (name == getReportAttrName() || name == getFindingsAttrName()) {
    if (!isa<ModuleOp>(op) || !isa<StringAttr>(attribute.getValue()))
      return op->emitOpError()
             << "expects '" << name << "' to be a text on a module, but got "
             << attribute.getValue();
    return success();
  }
  if (name != getDecisionAttrName())
    return op->emitOpError() << "has an unknown attribute '" << name << "'";
  auto decision = dyn_cast<DecisionAttr>(attribute.getValue());
  if (!decision)
    return op->emitOpError()
           << "expects '" << name << "' to be #amp.decision<...>, but got "
           << attribute.getValue();
  if (failed(verifySlots(op, decision.getOperands(), op->getOperandTypes(),
                         "operand")))
    return failure();
  return verifySlots(op, decision.getResults(), op->getResultTypes(), "result");
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool amp::isCastable(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  return tensor &&
         isa<Float16Type, BFloat16Type, Float32Type>(tensor.getElementType());
}

bool amp::holdsAllValuesOf(Type wide, Type narrow) {
  return wide == narrow || isa<Float32Type>(wide);
}
