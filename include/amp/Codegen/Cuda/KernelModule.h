//===- KernelModule.h - What a CUDA kernel is, and who provides one -------===//
//
// The module that kernels are printed into, the launches of an operation, and
// the registry of kernels for operations and for fused groups.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_KERNELMODULE_H
#define AMP_CODEGEN_CUDA_KERNELMODULE_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "amp/Codegen/Plan/Fusion.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include <array>

namespace amp::cuda {

/// What a kernel is given for a buffer, as on the CPU.
using KernelOperand = cpu::KernelOperand;

/// Bytes that offsets in the arena, and tensors that are no scalars, are
/// multiples of.
inline constexpr int64_t memoryAlignment = 256;

/// The module of a step's kernels.
///
/// A kernel is `llvm.func @name(!llvm.ptr<1>...)` with `nvvm.kernel` and
/// `nvvm.reqntid`: one pointer per buffer, none of which overlaps another one
/// that is written (`llvm.noalias`). Shapes are constants. Its body is arith,
/// math, scf, cf, vector (1-d), llvm and nvvm operations. Shared memory of a
/// size that the launch says is `getSharedMemory`. Tensors lie in memory as
/// they do on the CPU (see cpu::KernelModule); rank-0 tensors are aligned to 16
/// bytes, all others and scratch to `memoryAlignment`.
class KernelModule {
public:
  explicit KernelModule(mlir::gpu::GPUModuleOp module);

  using Body = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &builder,
                                       mlir::ValueRange buffers)>;

  /// The kernel for `key`, printed by `body` unless there is one already; a
  /// return is added at its end. The key says all that the code depends on:
  /// operation, shapes, types, options, the block. `name` is a readable
  /// beginning of the symbol.
  mlir::LLVM::LLVMFuncOp getOrCreate(llvm::StringRef key, llvm::StringRef name,
                                     unsigned numBuffers,
                                     std::array<int64_t, 3> block, Body body);

  /// The launch's shared memory (`Launch::sharedBytes`), aligned to 1024 bytes:
  /// a `!llvm.ptr<3>`.
  mlir::Value getSharedMemory(mlir::ImplicitLocOpBuilder &builder);

  mlir::gpu::GPUModuleOp getModule() const { return module; }

private:
  mlir::gpu::GPUModuleOp module;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> byKey;
};

/// One kernel of a step: `grid` blocks of `block` threads.
struct Launch {
  mlir::LLVM::LLVMFuncOp kernel;
  llvm::SmallVector<KernelOperand> operands;
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};
  /// Of `getSharedMemory`, for each block.
  int64_t sharedBytes = 0;
};

/// The launches of one operation or group, in order: each sees what those
/// before it have written.
struct KernelLaunches {
  llvm::SmallVector<Launch> launches;
  /// Sizes in bytes of the scratch buffers, alive during these launches only.
  /// Nobody has written them before.
  llvm::SmallVector<int64_t> scratch;
};

/// Prints the kernels of `op`. Fails with a diagnostic at `op`.
using KernelEmitter = std::function<mlir::FailureOr<KernelLaunches>(
    mlir::Operation *op, KernelModule &kernels)>;

/// Numbers the memory that a value lies in: two values with one number share
/// it, and are one buffer of a kernel.
using StorageOf = llvm::function_ref<unsigned(mlir::Value)>;

/// Prints the kernels of a fused group (Map, Rows, Reduce). Returns no launches
/// where it has nothing better than the generic kernel.
using GroupEmitter = std::function<mlir::FailureOr<KernelLaunches>(
    const plan::Group &group, KernelModule &kernels, StorageOf storageOf)>;

/// Specialised kernels, by operation name and for groups. What is not here, or
/// gives no launches, gets a generic kernel.
class KernelRegistry {
public:
  void add(llvm::StringRef operationName, KernelEmitter emitter) {
    emitters[operationName] = std::move(emitter);
  }
  void setGroupEmitter(GroupEmitter emitter) {
    groupEmitter = std::move(emitter);
  }
  const KernelEmitter *lookup(mlir::Operation *op) const {
    auto found = emitters.find(op->getName().getStringRef());
    return found == emitters.end() ? nullptr : &found->second;
  }
  const GroupEmitter *getGroupEmitter() const {
    return groupEmitter ? &groupEmitter : nullptr;
  }

private:
  llvm::StringMap<KernelEmitter> emitters;
  GroupEmitter groupEmitter;
};

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_KERNELMODULE_H
