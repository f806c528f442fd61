//===- Dependencies.cpp - Which node of a graph waits for which -----------===//
//
// Two accesses of the same bytes, one of them a write, keep their order.
//
//===----------------------------------------------------------------------===//

#include "Dependencies.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace amp::cuda;

static bool meet(const MemoryAccess &x, const MemoryAccess &y) {
  return x.space == y.space && x.begin < y.end && y.begin < x.end;
}

static bool covers(const MemoryAccess &outer, const MemoryAccess &inner) {
  return outer.space == inner.space && outer.begin <= inner.begin &&
         inner.end <= outer.end;
}

SmallVector<unsigned> Dependencies::add(ArrayRef<MemoryAccess> accesses) {
  unsigned node = before.size();
  BitVector direct(node);
  for (const MemoryAccess &access : accesses)
    for (const Past &other : past)
      if ((access.isWrite || other.access.isWrite) &&
          meet(access, other.access))
        direct.set(other.node);
  // From the latest on: what it follows need not be named.
  BitVector implied(node);
  SmallVector<unsigned> after;
  for (int other = direct.find_last(); other >= 0;
       other = direct.find_prev(other)) {
    if (implied.test(other))
      continue;
    after.push_back(other);
    implied.set(other);
    implied |= before[other];
    implied.resize(node);
  }
  before.push_back(implied);
  // Who waits for a write waits for all that this write has waited for.
  for (const MemoryAccess &access : accesses)
    if (access.isWrite)
      llvm::erase_if(past, [&](const Past &other) {
        return covers(access, other.access);
      });
  for (const MemoryAccess &access : accesses)
    past.push_back({node, access});
  std::reverse(after.begin(), after.end());
  return after;
}
