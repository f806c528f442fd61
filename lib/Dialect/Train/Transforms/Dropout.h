//===- Dropout.h - Dropout that backward can follow -----------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_DROPOUT_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_DROPOUT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp::train {

/// Gives every Dropout that may be in training mode its mask as a result:
/// backward needs it, and exporters leave it out.
void addDropoutMasks(mlir::func::FuncOp function);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_DROPOUT_H
