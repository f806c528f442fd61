//===- Normalization.cpp - Decomposition of norm gradients ----------------===//
//
// Statistics are computed again from x, with the operations forward has, so
// that common subexpression elimination leaves one of each.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

struct DecomposeNormGradient : OpRewritePattern<NormGradientOp> {
  using OpRewritePattern::OpRewritePattern;

  struct Statistics {
    Value invStd, normalised;
  };

  static Statistics statistics(onnx::OnnxBuilder &builder, NormGradientOp op) {
    Value x = builder.widen(op.getX());
    if (op.getCentered())
      x = builder.sub(x, builder.reduce("ReduceMean", x, op.getAxes()));
    Value variance =
        builder.reduce("ReduceMean", builder.mul(x, x), op.getAxes());
    Value epsilon =
        builder.scalarLike(op.getEpsilon().convertToFloat(), variance);
    Value invStd = builder.unary(
        "Reciprocal", builder.unary("Sqrt", builder.add(variance, epsilon)));
    return {invStd, builder.mul(x, invStd)};
  }

  /// What the cotangents of the statistics add to dx: m / n and
  /// -s * inv_std^2 * xhat / n, where n elements share a statistic.
  static Value addStatistics(onnx::OnnxBuilder &builder, NormGradientOp op,
                             const Statistics &of, Value dx) {
    double count = 1;
    for (int64_t axis : op.getAxes())
      count *= op.getDx().getType().getDimSize(axis);
    Type wide = onnx::getElementType(dx);
    if (Value mean = op.getMeanGradient())
      dx = builder.add(dx, builder.scale(builder.cast(mean, wide), 1 / count));
    if (Value invStd = op.getInvStdGradient()) {
      Value factor = builder.mul(builder.cast(invStd, wide),
                                 builder.mul(of.invStd, of.invStd));
      dx = builder.sub(
          dx, builder.mul(builder.scale(factor, 1 / count), of.normalised));
    }
    return dx;
  }

  /// Whether the scale is one number for what shares a statistic, and each
  /// statistic has a scale of its own (batch normalisation).
  static bool isScalePerStatistic(NormGradientOp op) {
    if (!op.getScale())
      return false;
    ArrayRef<int64_t> shape = op.getDx().getType().getShape();
    ArrayRef<int64_t> scale = onnx::getStaticShape(op.getScale());
    int64_t extra = shape.size() - scale.size();
    for (int64_t axis = 0, rank = shape.size(); axis < rank; ++axis) {
      int64_t size = axis < extra ? 1 : scale[axis - extra];
      if (size != (llvm::is_contained(op.getAxes(), axis) ? 1 : shape[axis]))
        return false;
    }
    return true;
  }

  /// dx = scale * inv_std * (g - sum(g) / n - xhat * sum(g * xhat) / n),
  /// dscale = sum(g * xhat): the bias's gradient is the other sum.
  static std::pair<Value, Value> perStatistic(onnx::OnnxBuilder &builder,
                                              NormGradientOp op,
                                              const Statistics &of, Value g) {
    double count = 1;
    for (int64_t axis : op.getAxes())
      count *= op.getDx().getType().getDimSize(axis);
    Value sum = builder.reduce("ReduceSum", g, op.getAxes());
    Value along = builder.reduce("ReduceSum", builder.mul(g, of.normalised),
                                 op.getAxes());
    Value inner = g;
    if (op.getCentered())
      inner = builder.sub(inner, builder.scale(sum, 1 / count));
    inner = builder.sub(
        inner, builder.mul(of.normalised, builder.scale(along, 1 / count)));
    Value scale = builder.cast(op.getScale(), onnx::getElementType(g));
    Value dx = builder.mul(builder.mul(of.invStd, scale), inner);
    return {dx, builder.reshape(along, onnx::getStaticShape(op.getScale()))};
  }

  /// w = g * scale; dx = inv_std * (w - mean(w) - xhat * mean(w * xhat)),
  /// dscale = sum(g * xhat)
  static std::pair<Value, Value> general(onnx::OnnxBuilder &builder,
                                         NormGradientOp op,
                                         const Statistics &of, Value g) {
    Value w = g;
    if (op.getScale())
      w = builder.mul(g, builder.cast(op.getScale(), onnx::getElementType(g)));
    auto mean = [&](Value value) {
      return builder.reduce("ReduceMean", value, op.getAxes());
    };
    Value along = mean(builder.mul(w, of.normalised));
    Value inner = op.getCentered() ? builder.sub(w, mean(w)) : w;
    inner = builder.sub(inner, builder.mul(of.normalised, along));
    Value dscale;
    if (op.getDscale())
      dscale = builder.unbroadcast(builder.mul(g, of.normalised),
                                   onnx::getStaticShape(op.getScale()));
    return {builder.mul(of.invStd, inner), dscale};
  }

  LogicalResult matchAndRewrite(NormGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Statistics of = statistics(builder, op);
    Value g = builder.widen(op.getGradient());
    auto [dx, dscale] = isScalePerStatistic(op)
                            ? perStatistic(builder, op, of, g)
                            : general(builder, op, of, g);
    dx = addStatistics(builder, op, of, dx);
    SmallVector<Value> results{
        builder.cast(dx, op.getDx().getType().getElementType())};
    if (op.getDscale())
      results.push_back(dscale);
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void amp::train::populateNormalizationPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeNormGradient>(patterns.getContext());
}
