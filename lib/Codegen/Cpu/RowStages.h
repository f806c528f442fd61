//===- RowStages.h - The passes over a row of a fused group ---------------===//
//
// Each stage is a pass over the columns that ends in reductions, which the next
// stage may read. What a later stage needs again is kept if it was dear, or
// computed again.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_ROWSTAGES_H
#define AMP_CODEGEN_CPU_ROWSTAGES_H

#include "amp/Codegen/Plan/Fusion.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace amp::cpu {

struct RowStage {
  /// Members to compute for each column, in order.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Operation *> reductions;
  /// Members whose value is stored: outputs, and what later stages load.
  llvm::SmallVector<mlir::Operation *> stores;
  /// Members that are read from where an earlier stage stored them.
  llvm::SmallVector<mlir::Operation *> reloads;
};

class RowStages {
public:
  /// `maxBytes`: of a row of kept values; longer rows compute everything again.
  RowStages(const plan::Group &group, int64_t columns, int64_t maxBytes);

  llvm::ArrayRef<RowStage> getStages() const { return stages; }
  /// Whether a member has one value a row.
  bool isRowLevel(mlir::Operation *op) const { return rowLevel.contains(op); }
  /// The stage a member is computed in; for one with a value a row: the stage
  /// it is ready for.
  unsigned getStage(mlir::Operation *op) const { return stageOf.lookup(op); }
  /// Members that are kept for a later stage and are no outputs.
  llvm::ArrayRef<mlir::Operation *> getKept() const {
    return kept.getArrayRef();
  }
  bool isOutput(mlir::Operation *op) const {
    return llvm::is_contained(group.outputs, op->getResult(0));
  }

private:
  void findStages();
  void fillStage(unsigned index);
  bool isKept(mlir::Operation *op) const;

  const plan::Group &group;
  int64_t columns, maxBytes;
  llvm::SmallPtrSet<mlir::Operation *, 16> rowLevel;
  llvm::DenseMap<mlir::Operation *, unsigned> stageOf;
  llvm::DenseMap<mlir::Operation *, int64_t> costOf;
  llvm::SmallVector<RowStage> stages;
  llvm::SmallSetVector<mlir::Operation *, 8> kept;
};

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_ROWSTAGES_H
