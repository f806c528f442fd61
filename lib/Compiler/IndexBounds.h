//===- IndexBounds.h - What inputs may hold as indices --------------------===//
//
// Compiled code does not look for indices that are out of range; the runtime
// does, before an entry runs, by what is found here.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_INDEXBOUNDS_H
#define AMP_LIB_COMPILER_INDEXBOUNDS_H

#include "amp/Target/Artifact/WriteArtifact.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp {

/// Follows integer inputs, whole or in slices with constant bounds, to the
/// operators that take them as indices or class labels, and keeps what those
/// allow as an attribute of the function: lowering leaves that alone.
void noteIndexBounds(mlir::func::FuncOp function);

/// What was kept for the argument of that name.
std::vector<ArtifactIndices> getIndexBounds(mlir::func::FuncOp function,
                                            llvm::StringRef argument);

} // namespace amp

#endif // AMP_LIB_COMPILER_INDEXBOUNDS_H
