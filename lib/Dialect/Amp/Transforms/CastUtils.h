//===- CastUtils.h - Inserting casts --------------------------------------===//
//
// Where casts stand, and who has a public name when one is put in between.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_CASTUTILS_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_CASTUTILS_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace amp {

/// The element type of a value that `isCastable`.
inline mlir::Type getElementType(mlir::Value value) {
  return llvm::cast<mlir::TensorType>(value.getType()).getElementType();
}

/// Elements of a tensor, for estimates: a dimension of unknown size counts as
/// 64 elements, a tensor of unknown rank as 4096.
int64_t countElements(mlir::Value value);

/// Inserts casts, one per value and type, where they dominate every use of the
/// value.
class CastBuilder {
public:
  explicit CastBuilder(mlir::MLIRContext *context) : builder(context) {}

  mlir::Value getCast(mlir::Value value, mlir::Type elementType,
                      bool clamp = false);
  /// Moves a cast to where it dominates every use of its operand.
  void hoist(CastOp cast);
  unsigned getNumCasts() const { return casts.size(); }

private:
  void setInsertionPoint(mlir::Value value);

  mlir::OpBuilder builder;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, CastOp> casts;
  /// Per block, the first op that is not an initializer.
  llvm::DenseMap<mlir::Block *, mlir::Operation *> firstNodes;
};

/// Makes `use` read `value`. The name of a value that leaves its graph is
/// public: `value` takes it over if it has none.
void replaceUse(mlir::OpOperand &use, mlir::Value value);

/// Whether an option, a file or the model itself gave an op its types.
bool isSettled(DecisionRule rule);

} // namespace amp

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_CASTUTILS_H
