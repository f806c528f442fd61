//===- MoveKernel.h - Copies of regions -----------------------------------===//
//
// Transposes through shared memory; everything else in vectors.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_MOVEKERNEL_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_MOVEKERNEL_H

#include "KernelBuilder.h"

namespace amp::cuda {

/// Concat, Expand, Slice, Split, Tile, Transpose.
void addMoveKernels(KernelRegistry &registry);

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_MOVEKERNEL_H
