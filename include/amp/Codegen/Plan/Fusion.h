//===- Fusion.h - Which operations become one kernel ----------------------===//
//
// Groups of operations with one iteration space.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_PLAN_FUSION_H
#define AMP_CODEGEN_PLAN_FUSION_H

#include "amp/Codegen/Plan/Operations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace amp::plan {

enum class GroupKind {
  Map,    ///< elementwise operations over one space
  Rows,   ///< the same with reductions over the trailing dimensions of it
  Reduce, ///< one reduction over any dimensions, and its elementwise producers
  Custom  ///< a single operation of any other kind
};

/// Operations that become one kernel (Custom: as many as it takes).
struct Group {
  GroupKind kind = GroupKind::Custom;
  /// In order; a reduction of a Reduce group is the last one.
  llvm::SmallVector<mlir::Operation *> ops;
  /// Sizes of the iteration space (Map, Rows, Reduce), none of them 1.
  llvm::SmallVector<int64_t> space;
  /// Rows: how many trailing dimensions of the space are reduced.
  int64_t numInner = 0;
  /// The dimension of the space that each dimension of an operation's result
  /// runs over, -1 for one of size 1 that runs over none. Of a reduction: of
  /// its result.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> dims;
  /// Results that something outside the group reads, in order.
  llvm::SmallVector<mlir::Value> outputs;

  bool contains(mlir::Operation *op) const {
    return op && llvm::is_contained(ops, op);
  }
  int64_t getNumRows() const {
    return getNumElements(llvm::ArrayRef<int64_t>(space).drop_back(numInner));
  }
  int64_t getNumColumns() const {
    return getNumElements(llvm::ArrayRef<int64_t>(space).take_back(numInner));
  }
  /// The member that computes `value`, seen through views, or null.
  mlir::Operation *getProducer(mlir::Value value) const {
    mlir::Operation *op = stripViews(value).getDefiningOp();
    return contains(op) ? op : nullptr;
  }
};

/// Where an operand lies while the group's space is walked: the element at
/// index i is `offset + sum(i[d] * strides[d])`.
struct Access {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  bool operator==(const Access &other) const {
    return offset == other.offset && strides == other.strides;
  }
};

/// The access of a dense `value` that `op` reads, or, `value` being its
/// result, writes.
Access getAccess(const Group &group, mlir::Operation *op, mlir::Value value);

/// Data operands of a member: all of them, or a reduction's first.
mlir::OperandRange getDataOperands(mlir::Operation *op);

/// A space whose neighbouring dimensions of one kind are one wherever all
/// accesses allow it, and no dimension has size 1.
struct CollapsedSpace {
  llvm::SmallVector<int64_t> sizes;
  /// The kind of each, as the caller gave them.
  llvm::SmallVector<int64_t> kinds;
};

/// Collapses `space`, whose dimensions have `kinds`, and rewrites the strides
/// of `accesses` to fit.
CollapsedSpace collapse(llvm::ArrayRef<int64_t> space,
                        llvm::ArrayRef<int64_t> kinds,
                        llvm::ArrayRef<Access *> accesses);

struct FusionOptions {
  bool fuse = true;
  llvm::function_ref<bool(mlir::Operation *)> isElementwise;
};

/// Groups in an order that respects what reads what. Constants and views are
/// in none.
llvm::SmallVector<Group> fuse(mlir::func::FuncOp function,
                              const FusionOptions &options);

} // namespace amp::plan

#endif // AMP_CODEGEN_PLAN_FUSION_H
