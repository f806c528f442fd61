//===- Kernels.h - The specialised CUDA kernels ---------------------------===//
//
// Products on tensor cores and on ordinary units, and kernels of fused groups
// that move every byte once.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_KERNELS_H
#define AMP_CODEGEN_CUDA_KERNELS_H

#include "amp/Codegen/Cuda/KernelModule.h"

namespace amp::cuda {

/// Adds the emitters of `train.matmul`, of convolutions with their gradients, of
/// copies of regions (Transpose and the like), and of fused groups.
///
/// Products of half types run on tensor cores and add up in f32; those of f32
/// and f64 are chains of fused multiply-adds in their own type. A product with
/// few results is split along its depth: partial sums are added in their order,
/// so that two runs give the same bits.
///
/// Groups compute what the CPU computes, with the same formulas and roundings;
/// their sums are added in an order of their own, the same in every run. Buffers
/// are aligned to 16 bytes at least.
void registerCudaKernels(KernelRegistry &registry);

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_KERNELS_H
