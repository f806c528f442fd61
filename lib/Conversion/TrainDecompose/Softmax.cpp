//===- Softmax.cpp - Decomposition of softmax gradients -------------------===//
//
// One reduction along the axis, in float32.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// y * (g - sum(g * y))
struct DecomposeSoftmaxGradient : OpRewritePattern<SoftmaxGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Value y = builder.widen(op.getY()), g = builder.widen(op.getGradient());
    Value along =
        builder.reduce("ReduceSum", builder.mul(g, y), {int64_t(op.getAxis())});
    Value dx = builder.mul(y, builder.sub(g, along));
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }
};

/// g - exp(y) * sum(g)
struct DecomposeLogSoftmaxGradient : OpRewritePattern<LogSoftmaxGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LogSoftmaxGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Value y = builder.widen(op.getY()), g = builder.widen(op.getGradient());
    Value sum = builder.reduce("ReduceSum", g, {int64_t(op.getAxis())});
    Value dx = builder.sub(g, builder.mul(builder.unary("Exp", y), sum));
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }
};

} // namespace

void amp::train::populateSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeSoftmaxGradient, DecomposeLogSoftmaxGradient>(
      patterns.getContext());
}
