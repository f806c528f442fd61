//===- GroupKernels.h - Kernels of fused groups ---------------------------===//
//
// Elementwise chains, reductions of rows and of anything else: every byte moved
// once, in whole chunks where rows are aligned. The arithmetic is the CPU's.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_GROUPKERNELS_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_GROUPKERNELS_H

#include "Codegen/Cpu/GroupCode.h"
#include "KernelBuilder.h"

namespace amp::cuda {

/// Elements of a vector along the innermost loop of `code`: a chunk of its
/// largest elements, or what divides the loop; `anyLength`: the loop has a tail
/// of its own.
int64_t chooseWidth(const cpu::GroupCode &code, bool anyLength = false);

/// Emitters of vectors of `width` elements, and of single ones.
cpu::Emitter makeEmitter(KernelBuilder &b, int64_t width);

/// The launch that prints `body` with the key of `code`; `detail` is what the
/// code depends on besides.
using GroupBody =
    llvm::function_ref<void(KernelBuilder &b, mlir::ValueRange buffers)>;
Launch makeGroupLaunch(const cpu::GroupCode &code, llvm::StringRef printer,
                       llvm::ArrayRef<int64_t> detail, int64_t grid,
                       int64_t threads, int64_t sharedBytes,
                       llvm::ArrayRef<KernelOperand> operands,
                       KernelModule &kernels, GroupBody body);

/// i64 indices of the loops at vector number `linear` (i32) of `sizes`, the
/// last of which counts vectors of `width`.
llvm::SmallVector<mlir::Value> findPoint(KernelBuilder &b, mlir::Value linear,
                                         llvm::ArrayRef<int64_t> sizes,
                                         int64_t width);

/// Combines one value of each of `threads` threads that share a part of shared
/// memory at `cells`, in a fixed order; all of them get the result. `threads`
/// is a power of two up to a warp, or a multiple of warps, which is the block.
mlir::Value combineThreads(KernelBuilder &b, cpu::Emitter &e,
                           const cpu::Accumulation &reduction,
                           mlir::Value value, int64_t threads,
                           mlir::Value cells);
/// Bytes of `cells`.
int64_t getCellBytes(int64_t threads);

KernelLaunches emitFlatKernel(const plan::Group &group, KernelModule &kernels,
                              StorageOf storageOf);
KernelLaunches emitRowsKernel(const plan::Group &group, KernelModule &kernels,
                              StorageOf storageOf);
KernelLaunches emitReduceKernels(const plan::Group &group,
                                 KernelModule &kernels, StorageOf storageOf);
/// The kernel of any group; no launches where the generic one must do.
KernelLaunches emitGroup(const plan::Group &group, KernelModule &kernels,
                         StorageOf storageOf);

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_GROUPKERNELS_H
