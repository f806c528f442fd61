//===- Conv.cpp - Gradients of convolutions as ONNX operators -------------===//
//
// The input gradient is a transposed convolution; the weight gradient is a
// convolution of the input by the cotangent, with the batch as channels.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// The permutation that moves dimensions as `leading` says and leaves the rest.
SmallVector<int64_t> permutationOf(ArrayRef<int64_t> leading, size_t rank) {
  SmallVector<int64_t> permutation(leading);
  llvm::append_range(permutation, llvm::seq<int64_t>(leading.size(), rank));
  return permutation;
}

/// conv_input_gradient(W, g) -> ConvTranspose(g, W); output_padding restores
/// what no window reached.
struct ConvInputGradientToOnnx : OpRewritePattern<ConvInputGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvInputGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    ArrayRef<int64_t> kernel =
        op.getWeight().getType().getShape().drop_front(2);
    ArrayRef<int64_t> in = op.getType().getShape().drop_front(2);
    ArrayRef<int64_t> out = op.getGradient().getType().getShape().drop_front(2);
    ArrayRef<int64_t> pads = op.getPads();
    SmallVector<int64_t> unseen;
    for (size_t i = 0; i < kernel.size(); ++i)
      unseen.push_back(in[i] + pads[i] + pads[i + kernel.size()] -
                       (out[i] - 1) * op.getStrides()[i] -
                       (kernel[i] - 1) * op.getDilations()[i] - 1);
    Value dx = builder.create(
        "ConvTranspose",
        {builder.widen(op.getGradient()), builder.widen(op.getWeight())},
        {builder.attr("strides", op.getStrides()),
         builder.attr("dilations", op.getDilations()),
         builder.attr("pads", pads), builder.attr("output_padding", unseen),
         builder.attr("group", int64_t(op.getGroup()))});
    rewriter.replaceOp(op, builder.cast(dx, op.getType().getElementType()));
    return success();
  }
};

/// [batch, group * channels, ...] as [channels, group * batch, ...], or with
/// `groupFirst` as [group * channels, batch, ...]
Value swapBatchAndChannels(onnx::OnnxBuilder &builder, Value value,
                           int64_t group, bool groupFirst) {
  SmallVector<int64_t> shape(onnx::getStaticShape(value));
  int64_t batch = shape[0], channels = shape[1] / group;
  SmallVector<int64_t> split{batch, group, channels};
  split.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t, 3> order{2, 1, 0};
  shape[0] = channels;
  shape[1] = group * batch;
  if (groupFirst) {
    order = {1, 2, 0};
    shape[0] = group * channels;
    shape[1] = batch;
  }
  Value grouped = builder.reshape(value, split);
  return builder.reshape(
      builder.transpose(grouped, permutationOf(order, split.size())), shape);
}

/// conv_weight_gradient(x, g) -> crop(Conv(x', g')): strides and dilations
/// change roles, each group of x' holds the batch.
struct ConvWeightGradientToOnnx : OpRewritePattern<ConvWeightGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvWeightGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    int64_t group = op.getGroup();
    Value x = swapBatchAndChannels(builder, builder.widen(op.getX()), group,
                                   /*groupFirst=*/false);
    Value g = swapBatchAndChannels(builder, builder.widen(op.getGradient()),
                                   group, /*groupFirst=*/true);
    Value dw = builder.create("Conv", {x, g},
                              {builder.attr("strides", op.getDilations()),
                               builder.attr("dilations", op.getStrides()),
                               builder.attr("pads", op.getPads()),
                               builder.attr("group", group)});
    ArrayRef<int64_t> kernel = op.getType().getShape().drop_front(2);
    SmallVector<int64_t> starts(kernel.size()),
        axes = llvm::to_vector(llvm::seq<int64_t>(2, 2 + kernel.size()));
    if (onnx::getStaticShape(dw).drop_front(2) != kernel)
      dw = builder.slice(dw, starts, kernel, axes);
    dw = builder.transpose(
        dw, permutationOf({1, 0}, onnx::getStaticShape(dw).size()));
    rewriter.replaceOp(op, builder.cast(dw, op.getType().getElementType()));
    return success();
  }
};

} // namespace

void amp::train::populateConvToOnnxPatterns(RewritePatternSet &patterns) {
  patterns.add<ConvInputGradientToOnnx, ConvWeightGradientToOnnx>(
      patterns.getContext());
}
