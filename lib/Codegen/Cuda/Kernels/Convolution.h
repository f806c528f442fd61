//===- Convolution.h - Kernels of the convolution family ------------------===//
//
// Convolutions, transposed ones and both gradients as implicit products.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_CONVOLUTION_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_CONVOLUTION_H

#include "Product.h"

namespace amp::cuda {

/// Conv, ConvTranspose, train.conv_input_gradient, train.conv_weight_gradient.
void addConvolutionKernels(KernelRegistry &registry);

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_CONVOLUTION_H
