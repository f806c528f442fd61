//===- Elementwise.cpp - Gradient rules of elementwise operators ----------===//
//
// g is the cotangent of the result y; ub() sums over broadcast dimensions.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// ub(g, A), ub(g, B)
struct AddRule : Rule<AddRule, onnx::AddOp> {
  LogicalResult build(onnx::AddOp op, Vjp &vjp) const {
    for (unsigned i : {0, 1})
      if (vjp.needs(i))
        vjp.set(i, vjp.unbroadcast(vjp.cotangent(0),
                                   onnx::getStaticShape(vjp.operand(i))));
    return success();
  }
};

/// ub(g * B, A), ub(g * A, B)
struct MulRule : Rule<MulRule, onnx::MulOp> {
  LogicalResult build(onnx::MulOp op, Vjp &vjp) const {
    for (unsigned i : {0, 1})
      if (vjp.needs(i))
        vjp.set(i,
                vjp.unbroadcast(vjp.mul(vjp.cotangent(0), vjp.operand(1 - i)),
                                onnx::getStaticShape(vjp.operand(i))));
    return success();
  }
};

/// select(y > 0, g, 0)
struct ReluRule : Rule<ReluRule, onnx::ReluOp> {
  LogicalResult build(onnx::ReluOp op, Vjp &vjp) const {
    Value g = vjp.cotangent(0), y = vjp.result(0);
    Value zero = vjp.scalarLike(0, y);
    vjp.set(0, vjp.where(vjp.create("Greater", {y, zero}), g, zero));
    return success();
  }
};

} // namespace

void amp::train::attachElementwiseRules(MLIRContext *context) {
  onnx::AddOp::attachInterface<AddRule>(*context);
  onnx::MulOp::attachInterface<MulRule>(*context);
  onnx::ReluOp::attachInterface<ReluRule>(*context);
}
