//===- Ptxas.h - PTX to the code of one architecture ------------*- C++ -*-===//
// NVIDIA's assembler as a process, with what it says about registers and
// spills, and a cache on disk.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_BACKEND_PTXAS_H
#define AMP_CODEGEN_CUDA_BACKEND_PTXAS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace amp::cuda {

/// What ptxas says about one kernel on one architecture.
struct KernelBudget {
  int64_t registers = 0;
  /// Static shared memory, stack and spills of a thread, in bytes.
  int64_t sharedBytes = 0, stackBytes = 0, spillBytes = 0;
  /// Lines that say that the code will be slow: spills, and the warnings C75xx
  /// about wgmma and setmaxnreg.
  std::vector<std::string> warnings;
};

/// The budget in the text that `ptxas -v` writes about one kernel.
KernelBudget parsePtxasLog(llvm::StringRef log);

struct Cubin {
  llvm::SmallVector<char, 0> bytes;
  KernelBudget budget;
};

class Ptxas {
public:
  /// `given`, or (empty) what is on PATH, in $CUDA_HOME/bin or in
  /// /usr/local/cuda/bin. Says where it was looked for.
  static llvm::Expected<Ptxas> find(llvm::StringRef given);

  llvm::StringRef getPath() const { return path; }
  /// "13.0".
  llvm::StringRef getVersion() const { return version; }
  /// Keeps results in this folder, and takes them from there.
  void setCache(std::string folder) { cache = std::move(folder); }

  /// Assembles `ptx`, which has one kernel, for `chip`. Thread-safe.
  llvm::Expected<Cubin> assemble(llvm::StringRef ptx,
                                 llvm::StringRef chip) const;

private:
  Ptxas(std::string path, std::string version)
      : path(std::move(path)), version(std::move(version)) {}
  llvm::Expected<std::string> run(llvm::StringRef ptx, llvm::StringRef chip,
                                  llvm::SmallVectorImpl<char> &bytes) const;

  std::string path, version, cache;
};

/// $XDG_CACHE_HOME/amp-mlir/ptxas, or the same below ~/.cache; empty when there
/// is neither.
std::string getPtxasCache();

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_BACKEND_PTXAS_H
