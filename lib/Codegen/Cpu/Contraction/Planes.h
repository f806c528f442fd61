//===- Planes.h - Operands of convolutions rearranged ---------------------===//
//
// The copies before the products of a convolution.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H

#include "Arithmetic.h"
#include "ConvShape.h"

namespace amp::cpu {

/// `channels` (of all images) of `from` as phased planes: in a new scratch
/// buffer, or `from` itself where these are the planes.
KernelOperand addPlanes(KernelCalls &calls, KernelModule &kernels,
                        mlir::Type element, const PhasedPlanes &planes,
                        int64_t channels, KernelOperand from);

/// Weights [groups * yChannels][xChannels][taps] as rows
/// [groups * xChannels][yChannels][chosen taps], padded with zeros.
struct SwappedWeights {
  ConvShape shape;
  mlir::Type source;
  llvm::SmallVector<int64_t> taps;
  UnitMatrix layout;
};

KernelOperand addSwappedWeights(KernelCalls &calls, KernelModule &kernels,
                                const SwappedWeights &swapped,
                                KernelOperand weights);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_PLANES_H
