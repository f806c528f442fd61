//===- Gemm.h - Matrix products: packs, blocks and tiles ------------------===//
//
// Plans one batch of matrix products and prints its kernels.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_GEMM_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_GEMM_H

#include "Pack.h"

namespace amp::cpu {

/// c[batch] = a[batch] * transpose(b[batch]), c dense and row-major. Rows of
/// `a` are the rows of c, rows of `b` its columns. The batch of an operand is
/// found from that of c through strides per dimension, 0 where it broadcasts.
struct GemmProblem {
  MatrixView a, b;
  mlir::Type source;
  mlir::Type result;
  llvm::SmallVector<int64_t> batchShape;
  llvm::SmallVector<int64_t> aBatchStrides, bBatchStrides;

  int64_t countBatches() const;
};

/// The calls that compute `problem` from tensors `a` and `b` into `c`.
KernelCalls emitGemm(GemmProblem problem, KernelOperand a, KernelOperand b,
                     KernelOperand c, const CpuTarget &target,
                     KernelModule &kernels);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_GEMM_H
