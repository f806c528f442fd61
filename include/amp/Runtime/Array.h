//===- Array.h - Element types and named arrays -----------------*- C++ -*-===//
// What files hold and tensors are made of.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_ARRAY_H
#define AMP_RUNTIME_ARRAY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amp::runtime {

/// Element types. The first nine are those of artifacts (amp_dtype); the others
/// occur in files only and are converted when they are read.
enum class DType : int32_t {
  F32 = 1,
  F16,
  BF16,
  F64,
  I64,
  I32,
  I8,
  U8,
  I1,
  I16,
  U16,
  U32,
  U64
};

size_t getSize(DType type);
bool isFloat(DType type);
/// "f32"; parseDType knows those of artifacts only.
const char *getName(DType type);
std::optional<DType> parseDType(std::string_view name);

using Shape = std::vector<int64_t>;

/// Bytes of a dense array; nothing when a size is negative or they overflow.
std::optional<size_t> getByteSize(DType type, const Shape &shape);
/// "f32[784,1024]"
std::string describe(DType type, const Shape &shape);
/// Row-major strides, in elements.
Shape getStrides(const Shape &shape);

/// A dense row-major array in someone's memory; `owner` keeps that alive.
struct Array {
  std::string name;
  DType dtype;
  Shape shape;
  const char *data;
  size_t bytes;
  std::shared_ptr<const void> owner;

  std::string describe() const { return runtime::describe(dtype, shape); }
};

/// An array with memory of its own, zeroed.
Array makeArray(std::string name, DType dtype, Shape shape, char **data);

/// Whether every value of `from` is one of `to`.
bool isWidening(DType from, DType to);
/// Converts element by element. Floats round to nearest even; integers that do
/// not fit, and floats that are no integers, fail with `name` in the message.
void convert(const Array &from, DType to, char *target);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float bfloatToFloat(uint16_t bits);
uint16_t floatToBfloat(float value);

} // namespace amp::runtime

#endif // AMP_RUNTIME_ARRAY_H
