//===- Operations.h - What the planner knows of operations ----------------===//
//
// Views, constants and reductions, read off the IR.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_PLAN_OPERATIONS_H
#define AMP_CODEGEN_PLAN_OPERATIONS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace amp::plan {

/// Whether the result of `op` is its first operand's memory under another
/// shape: Reshape and its kin, Identity.
bool isView(mlir::Operation *op);
/// The value whose memory `value` is.
mlir::Value stripViews(mlir::Value value);
/// Whether `op` stands for a constant: onnx.Constant, onnx.initializer.
bool isConstant(mlir::Operation *op);

/// Calls `visit` for each use of `value` or of a view of it by an operation
/// that is no view.
void forEachUse(mlir::Value value,
                llvm::function_ref<void(mlir::OpOperand &)> visit);

llvm::ArrayRef<int64_t> getShape(mlir::Value value);
int64_t getNumElements(llvm::ArrayRef<int64_t> shape);
/// Strides of a dense row-major tensor, in elements.
llvm::SmallVector<int64_t> getDenseStrides(llvm::ArrayRef<int64_t> shape);

enum class Combine { Sum, Mean, Max, Min, Prod };

struct Reduction {
  Combine combine;
  /// Reduced axes of the operand, ascending.
  llvm::SmallVector<int64_t> axes;
  bool keepDims;

  bool reduces(int64_t axis) const { return llvm::is_contained(axes, axis); }
};

/// What a reduction operator with constant axes does; nothing for others.
std::optional<Reduction> getReduction(mlir::Operation *op);

} // namespace amp::plan

#endif // AMP_CODEGEN_PLAN_OPERATIONS_H
