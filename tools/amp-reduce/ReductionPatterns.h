//===- ReductionPatterns.h - How to leave an op of a graph out ------------===//
//
// What amp-reduce tries on top of erasing what nobody reads.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMP_REDUCE_REDUCTIONPATTERNS_H
#define AMP_TOOLS_AMP_REDUCE_REDUCTIONPATTERNS_H

#include "mlir/IR/DialectRegistry.h"

namespace amp {

/// Gives the dialects of graphs their patterns.
void registerReductionPatterns(mlir::DialectRegistry &registry);

} // namespace amp

#endif // AMP_TOOLS_AMP_REDUCE_REDUCTIONPATTERNS_H
