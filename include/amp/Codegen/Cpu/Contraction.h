//===- Contraction.h - Kernels of products and convolutions -----*- C++ -*-===//
//
// The generated kernels of everything that multiplies and adds up: packed
// panels, a register tile, fixed blocks.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_CONTRACTION_H
#define AMP_CODEGEN_CPU_CONTRACTION_H

#include "amp/Codegen/Cpu/Backend/CpuTarget.h"
#include "amp/Codegen/Cpu/KernelModule.h"

namespace amp::cpu {

/// Adds the emitters of `train.matmul`, Conv, ConvTranspose,
/// `train.conv_input_gradient` and `train.conv_weight_gradient`.
///
/// A sum is one chain of fused multiply-adds in a fixed order (ascending k;
/// channels, then taps; images, then windows), in f32 for f32 and half operands
/// and in f64 for f64: its bits depend on the operands only, not on threads,
/// tiles or the processor. Products of bf16 matrices use vdpbf16ps where
/// `target` has it: two products are added before they meet the chain, and f32
/// subnormals count as zero there; elsewhere bf16 is widened and summed like
/// f32. A bias is added to the sum before the one rounding to a half type. NaN
/// and infinity propagate as IEEE says; padding contributes zero times a
/// weight.
void registerContractionKernels(KernelRegistry &registry,
                                const CpuTarget &target);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_CONTRACTION_H
