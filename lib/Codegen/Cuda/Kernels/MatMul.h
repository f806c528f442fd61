//===- MatMul.h - Products of train.matmul --------------------------------===//
//
// The operation as the description that kernels are made from.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_MATMUL_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_MATMUL_H

#include "Product.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::cuda {

/// Nothing where there is nothing to add up.
std::optional<Product> describeMatMul(train::MatMulOp op);

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_MATMUL_H
