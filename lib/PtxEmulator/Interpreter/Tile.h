//===- Tile.h - Boxes of tensors in shared memory ---------------*- C++ -*-===//
// Where the elements of a box go, with swizzle and fill.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_TILE_H
#define AMP_PTXEMULATOR_TILE_H

#include "Machine.h"

namespace amp::ptx {

uint32_t getTileBytes(const TensorMap &map);

/// Bits 4 and up of an address of shared memory, exchanged as a swizzle of 32
/// (1), 64 (2) or 128 bytes (3) does; 0 changes nothing.
inline uint32_t swizzleAddress(uint32_t address, uint32_t swizzle) {
  uint32_t mask = (1u << swizzle) - 1;
  return address ^ ((address >> 7 & mask) << 4);
}

/// Does the copy now.
void copyToShared(Context &context, const PendingBulk &bulk);
void copyFromShared(Context &context, const PendingBulk &bulk);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_TILE_H
