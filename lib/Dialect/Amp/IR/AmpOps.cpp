//===- AmpOps.cpp - Operations of the amp dialect -------------------------===//
//
// Verifiers, folders and the control flow of autocast regions.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace amp;

#define GET_OP_CLASSES
#include "amp/Dialect/Amp/IR/AmpOps.cpp.inc"

void AmpDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "amp/Dialect/Amp/IR/AmpOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// AutocastOp
//===----------------------------------------------------------------------===//

void AutocastOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&getBody());
  else
    successors.emplace_back(getOperation(), getOperation()->getResults());
}

//===----------------------------------------------------------------------===//
// CastOp
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  Type input = getInput().getType();
  Type result = getResult().getType();
  Type element = getElementTypeOrSelf(result);
  Type expected = onnx::withElementType(input, element);
  if (result != expected)
    return emitOpError() << "expects a result of type " << expected
                         << ", but got " << result;
  if (getClamp() && holdsAllValuesOf(element, getElementTypeOrSelf(input)))
    return emitOpError() << "expects no 'clamp' where every value of " << input
                         << " fits in " << result;
  return success();
}

/// cast(x : T -> T) -> x
/// cast(cast(x : narrow -> wide) : wide -> narrow) -> x
OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<CastOp>();
  if (!inner || inner.getInput().getType() != getType())
    return {};
  Type narrow = getElementTypeOrSelf(getType());
  if (!holdsAllValuesOf(getElementTypeOrSelf(inner.getType()), narrow))
    return {};
  return inner.getInput();
}
