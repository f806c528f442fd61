//===- CastUtils.cpp - Inserting casts ------------------------------------===//
//
// Where casts stand, and who has a public name when one is put in between.
//
//===----------------------------------------------------------------------===//

#include "CastUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp;

/// Stand-ins for sizes that are not known.
static constexpr int64_t unknownDimension = 64, unknownTensor = 4096;
/// No tensor counts as more, so that sums do not overflow.
static constexpr uint64_t maxElements = uint64_t(1) << 36;

int64_t amp::countElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return unknownTensor;
  uint64_t count = 1;
  for (int64_t size : type.getShape())
    count = std::min(
        llvm::SaturatingMultiply<uint64_t>(
            count, ShapedType::isDynamic(size) ? unknownDimension : size),
        maxElements);
  return count;
}

/// Arguments and initializers are cast behind the initializers, other values
/// right behind their producer: either dominates every use.
void CastBuilder::setInsertionPoint(Value value) {
  Operation *producer = value.getDefiningOp();
  if (producer && !isa<onnx::InitializerOp>(producer)) {
    builder.setInsertionPointAfter(producer);
    return;
  }
  Block *block = value.getParentBlock();
  Operation *&first = firstNodes[block];
  // What was first may have been moved to another block since.
  if (!first || first->getBlock() != block)
    first = &*llvm::find_if_not(*block, llvm::IsaPred<onnx::InitializerOp>);
  // An initializer may stand further down in hand-written IR.
  if (producer && first->isBeforeInBlock(producer))
    builder.setInsertionPointAfter(producer);
  else
    builder.setInsertionPoint(first);
}

Value CastBuilder::getCast(Value value, Type elementType, bool clamp) {
  CastOp &cast = casts[{value, elementType}];
  if (cast)
    return cast;
  setInsertionPoint(value);
  cast = CastOp::create(builder, value.getLoc(),
                        onnx::withElementType(value.getType(), elementType),
                        value, clamp);
  return cast;
}

void CastBuilder::hoist(CastOp cast) {
  setInsertionPoint(cast.getInput());
  // The cast itself may be what the point is defined by.
  if (builder.getInsertionPoint() != cast->getIterator())
    cast->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
}

void amp::replaceUse(OpOperand &use, Value value) {
  Operation *user = use.getOwner();
  auto from = dyn_cast<OpResult>(use.get());
  auto to = dyn_cast<OpResult>(value);
  use.set(value);
  // A value captured from an outer graph keeps its name.
  if (!isa<func::ReturnOp, onnx::YieldOp>(user) || !from || !to ||
      from.getParentBlock() != user->getBlock() ||
      to.getParentBlock() != user->getBlock())
    return;
  StringRef name = onnx::getValueName(from);
  if (name.empty() || !onnx::getValueName(to).empty())
    return;
  onnx::setValueName(to, name);
  onnx::setValueName(from, "");
}

bool amp::isSettled(DecisionRule rule) {
  switch (rule) {
  case DecisionRule::Allow:
  case DecisionRule::Deny:
  case DecisionRule::Pin:
  case DecisionRule::File:
  case DecisionRule::Disabled:
  case DecisionRule::Illegal:
  case DecisionRule::Existing:
  case DecisionRule::Unknown:
    return true;
  default:
    return false;
  }
}
