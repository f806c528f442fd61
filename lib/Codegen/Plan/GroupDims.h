//===- GroupDims.h - Dimensions of values in a group's space --------------===//
//
// Values of a group may have dimensions of size 1 more or less than its space.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_PLAN_GROUPDIMS_H
#define AMP_LIB_CODEGEN_PLAN_GROUPDIMS_H

#include "amp/Codegen/Plan/Fusion.h"
#include <optional>

namespace amp::plan {

/// 0, 1, ...
llvm::SmallVector<int> getIdentityDims(llvm::ArrayRef<int64_t> space);

/// `dims` of a value of shape `from`, for the same value seen with shape `to`:
/// nothing if more than dimensions of size 1 differ.
std::optional<llvm::SmallVector<int>> matchDims(llvm::ArrayRef<int64_t> from,
                                                llvm::ArrayRef<int> dims,
                                                llvm::ArrayRef<int64_t> to);

/// The dims of `op`, elementwise, as a member of `group`: all of the space, or
/// in Rows all of its outer dimensions. Nothing if it does not fit.
std::optional<llvm::SmallVector<int>> getElementwiseDims(const Group &group,
                                                         mlir::Operation *op);

/// The dimensions of the space that `reduction` of `op`'s operand reduces, if
/// that operand runs over all of the space; `dims` becomes the map of the
/// result.
std::optional<llvm::SmallVector<int>>
getReducedDims(const Group &group, mlir::Operation *op,
               const Reduction &reduction, llvm::SmallVector<int> &dims);

/// Whether all operands from outside, and those of `op`, walk the last
/// `numInner` dimensions as one.
bool isInnerOneLoop(const Group &group, int64_t numInner);

} // namespace amp::plan

#endif // AMP_LIB_CODEGEN_PLAN_GROUPDIMS_H
