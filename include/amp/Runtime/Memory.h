//===- Memory.h - Aligned memory --------------------------------*- C++ -*-===//
// Blocks for tensors and workspaces, from the system or from the caller.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_MEMORY_H
#define AMP_RUNTIME_MEMORY_H

#include "amp-c/amp.h"
#include <string>

namespace amp::runtime {

/// Compiled code expects tensors and workspaces at multiples of this.
constexpr size_t memoryAlignment = 64;

inline bool isAligned(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory) % memoryAlignment == 0;
}

/// Whether the machine has less memory: it would be granted all the same, and
/// end the process when it is used.
bool exceedsMachine(size_t bytes);

/// A zeroed block, released with the object.
class Block {
public:
  Block() = default;
  /// `what` names the block when there is no memory for it.
  Block(size_t bytes, const amp_options &options, const std::string &what);
  ~Block();
  Block(Block &&other) noexcept { *this = std::move(other); }
  Block &operator=(Block &&other) noexcept;

  char *get() const { return data; }

private:
  char *data = nullptr;
  size_t bytes = 0;
  amp_options options = {};
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_MEMORY_H
