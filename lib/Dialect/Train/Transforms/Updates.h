//===- Updates.h - One parameter's update operation -----------------------===//
//
// The states each optimizer keeps and the operation that updates them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_UPDATES_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_UPDATES_H

#include "StepFunction.h"

namespace amp::train {

/// What all updates of a step share.
struct UpdateScalars {
  mlir::Value multiplier;
  /// Updates applied before this one, i64.
  mlir::Value step;
  mlir::Value apply;
};

/// Adds the optimizer's states of `parameter` as arguments, the operation that
/// updates them before the terminator, and the new values as results.
void addUpdate(mlir::func::FuncOp function, const OptimizerConfig &optimizer,
               std::optional<double> clipValue, double weightDecay,
               mlir::BlockArgument parameter, mlir::Value gradient,
               mlir::Value lr, const UpdateScalars &scalars);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_UPDATES_H
