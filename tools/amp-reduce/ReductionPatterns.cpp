//===- ReductionPatterns.cpp - How to leave an op of a graph out ----------===//
//
// An op's result becomes one of its operands, or zeros: then the op, and what
// only it read, can go.
//
//===----------------------------------------------------------------------===//

#include "ReductionPatterns.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Reducer/ReductionPatternInterface.h"

using namespace mlir;
using namespace amp;

namespace {

/// An op of one dialect with one result that somebody reads.
class LeaveOutPattern : public RewritePattern {
public:
  LeaveOutPattern(MLIRContext *context, StringRef dialect,
                  PatternBenefit benefit)
      : RewritePattern(MatchAnyOpTypeTag(), benefit, context),
        dialect(dialect) {}

protected:
  LogicalResult check(Operation *op, PatternRewriter &rewriter) const {
    if (op->getName().getDialectNamespace() != dialect ||
        op->getNumResults() != 1 ||
        isa<onnx::InitializerOp, onnx::ConstantOp>(op))
      return rewriter.notifyMatchFailure(op, "not an op that computes a value");
    if (op->use_empty())
      return rewriter.notifyMatchFailure(op, "result has no use");
    return success();
  }

private:
  StringRef dialect;
};

/// op(..., a, ...) -> a, if a has the type of the result
struct PassOperandOn : LeaveOutPattern {
  using LeaveOutPattern::LeaveOutPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (failed(check(op, rewriter)))
      return failure();
    for (Value operand : op->getOperands())
      if (operand.getType() == op->getResult(0).getType()) {
        rewriter.replaceOp(op, operand);
        return success();
      }
    return rewriter.notifyMatchFailure(op, "no operand of the result's type");
  }
};

/// op(...) -> zeros
struct TakeZeros : LeaveOutPattern {
  using LeaveOutPattern::LeaveOutPattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (failed(check(op, rewriter)))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape() ||
        !type.getElementType().isIntOrFloat())
      return rewriter.notifyMatchFailure(op, "result has no static shape");
    auto zeros = cast<ElementsAttr>(DenseElementsAttr::get(
        type, rewriter.getZeroAttr(type.getElementType())));
    rewriter.replaceOpWithNewOp<onnx::InitializerOp>(op, type, zeros);
    return success();
  }
};

struct GraphReduction : DialectReductionPatternInterface {
  using DialectReductionPatternInterface::DialectReductionPatternInterface;

  void populateReductionPatterns(RewritePatternSet &patterns) const override {
    StringRef dialect = getDialect()->getNamespace();
    patterns.add<PassOperandOn>(patterns.getContext(), dialect, /*benefit=*/2);
    patterns.add<TakeZeros>(patterns.getContext(), dialect, /*benefit=*/1);
  }
};

} // namespace

void amp::registerReductionPatterns(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, AmpDialect *dialect) {
    dialect->addInterfaces<GraphReduction>();
  });
  registry.addExtension(+[](MLIRContext *, onnx::OnnxDialect *dialect) {
    dialect->addInterfaces<GraphReduction>();
  });
  registry.addExtension(+[](MLIRContext *, train::TrainDialect *dialect) {
    dialect->addInterfaces<GraphReduction>();
  });
}
