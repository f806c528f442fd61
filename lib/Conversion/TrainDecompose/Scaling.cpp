//===- Scaling.cpp - Decompositions of loss scaling -----------------------===//
//
// The finite check, the multiplier, and the update of the scale.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

/// The sum of `values`.
static Value sum(onnx::OnnxBuilder &builder, ArrayRef<Value> values) {
  return values.size() == 1 ? values.front() : builder.create("Sum", values);
}

namespace {

/// Squares are summed per tensor. A non-finite element is looked for in x - x,
/// which is 0 for all finite x and NaN for the others, but not by summing: two
/// finite sums may overflow.
struct DecomposeCheckGradients : OpRewritePattern<CheckGradientsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CheckGradientsOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Type f32 = rewriter.getF32Type();
    auto none = builder.attr("keepdims", int64_t(0));
    SmallVector<Value> bad, squares;
    for (Value gradient : op.getGradients()) {
      Value wide = builder.cast(gradient, f32);
      Value isBad = builder.unary("IsNaN", builder.sub(gradient, gradient));
      bad.push_back(
          builder.create("ReduceMax", {builder.cast(isBad, f32)}, none));
      squares.push_back(
          builder.create("ReduceSum", {builder.mul(wide, wide)}, none));
    }
    Value found = bad.size() == 1 ? bad.front() : builder.create("Max", bad);
    SmallVector<Value> results{found, sum(builder, squares)};
    if (!op.getFoundIn().empty())
      llvm::append_range(results, bad);
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// inverse * min(1, max_norm / (norm + 1e-6))
struct DecomposeGradientMultiplier : OpRewritePattern<GradientMultiplierOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GradientMultiplierOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Value scale = builder.cast(op.getScale(), rewriter.getF64Type());
    Value inverse =
        builder.cast(builder.unary("Reciprocal", scale), rewriter.getF32Type());
    Value norm =
        builder.mul(builder.unary("Sqrt", op.getSumOfSquares()), inverse);
    Value multiplier = inverse;
    if (std::optional<APFloat> limit = op.getMaxNorm()) {
      Value most = builder.scalarLike(limit->convertToDouble(), norm);
      Value ratio =
          builder.div(most, builder.add(norm, builder.scalarLike(1e-6, norm)));
      multiplier = builder.mul(
          inverse,
          builder.create("Min", {ratio, builder.scalarLike(1, ratio)}));
    }
    rewriter.replaceOp(op, {multiplier, norm});
    return success();
  }
};

/// The two branches of the rule, and which of them holds.
struct DecomposeUpdateScale : OpRewritePattern<UpdateScaleOp> {
  using OpRewritePattern::OpRewritePattern;

  struct State {
    Value scale, tracker, left;
  };

  static Value number(onnx::OnnxBuilder &builder, APFloat value, Value like) {
    return builder.scalarLike(value.convertToDouble(), like);
  }

  /// After an overflow.
  static State backOff(onnx::OnnxBuilder &builder, UpdateScaleOp op) {
    Value scale = op.getScale(), tracker = op.getGrowthTracker();
    Value zero = builder.scalarLike(0, tracker);
    Value one = builder.scalarLike(1, tracker);
    Value left =
        builder.create("Max", {builder.sub(op.getHysteresisLeft(), one), zero});
    Value lower =
        builder.mul(scale, number(builder, op.getBackoffFactor(), scale));
    if (op.getMinScale())
      lower = builder.create(
          "Max", {lower, number(builder, *op.getMinScale(), scale)});
    Value used = builder.create("Equal", {left, zero});
    return {builder.where(used, lower, scale), zero, left};
  }

  /// After a finite step.
  static State grow(onnx::OnnxBuilder &builder, UpdateScaleOp op) {
    Value scale = op.getScale(), tracker = op.getGrowthTracker();
    Value next = builder.add(tracker, builder.scalarLike(1, tracker));
    Value isDue = builder.create(
        "GreaterOrEqual",
        {next, builder.scalarLike(op.getGrowthInterval(), next)});
    Value higher =
        builder.mul(scale, number(builder, op.getGrowthFactor(), scale));
    double most = op.getMaxScale() ? op.getMaxScale()->convertToDouble()
                                   : std::numeric_limits<float>::max();
    Value fits = builder.create("LessOrEqual",
                                {higher, builder.scalarLike(most, scale)});
    Value grows = builder.create("And", {isDue, fits});
    Value full = builder.scalarLike(op.getHysteresis(), next);
    return {builder.where(grows, higher, scale),
            builder.where(isDue, builder.scalarLike(0, next), next),
            builder.where(isDue, full, op.getHysteresisLeft())};
  }

  LogicalResult matchAndRewrite(UpdateScaleOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    State bad = backOff(builder, op), good = grow(builder, op);
    Value found = builder.create(
        "Greater", {op.getFoundInf(), builder.scalarLike(0, op.getFoundInf())});
    auto choose = [&](Value ifBad, Value ifGood, Value old) {
      Value next = builder.where(found, ifBad, ifGood);
      return op.getWhen() ? builder.where(op.getWhen(), next, old) : next;
    };
    rewriter.replaceOp(
        op, {choose(bad.scale, good.scale, op.getScale()),
             choose(bad.tracker, good.tracker, op.getGrowthTracker()),
             choose(bad.left, good.left, op.getHysteresisLeft())});
    return success();
  }
};

} // namespace

void amp::train::populateScalingPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeCheckGradients, DecomposeGradientMultiplier,
               DecomposeUpdateScale>(patterns.getContext());
}
