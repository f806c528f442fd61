//===- FoldTransposes.cpp - Transposes into matrix products ---------------===//
//
// A product reads its operands in either order of their last two dimensions.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/Sequence.h"

namespace amp::train {
#define GEN_PASS_DEF_FOLDTRANSPOSESPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Whether `op` swaps the last two dimensions and keeps the others.
bool swapsMatrices(onnx::TransposeOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getData().getType());
  if (!type || type.getRank() < 2)
    return false;
  if (!op.getPerm())
    return type.getRank() == 2;
  auto swapped = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  std::swap(swapped.back(), swapped.end()[-2]);
  return *op.getPerm() == ArrayRef(swapped);
}

RankedTensorType swapMatrices(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  std::swap(shape.back(), shape.end()[-2]);
  return RankedTensorType::get(shape, type.getElementType());
}

/// The matrices that `value` is the transposed of, perhaps cast; null if it is
/// no transpose.
Value getUntransposed(PatternRewriter &rewriter, Value value) {
  auto cast = value.getDefiningOp<amp::CastOp>();
  auto transpose =
      (cast ? cast.getInput() : value).getDefiningOp<onnx::TransposeOp>();
  if (!transpose || !swapsMatrices(transpose))
    return Value();
  if (!cast)
    return transpose.getData();
  auto type = mlir::cast<TensorType>(transpose.getData().getType());
  return amp::CastOp::create(rewriter, cast.getLoc(),
                             type.clone(onnx::getElementType(value)),
                             transpose.getData());
}

/// matmul(transpose(a), b) -> matmul(a, b) {transA}, likewise b
struct FoldIntoOperands : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    Value a = getUntransposed(rewriter, op.getA());
    Value b = getUntransposed(rewriter, op.getB());
    if (!a && !b)
      return rewriter.notifyMatchFailure(op, "no operand is a transpose");
    rewriter.replaceOpWithNewOp<MatMulOp>(
        op, op.getType(), a ? a : op.getA(), b ? b : op.getB(),
        op.getTransA() != static_cast<bool>(a),
        op.getTransB() != static_cast<bool>(b));
    return success();
  }
};

/// transpose(matmul(a, b)) -> matmul(b', a')
struct FoldIntoResult : OpRewritePattern<onnx::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(onnx::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op.getData().getDefiningOp<amp::CastOp>();
    auto product =
        (cast ? cast.getInput() : op.getData()).getDefiningOp<MatMulOp>();
    if (!product || !swapsMatrices(op))
      return rewriter.notifyMatchFailure(op, "no transpose of a product");
    if (!product->hasOneUse() || (cast && !cast->hasOneUse()))
      return rewriter.notifyMatchFailure(op, "product has another use");
    Value swapped = MatMulOp::create(
        rewriter, product.getLoc(), swapMatrices(product.getType()),
        product.getB(), product.getA(), !product.getTransB(),
        !product.getTransA());
    if (cast)
      swapped = amp::CastOp::create(rewriter, cast.getLoc(),
                                    op.getTransposed().getType(), swapped);
    rewriter.replaceOp(op, swapped);
    return success();
  }
};

class FoldTransposesPass
    : public amp::train::impl::FoldTransposesPassBase<FoldTransposesPass> {
public:
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldIntoOperands, FoldIntoResult>(&getContext());
    GreedyRewriteConfig config;
    config.enableFolding(false)
        .enableConstantCSE(false)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
