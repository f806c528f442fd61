//===- Contractions.cpp - Contractions as ONNX operators ------------------===//
//
// ONNX has no product of narrow operands with a wide result: operands are cast
// to float32 first, which changes no value.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// `value` in the type that its products are summed in, its last two
/// dimensions swapped if `transposed`.
Value wideOperand(onnx::OnnxBuilder &builder, Value value, bool transposed) {
  if (onnx::isHalf(onnx::getElementType(value)))
    value = builder.cast(value, builder.getBuilder().getF32Type());
  if (!transposed)
    return value;
  auto permutation = llvm::to_vector(
      llvm::seq<int64_t>(0, onnx::getStaticShape(value).size()));
  std::swap(permutation.back(), permutation.end()[-2]);
  return builder.transpose(value, permutation);
}

/// matmul(a, b) -> cast(MatMul(wide(a'), wide(b')))
struct MatMulToOnnx : OpRewritePattern<MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    Value a = wideOperand(builder, op.getA(), op.getTransA());
    Value b = wideOperand(builder, op.getB(), op.getTransB());
    rewriter.replaceOp(
        op, builder.cast(builder.matmul(a, b), op.getType().getElementType()));
    return success();
  }
};

} // namespace

void amp::train::populateContractionToOnnxPatterns(
    RewritePatternSet &patterns) {
  patterns.add<MatMulToOnnx>(patterns.getContext());
}
