//===- TapKernels.h - Convolutions as products over taps ------------------===//
//
// In phased planes a tap of the window is a constant offset, so a convolution
// is a matrix product whose depth runs over channels and taps, with nothing
// copied per tap.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_TAPKERNELS_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_TAPKERNELS_H

#include "Arithmetic.h"
#include "ConvShape.h"

namespace amp::cpu {

/// sums[image][group][row][position] = sum over channel and tap of
/// weights[group][row][channel][tap] *
/// planes[image][group][channel][position + offset of tap].
struct TapProduct {
  int64_t images = 0, groups = 0, rows = 0, channels = 0;
  /// Units between rows of weights.
  int64_t weightStride = 0;
  int64_t planeSize = 0;
  int64_t positions = 0;
  llvm::SmallVector<int64_t> offsets;
  /// Type of what is written: that of sums, or that of the result.
  mlir::Type result = nullptr;
};

/// `sumsOffset`: where in `sums` to write, in elements.
void addTapProduct(KernelCalls &calls, KernelModule &kernels,
                   const Arithmetic &arithmetic, const TapProduct &product,
                   const CpuTarget &target, KernelOperand weights,
                   KernelOperand planes, KernelOperand sums,
                   int64_t sumsOffset);

/// The weight gradient: for every channel of x and tap, and every channel of y,
/// the sum over images and windows of planes * gradient. `planes` are those of
/// x, `gradient` is that of y packed into panels of channels.
void addWeightProduct(KernelCalls &calls, KernelModule &kernels,
                      const Arithmetic &arithmetic, const ConvShape &shape,
                      const PhasedPlanes &phased, RegisterTile tile,
                      mlir::Type result, KernelOperand planes,
                      KernelOperand gradient, KernelOperand weights);

/// The register tile of that product.
RegisterTile getWeightTile(const Arithmetic &arithmetic, const ConvShape &shape,
                           const CpuTarget &target);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_TAPKERNELS_H
