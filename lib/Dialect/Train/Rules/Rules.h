//===- Rules.h - Gradient rules by family of operators --------------------===//
//
// One function per file of this room; and what rules are written with.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_RULES_RULES_H
#define AMP_LIB_DIALECT_TRAIN_RULES_RULES_H

#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::train {

void attachActivationRules(mlir::MLIRContext *context);
void attachAttentionRules(mlir::MLIRContext *context);
void attachConvRules(mlir::MLIRContext *context);
void attachEinsumRules(mlir::MLIRContext *context);
void attachElementwiseRules(mlir::MLIRContext *context);
void attachIndexingRules(mlir::MLIRContext *context);
void attachLossRules(mlir::MLIRContext *context);
void attachMatMulRules(mlir::MLIRContext *context);
void attachMovementRules(mlir::MLIRContext *context);
void attachNormalizationRules(mlir::MLIRContext *context);
void attachPadRules(mlir::MLIRContext *context);
void attachPoolingRules(mlir::MLIRContext *context);
void attachRecurrentRules(mlir::MLIRContext *context);
void attachReductionRules(mlir::MLIRContext *context);
void attachScatterRules(mlir::MLIRContext *context);
void attachSliceRules(mlir::MLIRContext *context);
void attachSoftmaxRules(mlir::MLIRContext *context);
void attachSpatialRules(mlir::MLIRContext *context);
void attachStopRules(mlir::MLIRContext *context);
void attachUnaryRules(mlir::MLIRContext *context);

/// What a rule is built on: `struct TanhRule : Rule<TanhRule, onnx::TanhOp>`
/// with a method `LogicalResult build(onnx::TanhOp op, Vjp &vjp) const`.
template <typename ConcreteRule, typename OpTy>
struct Rule : DifferentiableOpInterface::ExternalModel<ConcreteRule, OpTy> {
  mlir::LogicalResult vjp(mlir::Operation *op, Vjp &vjp) const {
    return static_cast<const ConcreteRule *>(this)->build(mlir::cast<OpTy>(op),
                                                          vjp);
  }
};

/// A rule of an operator that only moves data: cotangents wider than the
/// result pass through it, so that weight gradients stay float32.
template <typename ConcreteRule, typename OpTy>
struct MovementRule : Rule<ConcreteRule, OpTy> {
  bool takesWideCotangents(mlir::Operation *) const { return true; }
};

/// The rule dX = formula(vjp) of an operator whose first operand has the
/// result's shape; the formula may be wide.
template <typename OpTy, onnx::Expr (*formula)(OpTy, Vjp &)>
struct UnaryRule : Rule<UnaryRule<OpTy, formula>, OpTy> {
  mlir::LogicalResult build(OpTy op, Vjp &vjp) const {
    if (vjp.needs(0))
      vjp.setSummed(0, formula(op, vjp));
    return mlir::success();
  }
};

template <typename OpTy, onnx::Expr (*formula)(OpTy, Vjp &)>
void attachUnary(mlir::MLIRContext *context) {
  OpTy::template attachInterface<UnaryRule<OpTy, formula>>(*context);
}

/// The elements of `value`, which must be a constant; else an error that
/// calls it `name`.
mlir::FailureOr<llvm::SmallVector<int64_t>>
getConstantOperand(mlir::Operation *op, mlir::Value value,
                   llvm::StringRef name);

/// Zeros.
mlir::Value zeros(Vjp &vjp, llvm::ArrayRef<int64_t> shape,
                  mlir::Type elementType);

/// A tensor of `dim` rows along `axis` to whose row `indices[i]` row i of
/// `updates` is added, in float32 for half types. `indices` is 1-d, its
/// elements not negative.
mlir::Value addRows(Vjp &vjp, mlir::Value updates, mlir::Value indices,
                    int64_t axis, int64_t dim);

/// `axis` counted from the front.
inline int64_t normalizeAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_RULES_RULES_H
