//===- TensorMap.cpp - Descriptors of tensors for bulk copies -------------===//
// The rules the driver's documentation gives for tiled maps.
//===----------------------------------------------------------------------===//

#include "amp/PtxEmulator/Interpreter/TensorMap.h"
#include <cstring>

using namespace amp::ptx;

static constexpr uint32_t magic = 0x616d7074;

namespace {
struct Encoded {
  uint64_t base, strides[maxTensorRank - 1];
  uint32_t magic, lastIndex[maxTensorRank]; // size - 1: sizes go up to 2^32
  uint16_t lastBox[maxTensorRank];
  uint8_t elementStrides[maxTensorRank];
  uint8_t rank, dataType, swizzle, fillsNaN;
};
static_assert(sizeof(Encoded) <= tensorMapBytes);
} // namespace

uint32_t TensorMap::getElementBytes() const {
  // u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32ftz tf32 tf32ftz
  static constexpr uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return dataType < sizeof(bytes) ? bytes[dataType] : 0;
}

bool TensorMap::isFloat() const { return dataType >= 6; }

std::string TensorMap::check() const {
  if (rank < 1 || rank > maxTensorRank)
    return "the rank must be 1 to 5";
  uint32_t bytes = getElementBytes();
  if (!bytes)
    return "the data type is not known";
  if (base % 16)
    return "the address must be a multiple of 16";
  for (unsigned i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > uint64_t(1) << 32)
      return "a size must be 1 to 2^32";
    if (i && (strides[i] % 16 || strides[i] >= uint64_t(1) << 40))
      return "a stride must be a multiple of 16 below 2^40";
    if (box[i] == 0 || box[i] > 256)
      return "a box extent must be 1 to 256";
    if (elementStrides[i] == 0 || elementStrides[i] > 8)
      return "an element stride must be 1 to 8";
  }
  uint32_t row = box[0] * bytes;
  if (row % 16)
    return "the rows of the box must be multiples of 16 bytes";
  if (swizzle > 3)
    return "the swizzle is not known";
  if (swizzle && row > 16u << swizzle)
    return "the rows of the box must not exceed the swizzle";
  return "";
}

void TensorMap::encode(void *bytes) const {
  Encoded encoded{};
  encoded.magic = magic;
  encoded.base = base;
  encoded.rank = static_cast<uint8_t>(rank);
  encoded.dataType = static_cast<uint8_t>(dataType);
  encoded.swizzle = static_cast<uint8_t>(swizzle);
  encoded.fillsNaN = fillsNaN;
  for (unsigned i = 0; i < rank; ++i) {
    if (i)
      encoded.strides[i - 1] = strides[i];
    encoded.lastIndex[i] = static_cast<uint32_t>(sizes[i] - 1);
    encoded.lastBox[i] = static_cast<uint16_t>(box[i] - 1);
    encoded.elementStrides[i] = static_cast<uint8_t>(elementStrides[i]);
  }
  std::memset(bytes, 0, tensorMapBytes);
  std::memcpy(bytes, &encoded, sizeof(encoded));
}

bool TensorMap::decode(const void *bytes) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  if (encoded.magic != magic || encoded.rank < 1 ||
      encoded.rank > maxTensorRank)
    return false;
  *this = TensorMap();
  base = encoded.base;
  rank = encoded.rank;
  dataType = encoded.dataType;
  swizzle = encoded.swizzle;
  fillsNaN = encoded.fillsNaN;
  for (unsigned i = 0; i < rank; ++i) {
    strides[i] = i ? encoded.strides[i - 1] : getElementBytes();
    sizes[i] = uint64_t(encoded.lastIndex[i]) + 1;
    box[i] = encoded.lastBox[i] + 1u;
    elementStrides[i] = encoded.elementStrides[i];
  }
  return check().empty();
}
