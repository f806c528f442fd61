//===- GraphTypes.h - Types that graphs declare by name -------------------===//
//
// Keeps the types in graph dictionaries in step with those of the values.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_GRAPHTYPES_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_GRAPHTYPES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"

namespace amp {

/// Gives the entries of graph dictionaries that declare a type for one of
/// `values` the element type the value has now.
void updateDeclaredTypes(mlir::func::FuncOp function,
                         llvm::ArrayRef<mlir::Value> values);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_GRAPHTYPES_H
