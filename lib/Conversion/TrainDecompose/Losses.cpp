//===- Losses.cpp - Decomposition of loss gradients -----------------------===//
//
// The loss's cotangent is divided and weighted in float32 before it meets the
// scores.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// `value`, which has no class dimension, with one of size 1.
Value withClassDimension(onnx::OnnxBuilder &builder, Value value) {
  SmallVector<int64_t> shape(onnx::getStaticShape(value));
  shape.insert(shape.begin() + 1, 1);
  return builder.reshape(value, shape);
}

/// Where an element of `scores` is that of its label.
Value isLabel(onnx::OnnxBuilder &builder, Value labels,
              RankedTensorType scores) {
  SmallVector<int64_t> shape(scores.getRank() - 1, 1);
  shape.front() = scores.getDimSize(1);
  Value classes = builder.cast(
      builder.ints(llvm::to_vector(llvm::seq<int64_t>(0, shape.front()))),
      onnx::getElementType(labels));
  return builder.create("Equal", {withClassDimension(builder, labels),
                                  builder.reshape(classes, shape)});
}

/// The loss's cotangent at each label, `gradient * weight / denominator`, 0
/// where the label is ignored; rank 0 if it is the same for all.
template <typename OpTy>
Value spreadGradient(onnx::OnnxBuilder &builder, OpTy op, Type wide) {
  Value labels = op.getLabels(), valid, weight;
  if (std::optional<uint64_t> ignored = op.getIgnoreIndex()) {
    // -100 and the like are no classes.
    Value index = builder.scalarLike(static_cast<int64_t>(*ignored), labels);
    valid = builder.unary("Not", builder.create("Equal", {labels, index}));
    labels = builder.where(valid, labels, builder.scalarLike(0, labels));
  }
  if (op.getWeights())
    weight =
        builder.create("Gather", {builder.cast(op.getWeights(), wide), labels});
  if (valid) {
    Value zero = builder.scalar(0, wide), one = builder.scalar(1, wide);
    weight = builder.where(valid, weight ? weight : one, zero);
  }
  Value g = builder.cast(op.getGradient(), wide);
  if (op.getReduction() == Reduction::Mean) {
    int64_t rank = onnx::getStaticShape(labels).size();
    double count = cast<ShapedType>(labels.getType()).getNumElements();
    Value denominator =
        weight ? builder.reduce("ReduceSum", weight,
                                llvm::to_vector(llvm::seq<int64_t>(0, rank)),
                                /*keepDims=*/false)
               : builder.scalar(count, wide);
    g = builder.div(g, denominator);
  }
  if (weight)
    g = builder.mul(g, weight);
  // With everything ignored the mean divides by 0.
  if (valid)
    g = builder.where(valid, g, builder.scalar(0, wide));
  return onnx::getStaticShape(g).empty() ? g : withClassDimension(builder, g);
}

/// (softmax - onehot) * spread + d - softmax * sum(d)
struct DecomposeSoftmaxCrossEntropyGradient
    : OpRewritePattern<SoftmaxCrossEntropyGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Value scores = builder.widen(op.getScores());
    Type wide = onnx::getElementType(scores);
    Value shifted =
        builder.sub(scores, builder.reduce("ReduceMax", scores, {1}));
    Value exponent = builder.unary("Exp", shifted);
    Value softmax =
        builder.div(exponent, builder.reduce("ReduceSum", exponent, {1}));
    Value dx;
    if (op.getGradient()) {
      Value one = builder.scalar(1, wide);
      Value error =
          builder.where(isLabel(builder, op.getLabels(), op.getType()),
                        builder.sub(softmax, one), softmax);
      dx = selected(builder, op, error, spreadGradient(builder, op, wide));
    }
    if (op.getLogProbGradient()) {
      Value d = builder.cast(op.getLogProbGradient(), wide);
      Value sum = builder.reduce("ReduceSum", d, {1});
      d = builder.sub(d, builder.mul(softmax, sum));
      dx = dx ? builder.add(dx, d) : d;
    }
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }

  /// error * spread, 0 where the label is ignored even if a score is not
  /// finite.
  static Value selected(onnx::OnnxBuilder &builder,
                        SoftmaxCrossEntropyGradientOp op, Value error,
                        Value spread) {
    Value dx = builder.mul(error, spread);
    if (!op.getIgnoreIndex())
      return dx;
    Value index = builder.scalarLike(static_cast<int64_t>(*op.getIgnoreIndex()),
                                     op.getLabels());
    Value ignored = builder.create("Equal", {op.getLabels(), index});
    return builder.where(withClassDimension(builder, ignored),
                         builder.scalarLike(0, dx), dx);
  }
};

/// -onehot * spread
struct DecomposeNegativeLogLikelihoodGradient
    : OpRewritePattern<NegativeLogLikelihoodGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(NegativeLogLikelihoodGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Type element = op.getType().getElementType();
    Type wide = onnx::isHalf(element) ? Type(rewriter.getF32Type()) : element;
    Value spread = spreadGradient(builder, op, wide);
    Value dx =
        builder.where(isLabel(builder, op.getLabels(), op.getType()),
                      builder.neg(spread), builder.scalarLike(0, spread));
    rewriter.replaceOp(op, builder.cast(dx, element));
    return success();
  }
};

} // namespace

void amp::train::populateLossPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeNegativeLogLikelihoodGradient,
               DecomposeSoftmaxCrossEntropyGradient>(patterns.getContext());
}
