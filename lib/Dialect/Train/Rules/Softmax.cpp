//===- Softmax.cpp - Gradient rules of softmax ----------------------------===//
//
// From the results, which forward has anyway.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

template <typename OpTy, typename GradientOp>
struct SoftmaxRule : Rule<SoftmaxRule<OpTy, GradientOp>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    int64_t axis = op.getAxis();
    if (axis < 0)
      axis += onnx::getStaticShape(vjp.result(0)).size();
    vjp.set(0, GradientOp::create(vjp.getBuilder(), vjp.getLoc(),
                                  vjp.result(0).getType(), vjp.result(0),
                                  vjp.cotangent(0), axis));
    return success();
  }
};

} // namespace

void amp::train::attachSoftmaxRules(MLIRContext *context) {
  onnx::LogSoftmaxOp::attachInterface<
      SoftmaxRule<onnx::LogSoftmaxOp, LogSoftmaxGradientOp>>(*context);
  onnx::SoftmaxOp::attachInterface<
      SoftmaxRule<onnx::SoftmaxOp, SoftmaxGradientOp>>(*context);
}
