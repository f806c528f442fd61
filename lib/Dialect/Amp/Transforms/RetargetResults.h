//===- RetargetResults.h - Ops that name the type of their result ---------===//
//
// Makes such an op give another type, where that rounds as a cast would.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_RETARGETRESULTS_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_RETARGETRESULTS_H

#include "mlir/IR/Operation.h"

namespace amp {

/// Makes `op`, whose result type an attribute names, give `elementType`,
/// without touching the result's type. Fails, changing nothing, where the
/// values might differ from a cast of what it gave before.
mlir::LogicalResult retargetResult(mlir::Operation *op, mlir::Type elementType);

/// What an op with float32 inside needs to say so when its operands are narrow.
void keepFloat32Inside(mlir::Operation *op);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_RETARGETRESULTS_H
