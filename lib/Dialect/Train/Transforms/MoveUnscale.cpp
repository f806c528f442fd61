//===- MoveUnscale.cpp - Multiplications of gradients into updates --------===//
//
// A gradient that is unscaled beforehand costs a pass over it.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace amp::train {
#define GEN_PASS_DEF_MOVEUNSCALEPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// update(p, g * n, ..., m) -> update(p, g, ..., m * n)
template <typename Op> struct MoveUnscale : OpRewritePattern<Op> {
  MoveUnscale(MLIRContext *context, int64_t &moved)
      : OpRewritePattern<Op>(context), moved(moved) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto product = op.getGradient().template getDefiningOp<onnx::MulOp>();
    if (!product)
      return rewriter.notifyMatchFailure(op, "the gradient is no product");
    for (unsigned side : {0u, 1u}) {
      Value number = product->getOperand(side);
      Value gradient = product->getOperand(1 - side);
      if (number.getType() != op.getMultiplier().getType() ||
          gradient.getType() != op.getGradient().getType())
        continue;
      onnx::OnnxBuilder builder(rewriter, op.getLoc());
      Value multiplier = builder.mul(op.getMultiplier(), number);
      rewriter.modifyOpInPlace(op, [&] {
        op.getGradientMutable().assign(gradient);
        op.getMultiplierMutable().assign(multiplier);
      });
      ++moved;
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no factor is one f32 number");
  }

private:
  int64_t &moved;
};

class MoveUnscalePass
    : public amp::train::impl::MoveUnscalePassBase<MoveUnscalePass> {
public:
  using MoveUnscalePassBase::MoveUnscalePassBase;
  void runOnOperation() override {
    int64_t moved = 0;
    RewritePatternSet patterns(&getContext());
    patterns.add<MoveUnscale<AdamUpdateOp>, MoveUnscale<LambUpdateOp>,
                 MoveUnscale<LionUpdateOp>, MoveUnscale<SgdUpdateOp>>(
        &getContext(), moved);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
    numMoved += moved;
  }
};

} // namespace
