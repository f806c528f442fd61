//===- Evaluate.cpp - A model that is only evaluated ----------------------===//
//
// Normalization by running statistics, no dropout, no new state.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"

namespace amp::train {
#define GEN_PASS_DEF_EVALUATEPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class EvaluatePass : public amp::train::impl::EvaluatePassBase<EvaluatePass> {
public:
  using EvaluatePassBase::EvaluatePassBase;
  void runOnOperation() override;

private:
  void dropResults();
};

/// The statistics that a layer starts from, where it reads what an earlier
/// layer with the same ones has made of them.
Value getFirstStatistics(Value value, unsigned index) {
  SmallVector<Value> worklist{value};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (isa<onnx::BatchNormalizationOp>(op))
      return getFirstStatistics(op->getOperand(index), index);
    llvm::append_range(worklist, op->getOperands());
  }
  return value;
}

void useRunningStatistics(onnx::BatchNormalizationOp op) {
  if (!op.getTrainingMode())
    return;
  OpBuilder builder(op);
  SmallVector<Value> operands(op->getOperands());
  for (unsigned index : {3u, 4u})
    operands[index] = getFirstStatistics(operands[index], index);
  SmallVector<NamedAttribute> attributes;
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName() != onnx::OnnxDialect::getOutputsAttrName())
      attributes.push_back(attribute);
  if (FloatAttr epsilon = op.getEpsilonAttr())
    attributes.push_back(builder.getNamedAttr("epsilon", epsilon));
  auto evaluated = onnx::BatchNormalizationOp::create(
      builder, op.getLoc(), operands, {op.getY().getType()}, attributes);
  onnx::setValueName(cast<OpResult>(evaluated.getY()),
                     onnx::getValueName(op.getY()));
  op.getY().replaceAllUsesWith(evaluated.getY());
}

} // namespace

/// Results that are written over an argument, and the loss if it is not wanted.
void EvaluatePass::dropResults() {
  func::FuncOp function = getOperation();
  for (unsigned i = function.getNumResults(); i-- > 0;) {
    bool isState = function.getResultAttr(
                       i, TrainDialect::getAliasAttrName()) != Attribute();
    if (isState || (outputsOnly && getResultRole(function, i) == Role::Loss))
      eraseResult(function, i);
  }
}

void EvaluatePass::runOnOperation() {
  func::FuncOp function = getOperation();
  dropResults();
  // From the back, so that the statistics of a layer before are still there to
  // be found.
  SmallVector<onnx::BatchNormalizationOp> norms;
  function.walk([&](onnx::BatchNormalizationOp op) { norms.push_back(op); });
  for (onnx::BatchNormalizationOp op : llvm::reverse(norms))
    useRunningStatistics(op);
  function.walk([&](onnx::DropoutOp op) {
    // An absent training_mode means false.
    op.getTrainingModeMutable().clear();
  });
  // What only the dropped results used goes with them.
  IRRewriter rewriter(&getContext());
  (void)runRegionDCE(rewriter, function->getRegions());
}
