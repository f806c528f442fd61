//===- Access.cpp - Where operands lie while a space is walked ------------===//
//
// Strides of broadcast operands over a group's space, and the fewest loops
// that walk them.
//
//===----------------------------------------------------------------------===//

#include "GroupDims.h"
#include "amp/Codegen/Plan/Fusion.h"

using namespace mlir;
using namespace amp::plan;

OperandRange amp::plan::getDataOperands(Operation *op) {
  return getReduction(op) ? op->getOperands().take_front(1) : op->getOperands();
}

Access amp::plan::getAccess(const Group &group, Operation *op, Value value) {
  Access access;
  access.strides.assign(group.space.size(), 0);
  ArrayRef<int64_t> shape = getShape(value);
  SmallVector<int64_t> strides = getDenseStrides(shape);
  SmallVector<int> dims;
  if (getReduction(op) && value.getDefiningOp() != op)
    dims = *matchDims(group.space, getIdentityDims(group.space), shape);
  else
    dims = group.dims.find(op)->second;
  // Broadcasting aligns dimensions at the end.
  int64_t lead = static_cast<int64_t>(dims.size()) - shape.size();
  for (auto [i, size] : llvm::enumerate(shape))
    if (size != 1)
      access.strides[dims[i + lead]] += strides[i];
  return access;
}

CollapsedSpace amp::plan::collapse(ArrayRef<int64_t> space,
                                   ArrayRef<int64_t> kinds,
                                   ArrayRef<Access *> accesses) {
  CollapsedSpace result;
  SmallVector<SmallVector<int64_t>> strides(accesses.size());
  for (auto [d, size] : llvm::enumerate(space)) {
    if (size == 1)
      continue;
    bool joins = !result.sizes.empty() && result.kinds.back() == kinds[d];
    for (auto [access, collapsed] : llvm::zip(accesses, strides))
      joins = joins && collapsed.back() == access->strides[d] * size;
    if (!joins) {
      result.sizes.push_back(size);
      result.kinds.push_back(kinds[d]);
    } else {
      result.sizes.back() *= size;
    }
    for (auto [access, collapsed] : llvm::zip(accesses, strides)) {
      if (joins)
        collapsed.back() = access->strides[d];
      else
        collapsed.push_back(access->strides[d]);
    }
  }
  for (auto [access, collapsed] : llvm::zip(accesses, strides))
    access->strides = std::move(collapsed);
  return result;
}
