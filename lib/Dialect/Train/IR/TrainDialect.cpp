//===- TrainDialect.cpp - The train dialect -------------------------------===//
//
// Registration and the roles of values.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp::train;

#include "amp/Dialect/Train/IR/TrainDialect.cpp.inc"
#include "amp/Dialect/Train/IR/TrainEnums.cpp.inc"
#include "amp/Dialect/Train/IR/TrainInterfaces.cpp.inc"

void TrainDialect::initialize() { registerOps(); }

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

static constexpr std::pair<Role, StringLiteral> roleNames[] = {
    {Role::Input, "input"},
    {Role::Label, "label"},
    {Role::Parameter, "parameter"},
    {Role::Buffer, "buffer"},
    {Role::OptimizerState, "optimizer_state"},
    {Role::ScalerState, "scaler_state"},
    {Role::Counter, "counter"},
    {Role::Hyper, "hyper"},
    {Role::Loss, "loss"},
    {Role::Output, "output"},
    {Role::Gradient, "gradient"},
    {Role::Metric, "metric"},
};

StringRef amp::train::getRoleName(Role role) {
  return llvm::find_if(roleNames,
                       [&](auto &entry) { return entry.first == role; })
      ->second;
}

std::optional<Role> amp::train::parseRole(StringRef name) {
  for (auto [role, spelling] : roleNames)
    if (spelling == name)
      return role;
  return std::nullopt;
}

static std::optional<Role> roleOf(StringAttr name) {
  return name ? parseRole(name.getValue()) : std::nullopt;
}

std::optional<Role> amp::train::getArgumentRole(func::FuncOp function,
                                                unsigned index) {
  return roleOf(function.getArgAttrOfType<StringAttr>(
      index, TrainDialect::getRoleAttrName()));
}

std::optional<Role> amp::train::getResultRole(func::FuncOp function,
                                              unsigned index) {
  return roleOf(function.getResultAttrOfType<StringAttr>(
      index, TrainDialect::getRoleAttrName()));
}

static LogicalResult verifyValueAttribute(Operation *op,
                                          NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name == TrainDialect::getRoleAttrName()) {
    auto role = dyn_cast<StringAttr>(attribute.getValue());
    if (!role || !parseRole(role.getValue()))
      return op->emitOpError()
             << "expects '" << name << "' to be the name of a role, but got "
             << attribute.getValue();
    return success();
  }
  if (name == TrainDialect::getAliasAttrName()) {
    auto index = dyn_cast<IntegerAttr>(attribute.getValue());
    auto function = dyn_cast<func::FuncOp>(op);
    if (!index || !index.getType().isInteger(64) || !function ||
        index.getValue().uge(function.getNumArguments()))
      return op->emitOpError() << "expects '" << name
                               << "' to be the number of an argument (i64), "
                                  "but got "
                               << attribute.getValue();
    return success();
  }
  if (name == TrainDialect::getOfAttrName() &&
      isa<StringAttr>(attribute.getValue()))
    return success();
  return op->emitOpError() << "has an unknown attribute '" << name
                           << "' = " << attribute.getValue();
}

LogicalResult TrainDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned region,
                                                     unsigned index,
                                                     NamedAttribute attribute) {
  if (attribute.getName() == getInitAttrName()) {
    auto value = dyn_cast<ElementsAttr>(attribute.getValue());
    Type type = op->getRegion(region).getArgument(index).getType();
    if (value && value.getShapedType() == type)
      return success();
    return op->emitOpError()
           << "expects '" << getInitAttrName() << "' of argument " << index
           << " to be elements of type " << type << ", but got "
           << attribute.getValue();
  }
  return verifyValueAttribute(op, attribute);
}

LogicalResult
TrainDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                          NamedAttribute attribute) {
  return verifyValueAttribute(op, attribute);
}
