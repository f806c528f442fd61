//===- KernelReport.h - What is known of CUDA kernels ---------------------===//
//
// The folder of --print-kernels. Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_KERNELREPORT_H
#define AMP_LIB_COMPILER_KERNELREPORT_H

#include "amp/Codegen/Cuda/Codegen.h"
#include "amp/Target/Artifact/WriteArtifact.h"

namespace amp {

/// Collects launches, and writes them with what their kernels need.
///
/// Times are predictions of a roofline: the larger of bytes over the memory's
/// speed and operations over the speed of the units that do them, as measured
/// on an H200 by others (4.3 TB/s, 790 TFLOP/s in half precision), or peak
/// (67 TFLOP/s of float32); a microsecond for each node of a graph.
class KernelReport {
public:
  void add(const cuda::CompiledEntry &entry);
  /// Writes `<kernel>.ptx` for each kernel, and kernels.json.
  llvm::Error write(const Artifact &artifact, llvm::StringRef folder) const;

private:
  struct Usage {
    int64_t launches = 0, sharedBytes = 0;
    std::array<int64_t, 3> block;
    cuda::Work work;
    double seconds = 0;
  };
  llvm::StringMap<Usage> usages;
  llvm::json::Array entries;
};

} // namespace amp

#endif // AMP_LIB_COMPILER_KERNELREPORT_H
