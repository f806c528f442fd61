//===- Arena.cpp - Places for buffers that live at different times --------===//
//
// First fit by falling size.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Arena.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace llvm;
using namespace amp::plan;

static int64_t getNeeded(ArrayRef<Lifetime> buffers,
                         function_ref<int64_t(int64_t)> align) {
  std::map<int64_t, int64_t> change;
  for (const Lifetime &buffer : buffers) {
    change[buffer.first] += align(buffer.bytes);
    change[buffer.last + 1] -= align(buffer.bytes);
  }
  int64_t now = 0, most = 0;
  for (auto [step, bytes] : change)
    most = std::max(most, now += bytes);
  return most;
}

ArenaLayout amp::plan::layOut(ArrayRef<Lifetime> buffers, int64_t alignment) {
  auto align = [&](int64_t bytes) -> int64_t {
    return alignTo(bytes, uint64_t(alignment));
  };
  ArenaLayout layout;
  layout.offsets.assign(buffers.size(), 0);
  layout.needed = getNeeded(buffers, align);
  SmallVector<size_t> order = to_vector(seq<size_t>(0, buffers.size()));
  stable_sort(order, [&](size_t a, size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  // What is placed, by offset.
  std::multimap<int64_t, size_t> placed;
  for (size_t index : order) {
    const Lifetime &buffer = buffers[index];
    int64_t size = align(buffer.bytes), offset = 0;
    for (auto [start, other] : placed) {
      if (!buffers[other].meets(buffer))
        continue;
      if (start >= offset + size)
        break;
      offset = std::max(offset, start + align(buffers[other].bytes));
    }
    layout.offsets[index] = offset;
    placed.insert({offset, index});
    layout.bytes = std::max(layout.bytes, offset + size);
  }
  return layout;
}
