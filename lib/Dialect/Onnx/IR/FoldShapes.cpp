//===- FoldShapes.cpp - Folders of operators that ask for or set shapes ---===//
//
// Shape, Size, Reshape, Squeeze, Unsqueeze, ConstantOfShape, Range; Constant
// and Identity.
//
//===----------------------------------------------------------------------===//

#include "SmallTensor.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

/// The constant itself, whatever form it has: a constant always folds.
OpFoldResult ConstantOp::fold(FoldAdaptor) {
  if (ElementsAttr value = getConstantValue(getResult()))
    return value;
  return getSparseValueAttr();
}

/// Identity(x) -> x
OpFoldResult IdentityOp::fold(FoldAdaptor) {
  return foldToOperand((*this)->getResult(0), getInput());
}

//===----------------------------------------------------------------------===//
// Sizes of types
//===----------------------------------------------------------------------===//

/// Shape(x) -> constant, if the sizes it asks for are static
OpFoldResult ShapeOp::fold(FoldAdaptor) {
  return foldPartialInts((*this)->getResult(0));
}

/// Size(x) -> constant, if all sizes are static
OpFoldResult SizeOp::fold(FoldAdaptor) {
  auto type = dyn_cast<RankedTensorType>(getData().getType());
  auto resultType = dyn_cast<RankedTensorType>((*this)->getResult(0).getType());
  if (!type || !type.hasStaticShape() || !resultType ||
      resultType.getRank() != 0)
    return {};
  int64_t count = 1;
  for (int64_t size : type.getShape())
    if (llvm::MulOverflow(count, size, count))
      return {};
  return DenseElementsAttr::get(resultType,
                                APInt(64, count, /*isSigned=*/true));
}

//===----------------------------------------------------------------------===//
// Other shapes for the same elements
//===----------------------------------------------------------------------===//

/// The constant `data` with another shape.
static OpFoldResult foldToShape(Value data, ArrayRef<int64_t> shape,
                                Type type) {
  std::optional<SmallTensor> tensor = SmallTensor::get(data);
  if (!tensor || countSmall(shape) != int64_t(tensor->elements.size()))
    return {};
  tensor->shape.assign(shape.begin(), shape.end());
  return tensor->getAs(type);
}

/// What Reshape's `target` means for data of shape `from`: 0 takes a size over
/// unless `allowZero`, one -1 takes the rest.
static std::optional<SmallVector<int64_t>>
resolveReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> target,
               bool allowZero) {
  SmallVector<int64_t> shape(target);
  std::optional<size_t> rest;
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (size == 0 && !allowZero) {
      if (index >= from.size())
        return std::nullopt;
      size = from[index];
    } else if (size == -1 && !rest) {
      rest = index;
    } else if (size < 0) {
      return std::nullopt;
    }
  }
  if (!rest)
    return shape;
  shape[*rest] = 1;
  std::optional<int64_t> count = countSmall(from), others = countSmall(shape);
  if (!count || !others || *others == 0 || *count % *others != 0)
    return std::nullopt;
  shape[*rest] = *count / *others;
  return shape;
}

/// Reshape(constant, constant) -> constant
/// Reshape(x, _) -> x, if that is the static type of the result
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  Type type = (*this)->getResult(0).getType();
  auto from = dyn_cast<RankedTensorType>(getData().getType());
  if (from && from.hasStaticShape())
    if (OpFoldResult operand = foldToOperand((*this)->getResult(0), getData()))
      return operand;
  std::optional<SmallTensor> target = SmallTensor::get(getShape());
  std::optional<SmallVector<int64_t>> sizes =
      target ? target->getInts() : std::nullopt;
  if (!from || !from.hasStaticShape() || !sizes)
    return {};
  std::optional<SmallVector<int64_t>> shape =
      resolveReshape(from.getShape(), *sizes, getAllowzero() != 0);
  return shape ? foldToShape(getData(), *shape, type) : OpFoldResult();
}

/// The axes that a constant names, from the front and each once; std::nullopt
/// for others.
static std::optional<llvm::SmallSet<int64_t, 4>> getAxes(Value axes,
                                                         int64_t rank) {
  std::optional<SmallTensor> tensor = SmallTensor::get(axes);
  std::optional<SmallVector<int64_t>> values =
      tensor ? tensor->getInts() : std::nullopt;
  if (!values)
    return std::nullopt;
  llvm::SmallSet<int64_t, 4> result;
  for (int64_t value : *values) {
    std::optional<int64_t> axis = normalizeAxis(value, rank);
    if (!axis || !result.insert(*axis).second)
      return std::nullopt;
  }
  return result;
}

/// Squeeze(constant, axes) -> constant; Squeeze(known sizes) -> constant
OpFoldResult SqueezeOp::fold(FoldAdaptor) {
  Value result = (*this)->getResult(0);
  auto from = dyn_cast<RankedTensorType>(getData().getType());
  if (!from || !from.hasStaticShape())
    return {};
  std::optional<llvm::SmallSet<int64_t, 4>> axes;
  if (getAxes() && !(axes = ::getAxes(getAxes(), from.getRank())))
    return {};
  SmallVector<int64_t> shape;
  for (auto [index, size] : llvm::enumerate(from.getShape())) {
    bool drop = axes ? axes->contains(index) : size == 1;
    if (drop && size != 1)
      return {};
    if (!drop)
      shape.push_back(size);
  }
  if (OpFoldResult constant = foldToShape(getData(), shape, result.getType()))
    return constant;
  // A single size out of a shape that is not all static.
  return foldPartialInts(result);
}

/// Unsqueeze(constant, axes) -> constant
OpFoldResult UnsqueezeOp::fold(FoldAdaptor) {
  Type type = (*this)->getResult(0).getType();
  std::optional<SmallTensor> data = SmallTensor::get(getData());
  std::optional<SmallTensor> axesTensor = SmallTensor::get(getAxes());
  if (!data || !axesTensor)
    return {};
  int64_t rank = data->shape.size() + axesTensor->elements.size();
  std::optional<llvm::SmallSet<int64_t, 4>> axes = ::getAxes(getAxes(), rank);
  if (!axes)
    return {};
  SmallVector<int64_t> shape;
  for (int64_t i = 0, next = 0; i < rank; ++i)
    shape.push_back(axes->contains(i) ? 1 : data->shape[next++]);
  return foldToShape(getData(), shape, type);
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

/// ConstantOfShape(constant) -> constant
OpFoldResult ConstantOfShapeOp::fold(FoldAdaptor) {
  std::optional<SmallTensor> sizes = SmallTensor::get(getInput());
  std::optional<SmallVector<int64_t>> shape =
      sizes ? sizes->getInts() : std::nullopt;
  std::optional<int64_t> count = shape ? countSmall(*shape) : std::nullopt;
  if (!count)
    return {};
  SmallTensor result{Float32Type::get(getContext()), *shape, {}};
  APInt element(32, 0);
  if (ElementsAttr value = getValueAttr()) {
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (!dense || dense.getNumElements() != 1 ||
        !dense.getElementType().isIntOrFloat())
      return {};
    result.elementType = dense.getElementType();
    element = isa<IntegerType>(result.elementType)
                  ? *dense.value_begin<APInt>()
                  : (*dense.value_begin<APFloat>()).bitcastToAPInt();
  }
  result.elements.assign(*count, element);
  return result.getAs((*this)->getResult(0).getType());
}

/// Range(constants) -> constant; integers only, as engines differ in how they
/// add up floats
OpFoldResult RangeOp::fold(FoldAdaptor) {
  std::optional<SmallTensor> bounds[] = {SmallTensor::get(getStart()),
                                         SmallTensor::get(getLimit()),
                                         SmallTensor::get(getDelta())};
  int64_t values[3];
  for (auto [bound, value] : llvm::zip(bounds, values)) {
    std::optional<int64_t> number =
        bound && bound->elements.size() == 1 ? bound->getInt(0) : std::nullopt;
    if (!number)
      return {};
    value = *number;
  }
  auto [start, limit, delta] = values;
  int64_t distance, stride;
  if (delta == 0 || llvm::SubOverflow(limit, start, distance) ||
      llvm::SubOverflow(int64_t(0), delta, stride) || distance == INT64_MIN)
    return {};
  if (delta < 0)
    distance = -distance;
  else
    stride = delta;
  int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  if (!countSmall(count))
    return {};
  unsigned width = bounds[0]->elements.front().getBitWidth();
  SmallTensor result{bounds[0]->elementType, {count}, {}};
  for (int64_t i = 0; i < count; ++i)
    result.elements.push_back(
        APInt(64, start + i * delta, /*isSigned=*/true).trunc(width));
  return result.getAs((*this)->getResult(0).getType());
}
