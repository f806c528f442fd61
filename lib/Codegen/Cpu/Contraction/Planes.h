//===- Planes.h - Convolution operands rearranged, results put back -------===//
//
// The copies around the kernels of a convolution.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H

#include "Arithmetic.h"
#include "ConvShape.h"

namespace amp::cpu {

/// Copies `channels` (of all images) of `from` into phased planes of units in a
/// new scratch buffer.
KernelOperand addPlanes(KernelCalls &calls, KernelModule &kernels,
                        const Arithmetic &arithmetic,
                        const PhasedPlanes &planes, int64_t channels,
                        KernelOperand from);

/// Copies weights [groups * yChannels][xChannels][taps] into
/// [groups * xChannels][yChannels][chosen taps] units.
KernelOperand addSwappedWeights(KernelCalls &calls, KernelModule &kernels,
                                const Arithmetic &arithmetic,
                                const ConvShape &shape,
                                llvm::ArrayRef<int64_t> chosenTaps,
                                KernelOperand weights);

/// How sums of windows become elements of the result. Along a dimension, the
/// element at i is sum number (i + pad) / stride - first[phase] of phase
/// (i + pad) % stride; sums lie in rows of `pitch` and planes of `planePitch`.
struct SumLattice {
  Spatial result{1, 1, 1};
  Spatial strides{1, 1, 1};
  Spatial pads{0, 0, 0};
  /// The number of the first sum, by dimension and phase.
  std::array<llvm::SmallVector<int64_t>, 3> first;
  int64_t pitch = 1, planePitch = 1;
  /// Sums of one channel of one phase; sums of phases follow each other after
  /// all channels of all images.
  int64_t sumsPerChannel = 1;

  std::string getKey() const;
};

/// Writes `channels` (of `images` images) of the result: sums, plus the bias of
/// the channel if there is one, rounded to `type`.
void addFinish(KernelCalls &calls, KernelModule &kernels,
               const Arithmetic &arithmetic, const SumLattice &lattice,
               int64_t images, int64_t channels, mlir::Type type,
               KernelOperand sums, const KernelOperand *bias,
               KernelOperand result);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H
