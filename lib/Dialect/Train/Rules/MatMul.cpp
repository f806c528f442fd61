//===- MatMul.cpp - Gradient rules of matrix products ---------------------===//
//
// Gradients of weights leave their product in float32.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// train.matmul of a' and b' in the element type that operand `index` of the
/// rule's operation wants its gradient in.
Value product(Vjp &vjp, unsigned index, Value a, bool transA, Value b,
              bool transB) {
  Type element = vjp.isWeight(index) ? vjp.getBuilder().getF32Type()
                                     : onnx::getElementType(vjp.operand(index));
  if (onnx::getElementType(vjp.operand(index)).isF64())
    element = vjp.getBuilder().getF64Type();
  ArrayRef<int64_t> as = onnx::getStaticShape(a), bs = onnx::getStaticShape(b);
  SmallVector<int64_t> shape;
  OpTrait::util::getBroadcastedShape(as.drop_back(2), bs.drop_back(2), shape);
  shape.push_back(as[as.size() - (transA ? 1 : 2)]);
  shape.push_back(bs[bs.size() - (transB ? 2 : 1)]);
  return train::MatMulOp::create(vjp.getBuilder(), vjp.getLoc(),
                                 RankedTensorType::get(shape, element), a, b,
                                 transA, transB);
}

/// dA = g B', dB = A' g, summed over broadcast batch dimensions. A weight of
/// two dimensions takes all rows of A in one product.
struct MatMulRule : Rule<MatMulRule, onnx::MatMulOp> {
  LogicalResult build(onnx::MatMulOp op, Vjp &vjp) const {
    Value a = vjp.operand(0), b = vjp.operand(1), g = vjp.cotangent(0);
    ArrayRef<int64_t> as = onnx::getStaticShape(a),
                      bs = onnx::getStaticShape(b);
    if (as.size() < 2 || bs.size() < 2)
      return op.emitOpError() << "of vectors has no gradient rule";
    if (vjp.needs(0))
      vjp.set(0, vjp.unbroadcast(product(vjp, 0, g, false, b, true), as));
    if (!vjp.needs(1))
      return success();
    if (bs.size() == 2) {
      int64_t rows =
          cast<ShapedType>(op.getY().getType()).getNumElements() / bs[1];
      Value flatA = vjp.reshape(a, {rows, bs[0]});
      Value flatG = vjp.reshape(g, {rows, bs[1]});
      vjp.set(1, product(vjp, 1, flatA, true, flatG, false));
    } else {
      vjp.set(1, vjp.unbroadcast(product(vjp, 1, a, true, g, false), bs));
    }
    return success();
  }
};

} // namespace

void amp::train::attachMatMulRules(MLIRContext *context) {
  onnx::MatMulOp::attachInterface<MatMulRule>(*context);
}
