//===- Movement.cpp - Gradient rules of casts and data movement -----------===//
//
// Cotangents wider than the result pass through, so that weight gradients stay
// float32.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

template <typename ConcreteRule, typename OpTy>
struct MovementRule : Rule<ConcreteRule, OpTy> {
  bool takesWideCotangents(Operation *) const { return true; }
};

/// g in the operand's type
struct AmpCastRule : MovementRule<AmpCastRule, amp::CastOp> {
  LogicalResult build(amp::CastOp op, Vjp &vjp) const {
    vjp.set(0,
            vjp.cast(vjp.cotangent(0), onnx::getElementType(vjp.operand(0))));
    return success();
  }
};

/// g in the operand's shape
struct ReshapeRule : MovementRule<ReshapeRule, onnx::ReshapeOp> {
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }
  LogicalResult build(onnx::ReshapeOp op, Vjp &vjp) const {
    vjp.set(
        0, vjp.reshape(vjp.cotangent(0), onnx::getStaticShape(vjp.operand(0))));
    return success();
  }
};

} // namespace

void amp::train::attachMovementRules(MLIRContext *context) {
  amp::CastOp::attachInterface<AmpCastRule>(*context);
  onnx::ReshapeOp::attachInterface<ReshapeRule>(*context);
}
