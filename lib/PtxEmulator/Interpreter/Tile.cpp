//===- Tile.cpp - Boxes of tensors in shared memory -----------------------===//
// A box is visited row by row, a row in chunks of 16 bytes, as swizzles move.
//===----------------------------------------------------------------------===//

#include "Tile.h"
#include "Access.h"
#include <algorithm>
#include <cstring>

using namespace amp::ptx;

static constexpr uint32_t chunkBytes = 16;

uint32_t amp::ptx::getTileBytes(const TensorMap &map) {
  uint64_t bytes = map.getElementBytes();
  for (unsigned i = 0; i < map.rank; ++i) {
    uint32_t stride = map.elementStrides[i];
    bytes *= (map.box[i] + stride - 1) / stride;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, 1u << 30));
}

/// What lies outside the tensor: zeros, or NaN where the map says so.
static void fill(uint8_t *to, uint32_t bytes, const TensorMap &map) {
  if (!map.fillsNaN || !map.isFloat()) {
    std::memset(to, 0, bytes);
    return;
  }
  uint32_t element = map.getElementBytes();
  for (uint32_t i = 0; i < bytes; ++i) // 0x7fff...
    to[i] = i % element == element - 1 ? 0x7f : 0xff;
}

namespace {
/// One row of the box: its place in shared memory and in the tensor.
class BoxCopy {
public:
  BoxCopy(Context &context, const PendingBulk &bulk, bool toShared)
      : context(context), bulk(bulk), map(bulk.map), toShared(toShared),
        element(map.getElementBytes()) {
    for (unsigned i = 0; i < map.rank; ++i)
      extents[i] =
          (map.box[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
  }
  void run();

private:
  void copyRow(uint32_t place, uint64_t address, bool isInside);
  void copyChunk(uint32_t place, uint64_t address, uint32_t first,
                 uint32_t count, bool isInside);
  void copyElements(uint8_t *shared, uint64_t address, uint32_t bytes);

  Context &context;
  const PendingBulk &bulk;
  const TensorMap &map;
  bool toShared;
  uint32_t element;
  uint32_t extents[maxTensorRank] = {};
};
} // namespace

void BoxCopy::run() {
  uint32_t rows = 1;
  for (unsigned i = 1; i < map.rank; ++i)
    rows *= extents[i];
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t address = map.base;
    bool isInside = true;
    uint32_t left = row;
    for (unsigned i = 1; i < map.rank; ++i) {
      int64_t at = bulk.coordinates[i] +
                   int64_t(left % extents[i]) * map.elementStrides[i];
      left /= extents[i];
      isInside &= at >= 0 && uint64_t(at) < map.sizes[i];
      address += static_cast<uint64_t>(at) * map.strides[i];
    }
    copyRow(bulk.shared + row * extents[0] * element, address, isInside);
  }
}

void BoxCopy::copyRow(uint32_t place, uint64_t address, bool isInside) {
  uint32_t perChunk = chunkBytes / element;
  for (uint32_t first = 0; first < extents[0]; first += perChunk)
    copyChunk(place + first * element, address, first,
              std::min(perChunk, extents[0] - first), isInside);
}

/// `count` elements from `first` of a row; the chunk is swizzled as a whole.
void BoxCopy::copyChunk(uint32_t place, uint64_t address, uint32_t first,
                        uint32_t count, bool isInside) {
  uint32_t offset = swizzleAddress(place, map.swizzle);
  if (offset + chunkBytes > context.block->shared.size())
    return; // the box was checked; a swizzle stays in its 1024 bytes
  uint8_t *shared = context.block->shared.data() + offset;
  int64_t start = bulk.coordinates[0] + int64_t(first);
  bool isWhole = isInside && map.elementStrides[0] == 1 && start >= 0 &&
                 uint64_t(start) + count <= map.sizes[0];
  if (isWhole)
    return copyElements(shared, address + uint64_t(start) * element,
                        count * element);
  for (uint32_t i = 0; i < count; ++i) {
    int64_t at =
        bulk.coordinates[0] + int64_t(first + i) * map.elementStrides[0];
    uint8_t *here = shared + i * element;
    if (!isInside || at < 0 || uint64_t(at) >= map.sizes[0]) {
      if (toShared)
        fill(here, element, map);
      continue;
    }
    copyElements(here, address + static_cast<uint64_t>(at) * element, element);
  }
}

void BoxCopy::copyElements(uint8_t *shared, uint64_t address, uint32_t bytes) {
  if (!checkGlobalRange(context, *bulk.inst, 0, address, bytes, toShared))
    return;
  void *global = reinterpret_cast<void *>(address);
  if (toShared) {
    std::memcpy(shared, global, bytes);
  } else {
    std::memcpy(global, shared, bytes);
    markGlobalWritten(context, address, bytes);
  }
}

static void countBytes(Context &context, const PendingBulk &bulk,
                       bool isWrite) {
  uint64_t sectors = (uint64_t(bulk.bytes) + 31) / 32;
  context.counters.globalRequests++;
  context.counters.globalSectors += sectors;
  context.counters.idealSectors += sectors;
  (isWrite ? context.counters.bytesWritten : context.counters.bytesRead) +=
      bulk.bytes;
}

void amp::ptx::copyToShared(Context &context, const PendingBulk &bulk) {
  countBytes(context, bulk, false);
  if (bulk.isTensor)
    return BoxCopy(context, bulk, true).run();
  if (checkGlobalRange(context, *bulk.inst, 0, bulk.global, bulk.bytes, true))
    std::memcpy(context.block->shared.data() + bulk.shared,
                reinterpret_cast<const void *>(bulk.global), bulk.bytes);
}

void amp::ptx::copyFromShared(Context &context, const PendingBulk &bulk) {
  countBytes(context, bulk, true);
  if (bulk.isTensor)
    return BoxCopy(context, bulk, false).run();
  if (!checkGlobalRange(context, *bulk.inst, 0, bulk.global, bulk.bytes, false))
    return;
  std::memcpy(reinterpret_cast<void *>(bulk.global),
              context.block->shared.data() + bulk.shared, bulk.bytes);
  markGlobalWritten(context, bulk.global, bulk.bytes);
}
