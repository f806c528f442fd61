//===- NodeNames.h - How often node names are used ------------------------===//
//
// Reports and decision files call a node by its name only if no other has it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_NODENAMES_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_NODENAMES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

namespace amp {

/// How many nodes below `root` have each name.
llvm::StringMap<unsigned> countNodeNames(mlir::Operation *root);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_NODENAMES_H
