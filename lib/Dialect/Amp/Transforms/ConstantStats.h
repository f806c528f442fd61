//===- ConstantStats.h - What narrowing does to a constant ----------------===//
//
// Counts over the elements of a constant, wherever they are stored.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_CONSTANTSTATS_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_CONSTANTSTATS_H

#include "amp/Support/HalfConversion.h"
#include "mlir/IR/Value.h"

namespace amp {

/// Counts over a float32 constant; nothing is counted for other values.
NarrowingStats countNarrowing(mlir::Value constant, HalfFormat format);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_CONSTANTSTATS_H
