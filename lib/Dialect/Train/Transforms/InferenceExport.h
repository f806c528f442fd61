//===- InferenceExport.h - Signs of a model exported for inference --------===//
//
// Warnings for models that would train otherwise than their author expects.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_INFERENCEEXPORT_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_INFERENCEEXPORT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp::train {

/// Warns of normalization folded into convolutions, and of Dropout that does
/// nothing.
void warnAboutInferenceExport(mlir::func::FuncOp function);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_INFERENCEEXPORT_H
