//===- MergeChecks.cpp - Merge finite checks ------------------------------===//
//
// One read of all gradients instead of one per check.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace amp::train {
#define GEN_PASS_DEF_MERGECHECKSPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

/// The operation that alone uses both `a` and `b`, if it is an Op of the two.
template <typename Op> static Op getJoin(Value a, Value b) {
  if (!a.hasOneUse() || !b.hasOneUse() || *a.user_begin() != *b.user_begin())
    return {};
  auto join = dyn_cast<Op>(*a.user_begin());
  return join && join->getNumOperands() == 2 ? join : Op();
}

/// Whether something uses `first` where `second` is not there yet.
static bool isUsedBefore(Operation *first, Operation *second) {
  return llvm::any_of(first->getUsers(), [&](Operation *user) {
    return user->getBlock() != second->getBlock() ||
           user->isBeforeInBlock(second);
  });
}

namespace {

/// Max(found(a), found(b)), squares(a) + squares(b) -> check(a, b)
struct MergeChecks : OpRewritePattern<CheckGradientsOp> {
  MergeChecks(MLIRContext *context, int64_t &merged)
      : OpRewritePattern(context), merged(merged) {}

  LogicalResult matchAndRewrite(CheckGradientsOp first,
                                PatternRewriter &rewriter) const override {
    for (Operation *op = first->getNextNode(); op; op = op->getNextNode()) {
      auto second = dyn_cast<CheckGradientsOp>(op);
      if (!second || first.getFoundIn().empty() != second.getFoundIn().empty())
        continue;
      auto flags =
          getJoin<onnx::MaxOp>(first.getFoundInf(), second.getFoundInf());
      auto sums = getJoin<onnx::AddOp>(first.getSumOfSquares(),
                                       second.getSumOfSquares());
      if (!flags || !sums || isUsedBefore(first, second))
        continue;
      merge(first, second, flags, sums, rewriter);
      return success();
    }
    return rewriter.notifyMatchFailure(
        first, "no check whose flag and sum are joined with this one's");
  }

private:
  void merge(CheckGradientsOp first, CheckGradientsOp second, Operation *flags,
             Operation *sums, PatternRewriter &rewriter) const {
    // Where every gradient is known.
    rewriter.setInsertionPoint(second);
    SmallVector<Value> gradients(first.getGradients());
    llvm::append_range(gradients, second.getGradients());
    SmallVector<Type> types(first.getNumResults() + second.getFoundIn().size(),
                            first.getFoundInf().getType());
    auto all =
        CheckGradientsOp::create(rewriter, second.getLoc(), types, gradients);
    size_t count = first.getFoundIn().size();
    rewriter.replaceAllUsesWith(first.getFoundIn(),
                                all.getFoundIn().take_front(count));
    rewriter.replaceAllUsesWith(second.getFoundIn(),
                                all.getFoundIn().drop_front(count));
    rewriter.replaceOp(flags, all.getFoundInf());
    rewriter.replaceOp(sums, all.getSumOfSquares());
    rewriter.eraseOp(second);
    rewriter.eraseOp(first);
    ++merged;
  }

  int64_t &merged;
};

class MergeChecksPass
    : public amp::train::impl::MergeChecksPassBase<MergeChecksPass> {
public:
  using MergeChecksPassBase::MergeChecksPassBase;
  void runOnOperation() override {
    int64_t merged = 0;
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeChecks>(&getContext(), merged);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
    numMerged += merged;
  }
};

} // namespace
