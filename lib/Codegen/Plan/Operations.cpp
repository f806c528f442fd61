//===- Operations.cpp - What the planner knows of operations --------------===//
//
// Views, constants and reductions, read off the IR.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Operations.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::plan;

bool plan::isView(Operation *op) {
  return llvm::StringSwitch<bool>(op->getName().getStringRef())
      .Cases({"onnx.Flatten", "onnx.Identity", "onnx.Reshape", "onnx.Squeeze",
              "onnx.Unsqueeze"},
             true)
      .Default(false);
}

Value plan::stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool plan::isConstant(Operation *op) {
  return isa<onnx::ConstantOp, onnx::InitializerOp>(op);
}

void plan::forEachUse(Value value, function_ref<void(OpOperand &)> visit) {
  SmallVector<Value> worklist{value};
  while (!worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      if (isView(use.getOwner()) && use.getOperandNumber() == 0)
        worklist.push_back(use.getOwner()->getResult(0));
      else
        visit(use);
    }
}

ArrayRef<int64_t> plan::getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int64_t plan::getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

SmallVector<int64_t> plan::getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

static std::optional<Combine> getCombine(StringRef operatorName) {
  return llvm::StringSwitch<std::optional<Combine>>(operatorName)
      .Case("ReduceMax", Combine::Max)
      .Case("ReduceMean", Combine::Mean)
      .Case("ReduceMin", Combine::Min)
      .Case("ReduceProd", Combine::Prod)
      .Case("ReduceSum", Combine::Sum)
      .Default(std::nullopt);
}

std::optional<Reduction> plan::getReduction(Operation *op) {
  std::optional<Combine> combine = getCombine(onnx::getOpType(op));
  if (!combine || isa<onnx::NodeOp>(op))
    return std::nullopt;
  auto flag = [&](StringRef name, bool otherwise) {
    auto attr = op->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() != 0 : otherwise;
  };
  Reduction result{*combine, {}, flag("keepdims", true)};
  int64_t rank = getShape(op->getOperand(0)).size();
  if (op->getNumOperands() > 1) {
    std::optional<SmallVector<int64_t>> axes =
        onnx::getConstantInts(op->getOperand(1));
    if (!axes)
      return std::nullopt;
    for (int64_t axis : *axes)
      result.axes.push_back(axis < 0 ? axis + rank : axis);
    llvm::sort(result.axes);
  }
  if (result.axes.empty() && !flag("noop_with_empty_axes", false))
    for (int64_t axis = 0; axis < rank; ++axis)
      result.axes.push_back(axis);
  return result;
}
