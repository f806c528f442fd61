//===- SmallTensor.cpp - Constants that folders compute with --------------===//
//
// Reads small constants, writes results of folds.
//
//===----------------------------------------------------------------------===//

#include "SmallTensor.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

static constexpr int64_t maxBytes = 1024;

/// Bytes of one element; 0 for types that folders do not compute with.
static int64_t getElementBytes(Type type) {
  if (!type.isIntOrFloat())
    return 0;
  unsigned bits = type.getIntOrFloatBitWidth();
  return bits == 1 ? 1 : bits % 8 == 0 ? bits / 8 : 0;
}

std::optional<int64_t> amp::onnx::detail::countSmall(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0)
      return std::nullopt;
    else if (size == 0)
      return 0;
  for (int64_t size : shape) {
    if (size > maxBytes / count)
      return std::nullopt;
    count *= size;
  }
  return count;
}

std::optional<SmallTensor> SmallTensor::get(Value value) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(getConstantValue(value));
  if (!dense)
    return std::nullopt;
  int64_t bytes = getElementBytes(dense.getElementType());
  std::optional<int64_t> count = countSmall(dense.getType().getShape());
  if (!bytes || !count || *count * bytes > maxBytes)
    return std::nullopt;
  SmallTensor tensor{
      dense.getElementType(), llvm::to_vector(dense.getType().getShape()), {}};
  if (isa<IntegerType>(tensor.elementType))
    llvm::append_range(tensor.elements, dense.getValues<APInt>());
  else
    for (const APFloat &element : dense.getValues<APFloat>())
      tensor.elements.push_back(element.bitcastToAPInt());
  return tensor;
}

std::optional<int64_t> SmallTensor::getInt(size_t index) const {
  auto type = dyn_cast<IntegerType>(elementType);
  if (!type)
    return std::nullopt;
  // A bool is 1, not -1.
  if (type.isUnsigned() || type.getWidth() == 1)
    return elements[index].isIntN(63)
               ? std::optional<int64_t>(elements[index].getZExtValue())
               : std::nullopt;
  return elements[index].getSExtValue();
}

std::optional<SmallVector<int64_t>> SmallTensor::getInts() const {
  SmallVector<int64_t> result;
  for (size_t index = 0; index < elements.size(); ++index) {
    std::optional<int64_t> element = getInt(index);
    if (!element)
      return std::nullopt;
    result.push_back(*element);
  }
  return result;
}

OpFoldResult SmallTensor::getAs(Type type) const {
  auto tensorType = dyn_cast<RankedTensorType>(type);
  if (!tensorType || tensorType.getElementType() != elementType ||
      tensorType.getShape() != ArrayRef<int64_t>(shape) ||
      int64_t(elements.size()) * getElementBytes(elementType) > maxBytes)
    return {};
  if (isa<IntegerType>(elementType))
    return DenseElementsAttr::get(tensorType, elements);
  SmallVector<APFloat> floats;
  for (const APInt &element : elements)
    floats.emplace_back(cast<FloatType>(elementType).getFloatSemantics(),
                        element);
  return DenseElementsAttr::get(tensorType, floats);
}

OpFoldResult amp::onnx::detail::foldToOperand(OpResult result, Value operand) {
  bool endsGraph = llvm::any_of(result.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>();
  });
  return result.getType() == operand.getType() && !endsGraph
             ? OpFoldResult(operand)
             : OpFoldResult();
}

std::optional<int64_t> amp::onnx::detail::normalizeAxis(int64_t axis,
                                                        int64_t rank) {
  if (axis < -rank || axis >= rank)
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

std::optional<SliceRange> amp::onnx::detail::clampSlice(int64_t size,
                                                        int64_t start,
                                                        int64_t end,
                                                        int64_t step) {
  auto fromFront = [&](int64_t bound) {
    return bound < 0 ? bound + size : bound;
  };
  // Backwards from before the first element: the specification clamps to that
  // element, numpy takes nothing.
  if (step == 0 || step == INT64_MIN || (step < 0 && fromFront(start) < 0))
    return std::nullopt;
  // Backwards, one before the first element is a valid end.
  int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  start = std::clamp(fromFront(start), low, std::max(low, high));
  end = std::clamp(fromFront(end), low, std::max(low, high));
  int64_t distance = step < 0 ? start - end : end - start;
  int64_t stride = std::abs(step);
  int64_t count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return SliceRange{start, step, count};
}
