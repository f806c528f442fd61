//===- Array.cpp - Element types and named arrays -------------------------===//
// Sizes, spellings and conversions of elements.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Array.h"
#include "amp/Runtime/Failure.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace amp::runtime;

namespace {
struct TypeRow {
  DType type;
  const char *name;
  size_t size;
  bool isFloat;
};
} // namespace

static constexpr TypeRow typeRows[] = {
    {DType::F32, "f32", 4, true},   {DType::F16, "f16", 2, true},
    {DType::BF16, "bf16", 2, true}, {DType::F64, "f64", 8, true},
    {DType::I64, "i64", 8, false},  {DType::I32, "i32", 4, false},
    {DType::I8, "i8", 1, false},    {DType::U8, "u8", 1, false},
    {DType::I1, "i1", 1, false},    {DType::I16, "i16", 2, false},
    {DType::U16, "u16", 2, false},  {DType::U32, "u32", 4, false},
    {DType::U64, "u64", 8, false}};
static constexpr size_t numArtifactTypes = 9;

static const TypeRow &getRow(DType type) {
  return typeRows[static_cast<int>(type) - 1];
}

size_t amp::runtime::getSize(DType type) { return getRow(type).size; }
bool amp::runtime::isFloat(DType type) { return getRow(type).isFloat; }
const char *amp::runtime::getName(DType type) { return getRow(type).name; }

std::optional<DType> amp::runtime::parseDType(std::string_view name) {
  for (size_t i = 0; i < numArtifactTypes; ++i)
    if (name == typeRows[i].name)
      return typeRows[i].type;
  return std::nullopt;
}

std::optional<size_t> amp::runtime::getByteSize(DType type,
                                                const Shape &shape) {
  // Sizes stay below 2^62 so that sums of a few of them cannot overflow.
  constexpr uint64_t limit = uint64_t(1) << 62;
  uint64_t bytes = getSize(type);
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    if (size == 0)
      empty = true;
    else if (bytes > limit / static_cast<uint64_t>(size))
      return std::nullopt;
    else
      bytes *= static_cast<uint64_t>(size);
  }
  return empty ? 0 : bytes;
}

std::string amp::runtime::describe(DType type, const Shape &shape) {
  std::string text = std::string(getName(type)) + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

Shape amp::runtime::getStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<int64_t>(shape[i], 1);
  return strides;
}

Array amp::runtime::makeArray(std::string name, DType dtype, Shape shape,
                              char **data) {
  std::optional<size_t> bytes = getByteSize(dtype, shape);
  if (!bytes)
    fail(AMP_BAD_FILE, quote(name) + " of " + describe(dtype, shape) +
                           " is larger than memory can be");
  auto memory = std::make_shared<std::vector<char>>(*bytes);
  *data = memory->data();
  Array array{std::move(name), dtype, std::move(shape), *data, *bytes, memory};
  return array;
}

float amp::runtime::bfloatToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t amp::runtime::floatToBfloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float amp::runtime::halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31,
           mantissa = bits & 0x3ff, wide;
  if (exponent == 31) {
    wide = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent == 0) {
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  } else {
    wide = sign | (exponent + 112) << 23 | mantissa << 13;
  }
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

uint16_t amp::runtime::floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint16_t sign = bits >> 16 & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= 0x477ff000) // 65520: halfway to what would follow 65504
    return sign | 0x7c00;
  if (magnitude < 0x38800000) // below 2^-14: in units of 2^-24
    return sign | static_cast<uint16_t>(
                      std::nearbyint(std::ldexp(std::fabs(value), 24)));
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return sign | static_cast<uint16_t>((magnitude >> 13) - (112 << 10));
}

bool amp::runtime::isWidening(DType from, DType to) {
  if (from == to)
    return true;
  if (isFloat(from))
    return isFloat(to) &&
           (to == DType::F64 || (to == DType::F32 && getSize(from) == 2));
  if (isFloat(to))
    return to == DType::F64 ? getSize(from) <= 4
                            : to == DType::F32 && getSize(from) <= 2;
  return to == DType::I64 && from != DType::U64;
}

namespace {
/// Integers as (negative?, magnitude) would be exact for all; int64 with a flag
/// for what only u64 holds is enough.
struct Number {
  bool isFloat;
  double real;
  int64_t integer;
};
} // namespace

template <typename T> static T load(const char *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(char *data, size_t index, T value) {
  std::memcpy(data + index * sizeof(T), &value, sizeof(T));
}

static Number fromReal(double value) { return {true, value, 0}; }
static Number fromInteger(int64_t value) {
  return {false, static_cast<double>(value), value};
}

static Number loadNumber(const Array &from, size_t i) {
  switch (from.dtype) {
  case DType::F32:
    return fromReal(load<float>(from.data, i));
  case DType::F16:
    return fromReal(halfToFloat(load<uint16_t>(from.data, i)));
  case DType::BF16:
    return fromReal(bfloatToFloat(load<uint16_t>(from.data, i)));
  case DType::F64:
    return fromReal(load<double>(from.data, i));
  case DType::I64:
    return fromInteger(load<int64_t>(from.data, i));
  case DType::I32:
    return fromInteger(load<int32_t>(from.data, i));
  case DType::I16:
    return fromInteger(load<int16_t>(from.data, i));
  case DType::I8:
    return fromInteger(load<int8_t>(from.data, i));
  case DType::U8:
  case DType::I1:
    return fromInteger(load<uint8_t>(from.data, i));
  case DType::U16:
    return fromInteger(load<uint16_t>(from.data, i));
  case DType::U32:
    return fromInteger(load<uint32_t>(from.data, i));
  case DType::U64:
    break;
  }
  uint64_t value = load<uint64_t>(from.data, i);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail(AMP_MISMATCH, quote(from.name) + " holds " + std::to_string(value) +
                           ", which is more than i64 can");
  return fromInteger(static_cast<int64_t>(value));
}

static int64_t toInteger(const Array &from, const Number &number, DType to) {
  int64_t low = 0, high = 0, value = number.integer;
  switch (to) {
  case DType::I64:
    low = std::numeric_limits<int64_t>::min();
    high = std::numeric_limits<int64_t>::max();
    break;
  case DType::I32:
    low = std::numeric_limits<int32_t>::min();
    high = std::numeric_limits<int32_t>::max();
    break;
  case DType::I8:
    low = -128, high = 127;
    break;
  case DType::I1:
    high = 1;
    break;
  default:
    high = 255;
    break;
  }
  bool fits = true;
  if (number.isFloat) {
    fits = number.real == std::floor(number.real) &&
           std::fabs(number.real) < 9.2e18;
    value = fits ? static_cast<int64_t>(number.real) : 0;
  }
  if (!fits || value < low || value > high)
    fail(AMP_MISMATCH, quote(from.name) + " holds " +
                           (number.isFloat ? std::to_string(number.real)
                                           : std::to_string(value)) +
                           ", which is no value of " + getName(to));
  return value;
}

void amp::runtime::convert(const Array &from, DType to, char *target) {
  if (from.dtype == to) {
    if (from.bytes)
      std::memcpy(target, from.data, from.bytes);
    return;
  }
  size_t count = from.bytes / getSize(from.dtype);
  for (size_t i = 0; i < count; ++i) {
    Number number = loadNumber(from, i);
    switch (to) {
    case DType::F32:
      store(target, i, static_cast<float>(number.real));
      break;
    case DType::F64:
      store(target, i, number.real);
      break;
    case DType::F16:
      store(target, i, floatToHalf(static_cast<float>(number.real)));
      break;
    case DType::BF16:
      store(target, i, floatToBfloat(static_cast<float>(number.real)));
      break;
    case DType::I64:
      store(target, i, toInteger(from, number, to));
      break;
    case DType::I32:
      store(target, i, static_cast<int32_t>(toInteger(from, number, to)));
      break;
    case DType::I8:
    case DType::U8:
    case DType::I1:
      store(target, i, static_cast<uint8_t>(toInteger(from, number, to)));
      break;
    default:
      fail(AMP_UNSUPPORTED, std::string("cannot convert to ") + getName(to));
    }
  }
}
