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

/// Gives every Dropout that may be in training mode a seed of its own: made of
/// its name, or its number where that does not tell it apart, and `seed`. So
/// each draws the same numbers whatever part of the graph is compiled with it.
void seedDropouts(mlir::func::FuncOp function, int64_t seed);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_DROPOUT_H
