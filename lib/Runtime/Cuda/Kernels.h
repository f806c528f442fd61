//===- Kernels.h - The kernels of an artifact, loaded -----------*- C++ -*-===//
// Private to the runtime.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_RUNTIME_CUDA_KERNELS_H
#define AMP_LIB_RUNTIME_CUDA_KERNELS_H

#include "Driver.h"
#include "amp/Runtime/Artifact.h"

namespace amp::runtime::cuda {

/// Functions by number of the kernel.
class Kernels {
public:
  /// Takes the binary for the device where there is one, and has the driver
  /// compile the PTX otherwise.
  Kernels(const Driver &driver, const Artifact &artifact);
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  Function get(size_t kernel) const { return functions[kernel]; }
  /// Lets the kernel be launched with that much shared memory.
  void allowShared(size_t kernel, uint32_t bytes) const;

private:
  Module loadKernel(const KernelInfo &kernel, const Artifact &artifact) const;

  const Driver &driver;
  std::vector<Module> modules;
  std::vector<Function> functions;
};

} // namespace amp::runtime::cuda

#endif // AMP_LIB_RUNTIME_CUDA_KERNELS_H
