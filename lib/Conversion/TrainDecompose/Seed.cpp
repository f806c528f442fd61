//===- Seed.cpp - Decomposition of train.seed -----------------------------===//
//
// The cotangent of a loss that is not scaled.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// seed -> 1
struct DecomposeSeed : OpRewritePattern<SeedOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SeedOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    rewriter.replaceOp(op,
                       builder.splat(1, cast<RankedTensorType>(op.getType())));
    return success();
  }
};

} // namespace

void amp::train::populateSeedPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeSeed>(patterns.getContext());
}
