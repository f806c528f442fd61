//===- ConvProduct.h - Convolutions as matrix products --------------------===//
//
// Products whose depth runs over channels and taps (forward, input gradient) or
// over windows (weight gradient). Windows are gathered into panels in the task
// that uses them, while these stay in the cache.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVPRODUCT_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVPRODUCT_H

#include "Positions.h"

namespace amp::cpu {

/// result[group][row] at position = bias[group][row] + sum over channel and tap
/// of weights[group][row][channel][tap] *
/// planes[group][channel] at position + offset of tap.
struct TapProduct {
  Arithmetic arithmetic;
  int64_t groups = 0, rows = 0, channels = 0;
  /// Rows of all groups follow each other.
  UnitMatrix weights;
  PositionGrid from, to;
  int64_t planeSize = 0, resultChannelSize = 0;
  llvm::SmallVector<int64_t> offsets;
  mlir::Type result;

  int64_t depth() const { return channels * int64_t(offsets.size()); }
  std::string getKey() const;
};

void addTapProduct(KernelCalls &calls, KernelModule &kernels,
                   const TapProduct &product, const CpuTarget &target,
                   KernelOperand weights, KernelOperand planes,
                   const KernelOperand *bias, KernelOperand result);

/// weights[group][column][channel][tap] = sum over positions of
/// planes[group][channel] at position + offset of tap, times
/// gradient[group][column] at position.
struct WindowProduct {
  Arithmetic arithmetic;
  int64_t groups = 0, columns = 0, channels = 0;
  PositionGrid from;
  int64_t planeSize = 0;
  llvm::SmallVector<int64_t> offsets;
  RegisterTile tile;
  mlir::Type result;

  int64_t rows() const { return channels * int64_t(offsets.size()); }
  std::string getKey() const;
};

/// `gradient`: panels of columns, [group][panel][position unit][column].
void addWindowProduct(KernelCalls &calls, KernelModule &kernels,
                      const WindowProduct &product, KernelOperand planes,
                      KernelOperand gradient, KernelOperand weights);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVPRODUCT_H
