//===- Convolution.h - Kernels of the convolution family ------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H

#include "amp/Codegen/Cpu/Contraction.h"

namespace amp::cpu {

/// Conv, ConvTranspose, train.conv_input_gradient, train.conv_weight_gradient.
void registerConvolutionKernels(KernelRegistry &registry,
                                const CpuTarget &target);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOLUTION_H
