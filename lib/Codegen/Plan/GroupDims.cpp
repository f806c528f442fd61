//===- GroupDims.cpp - Dimensions of values in a group's space ------------===//
//
// Values of a group may have dimensions of size 1 more or less than its space.
//
//===----------------------------------------------------------------------===//

#include "GroupDims.h"

using namespace mlir;
using namespace amp::plan;

SmallVector<int> amp::plan::getIdentityDims(ArrayRef<int64_t> space) {
  return llvm::to_vector(llvm::seq<int>(0, space.size()));
}

std::optional<SmallVector<int>> amp::plan::matchDims(ArrayRef<int64_t> from,
                                                     ArrayRef<int> dims,
                                                     ArrayRef<int64_t> to) {
  SmallVector<int> result(to.size(), -1);
  size_t next = 0;
  for (auto [i, size] : llvm::enumerate(to)) {
    if (size == 1)
      continue;
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != size)
      return std::nullopt;
    result[i] = dims[next++];
  }
  while (next < from.size() && from[next] == 1)
    ++next;
  if (next != from.size())
    return std::nullopt;
  return result;
}

/// Enters into `dims` of `op` what its operands from the group say.
static bool mergeMemberDims(const Group &group, Operation *op,
                            SmallVectorImpl<int> &dims) {
  for (Value operand : op->getOperands()) {
    Operation *producer = group.getProducer(operand);
    if (!producer)
      continue;
    Value value = stripViews(operand);
    ArrayRef<int64_t> shape = getShape(operand);
    auto matched =
        matchDims(getShape(value), group.dims.find(producer)->second, shape);
    if (!matched)
      return false;
    int64_t lead = static_cast<int64_t>(dims.size()) - shape.size();
    for (auto [i, dim] : llvm::enumerate(*matched)) {
      if (dim < 0)
        continue;
      if (dims[i + lead] >= 0 && dims[i + lead] != dim)
        return false;
      dims[i + lead] = dim;
    }
  }
  return true;
}

std::optional<SmallVector<int>>
amp::plan::getElementwiseDims(const Group &group, Operation *op) {
  ArrayRef<int64_t> shape = getShape(op->getResult(0));
  SmallVector<int> dims(shape.size(), -1);
  if (auto full = matchDims(group.space, getIdentityDims(group.space), shape))
    dims = *full;
  else if (group.kind != GroupKind::Rows)
    return std::nullopt;
  if (!mergeMemberDims(group, op, dims))
    return std::nullopt;
  // One value a row, then: all outer dimensions, in order, and no inner one.
  ArrayRef<int64_t> outer =
      ArrayRef<int64_t>(group.space).drop_back(group.numInner);
  SmallVector<int> used;
  for (auto [size, dim] : llvm::zip(shape, dims)) {
    if (size != 1 && dim < 0)
      return std::nullopt;
    if (size != 1)
      used.push_back(dim);
  }
  if (used == getIdentityDims(group.space) || used == getIdentityDims(outer))
    return dims;
  return std::nullopt;
}

std::optional<SmallVector<int>>
amp::plan::getReducedDims(const Group &group, Operation *op,
                          const Reduction &reduction, SmallVector<int> &dims) {
  Value operand = op->getOperand(0);
  auto matched =
      matchDims(group.space, getIdentityDims(group.space), getShape(operand));
  if (!matched)
    return std::nullopt;
  if (Operation *producer = group.getProducer(operand)) {
    auto own = matchDims(getShape(stripViews(operand)),
                         group.dims.find(producer)->second, getShape(operand));
    if (own != matched)
      return std::nullopt;
  }
  SmallVector<int> reduced;
  dims.clear();
  for (auto [axis, dim] : llvm::enumerate(*matched)) {
    bool reduces = reduction.reduces(axis);
    if (reduces && dim >= 0)
      reduced.push_back(dim);
    if (!reduces)
      dims.push_back(dim);
    else if (reduction.keepDims)
      dims.push_back(-1);
  }
  return reduced;
}

bool amp::plan::isInnerOneLoop(const Group &group, int64_t numInner) {
  if (numInner < 2)
    return true;
  for (Operation *op : group.ops)
    for (Value operand : getDataOperands(op)) {
      if (group.getProducer(operand))
        continue;
      Access access = getAccess(group, op, operand);
      size_t first = group.space.size() - numInner;
      for (size_t d = first; d + 1 < group.space.size(); ++d)
        if (access.strides[d] != access.strides[d + 1] * group.space[d + 1])
          return false;
    }
  return true;
}
