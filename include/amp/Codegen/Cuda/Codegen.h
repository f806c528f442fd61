//===- Codegen.h - From a step of primitives to CUDA kernels --------------===//
//
// Turns a function of primitives on static shapes into kernels and the graph
// that launches them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_CODEGEN_H
#define AMP_CODEGEN_CUDA_CODEGEN_H

#include "amp/Codegen/Cuda/KernelModule.h"
#include "amp/Codegen/Plan/Entry.h"

namespace amp::cuda {

/// What symbols of generic kernels begin with.
inline constexpr llvm::StringLiteral genericPrefix = "generic_";

struct CudaOptions {
  /// Specialised kernels; what it lacks gets a generic kernel.
  const KernelRegistry *registry = nullptr;
  /// Merge elementwise chains, and reductions with what surrounds them.
  bool fuse = true;
};

/// Where a kernel's buffer is: a tensor of the entry by its number, or an
/// offset in the arena.
struct BufferPlace {
  enum Kind { Tensor, Arena } kind = Tensor;
  int64_t number = 0;
};

/// How much a launch has to do at least.
struct Work {
  /// Bytes of the buffers it is given.
  int64_t bytes = 0;
  /// Multiplications and additions of products and convolutions, and whether
  /// their operands are of a half type.
  int64_t operations = 0;
  bool isHalf = false;
};

/// One node of an entry's graph: the launch of a kernel, or (without one) a
/// copy of `bytes` from the first buffer to the second.
struct Node {
  /// The symbol; empty for a copy.
  std::string kernel;
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t sharedBytes = 0;
  llvm::SmallVector<BufferPlace> buffers;
  int64_t bytes = 0;
  /// Nodes that must have ended before, without those implied by others.
  llvm::SmallVector<unsigned> after;
  Work work;
};

/// What a caller of an entry must know. The arena is aligned to
/// `memoryAlignment`.
struct CompiledEntry : plan::CompiledEntry {
  std::vector<Node> nodes;
};

/// The kernels of an artifact while they are printed: specialised ones in a
/// gpu.module, and generic ones, which are kernels of the CPU with one thread
/// for each piece of the parallel iteration, in a module beside it.
class StepKernels {
public:
  explicit StepKernels(mlir::MLIRContext &context);

  KernelModule &getSpecialised() { return *specialised; }
  cpu::KernelModule &getCpuKernels() { return *cpuKernels; }
  /// The launch that runs `call`. Results are those of the CPU, bit for bit.
  Launch wrap(const cpu::KernelCall &call);

  mlir::gpu::GPUModuleOp getSpecialisedModule() {
    return specialised->getModule();
  }
  mlir::ModuleOp getGenericModule() { return *generic; }

private:
  mlir::LLVM::LLVMFuncOp getWrapper(const cpu::KernelCall &call, int64_t block);

  mlir::OwningOpRef<mlir::ModuleOp> container, generic;
  std::optional<KernelModule> specialised;
  std::optional<cpu::KernelModule> cpuKernels;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> wrappers;
};

/// Generates the kernels of an entry into `kernels`, ready for `compileToPtx`;
/// entries share kernels. `function` has static shapes, one block, and
/// primitives only; it is left as it is. Fails with a diagnostic that names the
/// operation that has no kernel.
mlir::FailureOr<CompiledEntry> generateEntry(mlir::func::FuncOp function,
                                             StepKernels &kernels,
                                             const CudaOptions &options);

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_CODEGEN_H
