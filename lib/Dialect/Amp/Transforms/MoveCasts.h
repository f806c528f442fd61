//===- MoveCasts.h - Casts across data movement ---------------------------===//
//
// Moves casts over ops that only move data to where they cost the fewest bytes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_MOVECASTS_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_MOVECASTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// Moves casts across the data movement ops of `function`; gives the number of
/// ops that got another type. Casts that became useless are left in place.
unsigned moveCasts(mlir::func::FuncOp function);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_MOVECASTS_H
