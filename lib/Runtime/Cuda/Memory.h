//===- Memory.h - Memory of a CUDA device -----------------------*- C++ -*-===//
// One allocation for all tensors and the arena. Private to the runtime.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_CUDA_MEMORY_H
#define AMP_LIB_RUNTIME_CUDA_MEMORY_H

#include "Driver.h"
#include "amp/Runtime/Manifest.h"

namespace amp::runtime::cuda {

/// Kernels expect tensors at multiples of this, rank-0 ones at multiples of
/// `scalarAlignment`.
constexpr size_t tensorAlignment = 256, scalarAlignment = 16;

/// Where everything lies, as offsets in one block: first all rank-0 tensors,
/// side by side, so that one copy brings them to the host; then the other
/// tensors; then the arena, which entries share.
struct MemoryLayout {
  explicit MemoryLayout(const Manifest &manifest);

  std::vector<size_t> offsets;
  size_t scalarBytes = 0, arena = 0, total = 0;
};

/// A block of device memory, filled with zeros.
class DeviceBlock {
public:
  /// Says what the memory was for when there is not enough.
  DeviceBlock(const Driver &driver, const MemoryLayout &layout,
              const Manifest &manifest, Stream stream);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock &) = delete;
  DeviceBlock &operator=(const DeviceBlock &) = delete;

  DevicePtr get() const { return data; }

private:
  const Driver &driver;
  DevicePtr data = 0;
};

/// A block of host memory that the device can copy from and to on its own.
class PinnedBlock {
public:
  PinnedBlock(const Driver &driver, size_t bytes);
  ~PinnedBlock();
  PinnedBlock(const PinnedBlock &) = delete;
  PinnedBlock &operator=(const PinnedBlock &) = delete;

  char *get() const { return data; }

private:
  const Driver &driver;
  char *data = nullptr;
};

} // namespace amp::runtime::cuda

#endif // AMP_LIB_RUNTIME_CUDA_MEMORY_H
