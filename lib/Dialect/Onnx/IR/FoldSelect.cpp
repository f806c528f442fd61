//===- FoldSelect.cpp - Folders of operators that pick elements -----------===//
//
// Gather, Slice, Concat, Where on small constants of any type, and on sizes
// that are known beside others that are not.
//
//===----------------------------------------------------------------------===//

#include "Broadcast.h"
#include "SmallTensor.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

namespace {

/// Sizes before, at and after an axis.
struct AxisSplit {
  int64_t outer, size, inner;
};

AxisSplit splitAt(ArrayRef<int64_t> shape, int64_t axis) {
  auto product = [](ArrayRef<int64_t> sizes) {
    return countSmall(sizes).value_or(0);
  };
  return {product(shape.take_front(axis)), shape[axis],
          product(shape.drop_front(axis + 1))};
}

} // namespace

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

static OpFoldResult gather(const SmallTensor &data, const SmallTensor &indices,
                           int64_t axis, Type type) {
  AxisSplit split = splitAt(data.shape, axis);
  SmallTensor result{data.elementType, {}, {}};
  ArrayRef<int64_t> shape = data.shape;
  llvm::append_range(result.shape, shape.take_front(axis));
  llvm::append_range(result.shape, indices.shape);
  llvm::append_range(result.shape, shape.drop_front(axis + 1));
  if (!countSmall(result.shape))
    return {};
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (size_t i = 0; i < indices.elements.size(); ++i) {
      std::optional<int64_t> number = indices.getInt(i);
      std::optional<int64_t> index =
          number ? normalizeAxis(*number, split.size) : std::nullopt;
      if (!index)
        return {};
      size_t first = (outer * split.size + *index) * split.inner;
      llvm::append_range(
          result.elements,
          ArrayRef<APInt>(data.elements).slice(first, split.inner));
    }
  return result.getAs(type);
}

/// Gather(constant, constant) -> constant; Gather(known sizes) -> constant
OpFoldResult GatherOp::fold(FoldAdaptor) {
  Value result = (*this)->getResult(0);
  std::optional<SmallTensor> data = SmallTensor::get(getData());
  std::optional<SmallTensor> indices = SmallTensor::get(getIndices());
  if (!data || !indices)
    return foldPartialInts(result);
  std::optional<int64_t> axis = normalizeAxis(getAxis(), data->shape.size());
  return axis ? gather(*data, *indices, *axis, result.getType())
              : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

static SmallTensor sliceAxis(const SmallTensor &data, int64_t axis,
                             SliceRange range) {
  AxisSplit split = splitAt(data.shape, axis);
  SmallTensor result{data.elementType, data.shape, {}};
  result.shape[axis] = range.count;
  for (int64_t outer = 0; outer < split.outer; ++outer)
    for (int64_t i = 0; i < range.count; ++i) {
      int64_t index = range.start + i * range.step;
      size_t first = (outer * split.size + index) * split.inner;
      llvm::append_range(
          result.elements,
          ArrayRef<APInt>(data.elements).slice(first, split.inner));
    }
  return result;
}

/// The list an optional operand of Slice gives; `defaults` when it is absent,
/// std::nullopt when it is no constant or has another length.
static std::optional<SmallVector<int64_t>>
getSliceList(Value operand, ArrayRef<int64_t> defaults) {
  if (!operand)
    return llvm::to_vector(defaults);
  std::optional<SmallTensor> tensor = SmallTensor::get(operand);
  std::optional<SmallVector<int64_t>> list =
      tensor ? tensor->getInts() : std::nullopt;
  return list && list->size() == defaults.size() ? list : std::nullopt;
}

/// Slice(constants) -> constant; Slice(known sizes) -> constant
OpFoldResult SliceOp::fold(FoldAdaptor) {
  Value result = (*this)->getResult(0);
  std::optional<SmallTensor> data = SmallTensor::get(getData());
  std::optional<SmallTensor> first = SmallTensor::get(getStarts());
  if (!data || !first)
    return foldPartialInts(result);
  std::optional<SmallVector<int64_t>> starts = first->getInts();
  size_t count = first->elements.size();
  auto allAxes = llvm::to_vector(llvm::seq<int64_t>(0, count));
  std::optional<SmallVector<int64_t>> ends = getSliceList(getEnds(), allAxes);
  std::optional<SmallVector<int64_t>> axes = getSliceList(getAxes(), allAxes);
  std::optional<SmallVector<int64_t>> steps =
      getSliceList(getSteps(), SmallVector<int64_t>(count, 1));
  if (!starts || !ends || !axes || !steps)
    return {};
  SmallVector<bool> seen(data->shape.size(), false);
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> axis = normalizeAxis((*axes)[i], data->shape.size());
    if (!axis || std::exchange(seen[*axis], true))
      return {};
    std::optional<SliceRange> range =
        clampSlice(data->shape[*axis], (*starts)[i], (*ends)[i], (*steps)[i]);
    if (!range)
      return {};
    data = sliceAxis(*data, *axis, *range);
  }
  return data->getAs(result.getType());
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

/// Joins along `axis`; std::nullopt when the other sizes differ.
static std::optional<SmallTensor> concat(ArrayRef<SmallTensor> parts,
                                         int64_t axis) {
  SmallTensor result{parts.front().elementType, parts.front().shape, {}};
  result.shape[axis] = 0;
  for (const SmallTensor &part : parts) {
    SmallVector<int64_t> others = part.shape;
    if (others.size() != result.shape.size())
      return std::nullopt;
    others[axis] = result.shape[axis];
    if (others != result.shape)
      return std::nullopt;
    result.shape[axis] += part.shape[axis];
  }
  int64_t outer = splitAt(result.shape, axis).outer;
  for (int64_t i = 0; i < outer; ++i)
    for (const SmallTensor &part : parts) {
      size_t length = part.elements.size() / outer;
      llvm::append_range(
          result.elements,
          ArrayRef<APInt>(part.elements).slice(i * length, length));
    }
  return result;
}

/// Concat(constants) -> constant; Concat(known sizes) -> constant;
/// Concat(x) -> x
OpFoldResult ConcatOp::fold(FoldAdaptor) {
  Value result = (*this)->getResult(0);
  if (getInputs().size() == 1)
    if (OpFoldResult operand =
            foldToOperand((*this)->getResult(0), getInputs().front()))
      return operand;
  SmallVector<SmallTensor> parts;
  for (Value input : getInputs()) {
    std::optional<SmallTensor> part = SmallTensor::get(input);
    if (!part)
      return foldPartialInts(result);
    parts.push_back(std::move(*part));
  }
  if (parts.empty())
    return {};
  std::optional<int64_t> axis =
      normalizeAxis(getAxis(), parts.front().shape.size());
  std::optional<SmallTensor> joined =
      axis ? concat(parts, *axis) : std::nullopt;
  return joined ? joined->getAs(result.getType()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Where
//===----------------------------------------------------------------------===//

/// Where(constants) -> constant
OpFoldResult WhereOp::fold(FoldAdaptor) {
  std::optional<SmallTensor> condition = SmallTensor::get(getCondition());
  std::optional<SmallTensor> x = SmallTensor::get(getX());
  std::optional<SmallTensor> y = SmallTensor::get(getY());
  if (!condition || !x || !y)
    return {};
  std::optional<Broadcast> broadcast = Broadcast::get({&*condition, &*x, &*y});
  if (!broadcast)
    return {};
  SmallTensor result{x->elementType, broadcast->shape, {}};
  for (int64_t i = 0; i < broadcast->count; ++i) {
    SmallVector<size_t, 3> from = broadcast->getSources(i);
    result.elements.push_back(condition->elements[from[0]].isZero()
                                  ? y->elements[from[2]]
                                  : x->elements[from[1]]);
  }
  return result.getAs((*this)->getResult(0).getType());
}
