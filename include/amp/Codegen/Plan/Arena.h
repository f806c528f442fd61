//===- Arena.h - Places for buffers that live at different times ----------===//
//
// Offsets in one block of memory.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_PLAN_ARENA_H
#define AMP_CODEGEN_PLAN_ARENA_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace amp::plan {

/// What offsets are multiples of unless a target asks for more.
inline constexpr int64_t arenaAlignment = 64;

/// A buffer that is needed from step `first` to step `last`, both included.
struct Lifetime {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;

  bool meets(const Lifetime &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct ArenaLayout {
  /// One for each buffer, multiples of the alignment.
  llvm::SmallVector<int64_t> offsets;
  /// Size of the arena.
  int64_t bytes = 0;
  /// The most bytes that are needed at one time: what no layout can be below.
  int64_t needed = 0;
};

/// Places the largest buffers first, each at the lowest offset where nothing
/// lies that lives at the same time.
ArenaLayout layOut(llvm::ArrayRef<Lifetime> buffers,
                   int64_t alignment = arenaAlignment);

} // namespace amp::plan

#endif // AMP_CODEGEN_PLAN_ARENA_H
