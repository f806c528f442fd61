//===- BatchNorm.h - Normalization with batch statistics ------------------===//
//
// Switches an operator to training mode.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_BATCHNORM_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_BATCHNORM_H

#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"

namespace amp::train {

/// Replaces `op` by its training-mode form. `next` maps running statistics to
/// their latest values: an operator whose statistics another has updated
/// already starts from there.
llvm::LogicalResult
trainBatchNorm(onnx::BatchNormalizationOp op,
               llvm::DenseMap<mlir::Value, mlir::Value> &next);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_BATCHNORM_H
