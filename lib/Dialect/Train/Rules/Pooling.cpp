//===- Pooling.cpp - Gradient rules of pooling ----------------------------===//
//
// Window poolings stay whole; global ones are reductions.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "Window.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// g to the winner of each window
struct MaxPoolRule : Rule<MaxPoolRule, onnx::MaxPoolOp> {
  LogicalResult build(onnx::MaxPoolOp op, Vjp &vjp) const {
    Value x = op.getX();
    Window window = getWindow(op, x, op.getKernelShape());
    vjp.set(0, MaxPoolGradientOp::create(vjp.getBuilder(), vjp.getLoc(),
                                         x.getType(), x, vjp.cotangent(0),
                                         window.kernel, window.strides,
                                         window.dilations, window.pads));
    return success();
  }
};

/// g / count to each element of the window
struct AveragePoolRule : Rule<AveragePoolRule, onnx::AveragePoolOp> {
  LogicalResult build(onnx::AveragePoolOp op, Vjp &vjp) const {
    Value x = op.getX();
    Window window = getWindow(op, x, op.getKernelShape());
    vjp.set(0, AveragePoolGradientOp::create(vjp.getBuilder(), vjp.getLoc(),
                                             x.getType(), vjp.cotangent(0),
                                             window.kernel, window.strides,
                                             window.dilations, window.pads,
                                             op.getCountIncludePad() != 0));
    return success();
  }
};

/// broadcast g / n
struct GlobalAveragePoolRule
    : Rule<GlobalAveragePoolRule, onnx::GlobalAveragePoolOp> {
  LogicalResult build(onnx::GlobalAveragePoolOp op, Vjp &vjp) const {
    ArrayRef<int64_t> shape = onnx::getStaticShape(op.getX());
    double count = 1;
    for (int64_t size : shape.drop_front(2))
      count *= size;
    Value g = vjp.widen(vjp.cotangent(0));
    Value share =
        vjp.cast(vjp.scale(g, 1 / count), onnx::getElementType(op.getX()));
    vjp.set(0, vjp.expand(share, shape));
    return success();
  }
};

/// One window over everything
struct GlobalMaxPoolRule : Rule<GlobalMaxPoolRule, onnx::GlobalMaxPoolOp> {
  LogicalResult build(onnx::GlobalMaxPoolOp op, Vjp &vjp) const {
    Value x = op.getX();
    ArrayRef<int64_t> kernel = onnx::getStaticShape(x).drop_front(2);
    SmallVector<int64_t> ones(kernel.size(), 1), pads(2 * kernel.size(), 0);
    vjp.set(0, MaxPoolGradientOp::create(vjp.getBuilder(), vjp.getLoc(),
                                         x.getType(), x, vjp.cotangent(0),
                                         kernel, ones, ones, pads));
    return success();
  }
};

} // namespace

void amp::train::attachPoolingRules(MLIRContext *context) {
  onnx::AveragePoolOp::attachInterface<AveragePoolRule>(*context);
  onnx::GlobalAveragePoolOp::attachInterface<GlobalAveragePoolRule>(*context);
  onnx::GlobalMaxPoolOp::attachInterface<GlobalMaxPoolRule>(*context);
  onnx::MaxPoolOp::attachInterface<MaxPoolRule>(*context);
}
