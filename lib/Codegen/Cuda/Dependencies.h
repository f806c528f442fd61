//===- Dependencies.h - Which node of a graph waits for which -------------===//
//
// Edges from what nodes read and write.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_DEPENDENCIES_H
#define AMP_LIB_CODEGEN_CUDA_DEPENDENCIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace amp::cuda {

/// Bytes [begin, end) of a tensor, or of the arena.
struct MemoryAccess {
  /// Number of the tensor, -1 for the arena.
  int64_t space;
  int64_t begin, end;
  bool isWrite;
};

/// Takes the nodes in the order in which they could run one by one, and says
/// which ones each has to wait for when they may run at the same time.
class Dependencies {
public:
  /// The next node: what it accesses. Returns the nodes that it follows, least
  /// first, without those that others among them follow.
  llvm::SmallVector<unsigned> add(llvm::ArrayRef<MemoryAccess> accesses);

private:
  struct Past {
    unsigned node;
    MemoryAccess access;
  };
  /// Accesses that a later node may have to wait for.
  std::vector<Past> past;
  /// All nodes that come before each node.
  std::vector<llvm::BitVector> before;
};

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_DEPENDENCIES_H
