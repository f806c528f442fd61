//===- MemoryOperands.h - Modifiers of memory instructions ------*- C++ -*-===//
// Spaces, orderings and hints, which loads, stores and atomics share.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_MEMORYOPERANDS_H
#define AMP_PTXEMULATOR_MEMORYOPERANDS_H

#include "Decoder.h"

namespace amp::ptx {

/// Removes what names a space; Generic if nothing does.
Space takeSpace(Modifiers &modifiers);
/// Removes .volatile, .relaxed, scopes and so on; true if the access is one
/// that may race.
bool takeOrdering(Modifiers &modifiers);
/// Removes eviction, prefetch and caching hints; true if an operand holds one.
bool takeCacheHints(Modifiers &modifiers);
/// Shared memory is watched in units of the smallest access.
void noteSharedAccess(Decoder &decoder, Space space, uint32_t bytes);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_MEMORYOPERANDS_H
