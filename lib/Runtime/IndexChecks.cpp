//===- IndexChecks.cpp - Indices that are out of range --------------------===//
// Looked for in inputs before an entry runs: compiled code does not.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Manifest.h"
#include <cstring>

using namespace amp::runtime;

static int64_t load(const TensorInfo &tensor, const char *data, size_t at) {
  if (tensor.dtype == DType::I32) {
    int32_t value;
    std::memcpy(&value, data + at * sizeof(value), sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, data + at * sizeof(value), sizeof(value));
  return value;
}

static std::string printPosition(const Shape &position) {
  std::string text = "[";
  for (int64_t at : position)
    text += (text.size() > 1 ? ", " : "") + std::to_string(at);
  return text + "]";
}

[[noreturn]] static void reject(const TensorInfo &tensor,
                                const IndexBounds &bounds,
                                const Shape &position, int64_t value) {
  std::string ignored = bounds.ignored
                            ? ", and " + std::to_string(*bounds.ignored) +
                                  " for those that are left out"
                            : "";
  fail(AMP_INVALID_ARGUMENT,
       "input " + quote(tensor.name) + " holds " + std::to_string(value) +
           " at " + printPosition(position) + ", but " + quote(bounds.node) +
           " takes indices from " + std::to_string(bounds.low) + " to " +
           std::to_string(bounds.high) + ignored);
}

static void checkPart(const TensorInfo &tensor, const IndexBounds &bounds,
                      const char *data) {
  size_t rank = tensor.shape.size();
  Shape position = bounds.begin;
  for (size_t axis = 0; axis < rank; ++axis)
    if (bounds.begin[axis] == bounds.end[axis])
      return;
  // The last dimension is a run; the others count up.
  int64_t run = rank ? bounds.end[rank - 1] - bounds.begin[rank - 1] : 1;
  while (true) {
    size_t start = 0;
    for (size_t axis = 0; axis < rank; ++axis)
      start += static_cast<size_t>(position[axis] * tensor.strides[axis]);
    for (int64_t i = 0; i < run; ++i) {
      int64_t value = load(tensor, data, start + static_cast<size_t>(i));
      if ((value >= bounds.low && value <= bounds.high) ||
          value == bounds.ignored)
        continue;
      if (rank)
        position[rank - 1] += i;
      reject(tensor, bounds, position, value);
    }
    size_t axis = rank ? rank - 1 : 0;
    while (axis-- > 0) {
      if (++position[axis] < bounds.end[axis])
        break;
      position[axis] = bounds.begin[axis];
    }
    if (axis == SIZE_MAX)
      return;
  }
}

void amp::runtime::checkIndices(const TensorInfo &tensor, const char *data) {
  for (const IndexBounds &bounds : tensor.indices)
    checkPart(tensor, bounds, data);
}
