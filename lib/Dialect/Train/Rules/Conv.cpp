//===- Conv.cpp - Gradient rules of convolutions --------------------------===//
//
// A transposed convolution is the input gradient of a convolution, so each is
// the other's rule.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "Window.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// The type that the weight, operand 1, gets its gradient in.
RankedTensorType weightType(Vjp &vjp) {
  Type element = onnx::getElementType(vjp.operand(1));
  return RankedTensorType::get(
      onnx::getStaticShape(vjp.operand(1)),
      element.isF64() ? element : Type(vjp.getBuilder().getF32Type()));
}

/// sum of g over everything but the channels
Value biasGradient(Vjp &vjp) {
  Value g = vjp.widen(vjp.cotangent(0));
  auto axes =
      llvm::to_vector(llvm::seq<int64_t>(1, onnx::getStaticShape(g).size()));
  axes.front() = 0;
  for (size_t i = 1; i < axes.size(); ++i)
    axes[i] = i + 1;
  return vjp.reduce("ReduceSum", g, axes, /*keepDims=*/false);
}

/// dX = conv_input_gradient(W, g), dW = conv_weight_gradient(X, g), dB = sum g
struct ConvRule : Rule<ConvRule, onnx::ConvOp> {
  LogicalResult build(onnx::ConvOp op, Vjp &vjp) const {
    Value x = op.getX(), w = op.getW(), g = vjp.cotangent(0);
    OpBuilder &builder = vjp.getBuilder();
    Window window = getWindow(op, x, onnx::getStaticShape(w).drop_front(2));
    if (vjp.needs(0))
      vjp.set(0, ConvInputGradientOp::create(
                     builder, vjp.getLoc(), x.getType(), w, g, window.strides,
                     window.dilations, window.pads, op.getGroup()));
    if (vjp.needs(1))
      vjp.set(1, ConvWeightGradientOp::create(builder, vjp.getLoc(),
                                              weightType(vjp), x, g,
                                              window.strides, window.dilations,
                                              window.pads, op.getGroup()));
    if (vjp.needs(2))
      vjp.set(2, biasGradient(vjp));
    return success();
  }
};

/// The window of the convolution that `op` transposes: it slides over `op`'s
/// result. Automatic padding and `output_shape` are known by that result.
Window getTransposedWindow(onnx::ConvTransposeOp op) {
  ArrayRef<int64_t> in = onnx::getStaticShape(op.getX()).drop_front(2),
                    out = onnx::getStaticShape(op.getY()).drop_front(2);
  Window window = readWindow(op, onnx::getStaticShape(op.getW()).drop_front(2));
  StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    window.pads.assign(2 * in.size(), 0);
  if (!autoPad.starts_with("SAME") && !op.getOutputShape())
    return window;
  for (size_t i = 0; i < in.size(); ++i) {
    int64_t extra = op.getOutputPadding() ? (*op.getOutputPadding())[i] : 0;
    window.splitPads(
        i, window.strides[i] * (in[i] - 1) + extra + window.extent(i) - out[i],
        /*moreAtStart=*/autoPad != "SAME_UPPER");
  }
  return window;
}

/// dX = Conv(g, W), dW = conv_weight_gradient(g, X), dB = sum g
struct ConvTransposeRule : Rule<ConvTransposeRule, onnx::ConvTransposeOp> {
  LogicalResult build(onnx::ConvTransposeOp op, Vjp &vjp) const {
    Value x = op.getX(), w = op.getW(), g = vjp.cotangent(0);
    Window window = getTransposedWindow(op);
    if (vjp.needs(2))
      vjp.set(2, biasGradient(vjp));
    g = cropUnseen(vjp, window, x, g);
    if (vjp.needs(0))
      vjp.set(0, vjp.create("Conv", {g, w},
                            {vjp.attr("strides", window.strides),
                             vjp.attr("dilations", window.dilations),
                             vjp.attr("pads", window.pads),
                             vjp.attr("group", int64_t(op.getGroup()))}));
    if (vjp.needs(1))
      vjp.set(1, ConvWeightGradientOp::create(vjp.getBuilder(), vjp.getLoc(),
                                              weightType(vjp), g, x,
                                              window.strides, window.dilations,
                                              window.pads, op.getGroup()));
    return success();
  }

  /// output_padding of a stride or more appends elements that nothing of `x`
  /// reaches: a window must not fit there.
  static Value cropUnseen(Vjp &vjp, const Window &window, Value x, Value g) {
    ArrayRef<int64_t> in = onnx::getStaticShape(x).drop_front(2),
                      out = onnx::getStaticShape(g).drop_front(2);
    size_t spatial = in.size();
    SmallVector<int64_t> starts(spatial), ends(out), axes;
    for (size_t i = 0; i < spatial; ++i) {
      axes.push_back(i + 2);
      int64_t reached = (in[i] - 1) * window.strides[i] + window.extent(i) -
                        window.pads[i] - window.pads[i + spatial];
      ends[i] = std::min(out[i], reached + window.strides[i] - 1);
    }
    return ArrayRef(ends) == out ? g : vjp.slice(g, starts, ends, axes);
  }
};

} // namespace

void amp::train::attachConvRules(MLIRContext *context) {
  onnx::ConvOp::attachInterface<ConvRule>(*context);
  onnx::ConvTransposeOp::attachInterface<ConvTransposeRule>(*context);
}
