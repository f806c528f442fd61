//===- Losses.cpp - Decomposition of losses -------------------------------===//
//
// Of the log probabilities only those of the labels are made, unless all of
// them are asked for.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// What both losses share: labels of shape (N, d...) that pick from scores of
/// shape (N, C, d...).
class LabelLoss {
public:
  LabelLoss(Decomposition &d, std::optional<int64_t> ignored) : d(d) {
    labels = d.input(1);
    if (!ignored)
      return;
    isIgnored = d.create("Equal", {labels, d.scalarLike(*ignored, labels)});
    // Any class will do: the element is multiplied away.
    labels = d.where(isIgnored, d.scalarLike(0, labels), labels);
  }

  /// The elements of `scores` at the labels, of shape (N, d...).
  Value pick(Value scores) {
    SmallVector<int64_t> shape(getStaticShape(labels));
    SmallVector<int64_t> indexShape(shape);
    indexShape.insert(indexShape.begin() + 1, 1);
    Value index = d.reshape(labels, indexShape);
    Value picked =
        d.create("GatherElements", {scores, index}, d.attr("axis", int64_t(1)));
    return d.reshape(picked, shape);
  }

  /// The loss of each label, weighted and reduced.
  Value reduce(Value loss, Value weights, StringRef reduction) {
    Value weight;
    if (weights)
      weight = d.create("Gather", {weights, labels});
    if (isIgnored)
      weight = d.where(isIgnored, d.scalarLike(0, loss),
                       weight ? weight : d.scalarLike(1, loss));
    if (isIgnored)
      // Not multiplied: an ignored element may be infinite.
      loss = d.where(isIgnored, d.scalarLike(0, loss),
                     weights ? d.mul(loss, weight) : loss);
    else if (weights)
      loss = d.mul(loss, weight);
    if (reduction == "none")
      return loss;
    Value sum = sumAll(loss);
    if (reduction == "sum")
      return sum;
    if (weight)
      return d.div(sum, sumAll(weight));
    int64_t count = cast<ShapedType>(loss.getType()).getNumElements();
    return d.div(sum, d.scalarLike(count, sum));
  }

private:
  Value sumAll(Value value) {
    int64_t rank = getStaticShape(value).size();
    return d.reduce("ReduceSum", value,
                    llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                    /*keepDims=*/false);
  }

  Decomposition &d;
  Value labels, isIgnored;
};

/// log(sum(exp(z))) - z[label] with z = scores - max(scores)
LogicalResult decomposeSoftmaxCrossEntropyLoss(SoftmaxCrossEntropyLossOp op,
                                               Decomposition &d) {
  Value x = d.wide(0);
  Value shifted = d.sub(x, d.reduce("ReduceMax", x, {1}));
  Value logSum = d.unary("Log", d.reduceSum(d.unary("Exp", shifted), {1}));
  LabelLoss labelLoss(d, op.getIgnoreIndex());
  Value picked = labelLoss.pick(shifted);
  Value loss = d.sub(d.reshape(logSum, getStaticShape(picked)), picked);
  Value weights = d.input(2) ? d.wide(2) : Value();
  d.set(0, labelLoss.reduce(loss, weights, op.getReduction()));
  if (d.wants(1))
    d.set(1, d.sub(shifted, logSum));
  return success();
}

/// -log probability[label]
LogicalResult decomposeNegativeLogLikelihoodLoss(NegativeLogLikelihoodLossOp op,
                                                 Decomposition &d) {
  LabelLoss labelLoss(d, op.getIgnoreIndex());
  Value loss = d.neg(labelLoss.pick(d.wide(0)));
  Value weights = d.input(2) ? d.wide(2) : Value();
  d.set(0, labelLoss.reduce(loss, weights, op.getReduction()));
  return success();
}

} // namespace

void amp::onnx::addLossRules(RuleTable &table) {
  table.add(decomposeNegativeLogLikelihoodLoss);
  table.add(decomposeSoftmaxCrossEntropyLoss);
}
