//===- Losses.cpp - Gradient rules of losses ------------------------------===//
//
// The seed goes into one operation with the scores and is scaled there in
// float32.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Only scores carry gradients: labels are integers, class weights are fixed.
template <typename ConcreteRule, typename OpTy>
struct LossRule : Rule<ConcreteRule, OpTy> {
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }

protected:
  static IntegerAttr getIgnoreIndex(OpTy op, Vjp &vjp) {
    std::optional<int64_t> index = op.getIgnoreIndex();
    return index ? vjp.getBuilder().getI64IntegerAttr(*index) : IntegerAttr();
  }
};

/// Inference has checked the spelling.
Reduction parseReduction(StringRef name) { return *symbolizeReduction(name); }

struct SoftmaxCrossEntropyLossRule
    : LossRule<SoftmaxCrossEntropyLossRule, onnx::SoftmaxCrossEntropyLossOp> {
  LogicalResult build(onnx::SoftmaxCrossEntropyLossOp op, Vjp &vjp) const {
    vjp.set(0, SoftmaxCrossEntropyGradientOp::create(
                   vjp.getBuilder(), vjp.getLoc(), op.getScores().getType(),
                   op.getScores(), op.getLabels(), op.getWeights(),
                   vjp.cotangentOf(op.getOutput()),
                   vjp.cotangentOf(op.getLogProb()),
                   parseReduction(op.getReduction()), getIgnoreIndex(op, vjp)));
    return success();
  }
};

struct NegativeLogLikelihoodLossRule
    : LossRule<NegativeLogLikelihoodLossRule,
               onnx::NegativeLogLikelihoodLossOp> {
  LogicalResult build(onnx::NegativeLogLikelihoodLossOp op, Vjp &vjp) const {
    vjp.set(0, NegativeLogLikelihoodGradientOp::create(
                   vjp.getBuilder(), vjp.getLoc(), op.getInput().getType(),
                   op.getTarget(), op.getWeight(), vjp.cotangent(0),
                   parseReduction(op.getReduction()), getIgnoreIndex(op, vjp)));
    return success();
  }
};

} // namespace

void amp::train::attachLossRules(MLIRContext *context) {
  onnx::NegativeLogLikelihoodLossOp::attachInterface<
      NegativeLogLikelihoodLossRule>(*context);
  onnx::SoftmaxCrossEntropyLossOp::attachInterface<SoftmaxCrossEntropyLossRule>(
      *context);
}
