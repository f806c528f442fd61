//===- Rules.h - Gradient rules by family of operators --------------------===//
//
// One function per file of this room; and what rules are written with.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_RULES_RULES_H
#define AMP_LIB_DIALECT_TRAIN_RULES_RULES_H

#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::train {

void attachConvRules(mlir::MLIRContext *context);
void attachElementwiseRules(mlir::MLIRContext *context);
void attachLossRules(mlir::MLIRContext *context);
void attachMatMulRules(mlir::MLIRContext *context);
void attachMovementRules(mlir::MLIRContext *context);
void attachNormalizationRules(mlir::MLIRContext *context);
void attachPoolingRules(mlir::MLIRContext *context);
void attachSoftmaxRules(mlir::MLIRContext *context);

/// What a rule is built on: `struct TanhRule : Rule<TanhRule, onnx::TanhOp>`
/// with a method `LogicalResult build(onnx::TanhOp op, Vjp &vjp) const`.
template <typename ConcreteRule, typename OpTy>
struct Rule : DifferentiableOpInterface::ExternalModel<ConcreteRule, OpTy> {
  mlir::LogicalResult vjp(mlir::Operation *op, Vjp &vjp) const {
    return static_cast<const ConcreteRule *>(this)->build(mlir::cast<OpTy>(op),
                                                          vjp);
  }
};

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_RULES_RULES_H
