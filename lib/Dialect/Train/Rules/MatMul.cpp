//===- MatMul.cpp - Gradient rules of matrix products ---------------------===//
//
// Gradients of weights leave their product in float32, as do products that are
// summed or scaled before they are rounded.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// A matrix, to be read transposed or not.
struct Factor {
  Value value;
  bool transposed;
};

/// train.matmul of a and b, rounded to `element`.
Value product(Vjp &vjp, Factor a, Factor b, Type element) {
  ArrayRef<int64_t> as = onnx::getStaticShape(a.value),
                    bs = onnx::getStaticShape(b.value);
  SmallVector<int64_t> shape;
  OpTrait::util::getBroadcastedShape(as.drop_back(2), bs.drop_back(2), shape);
  shape.push_back(as[as.size() - (a.transposed ? 1 : 2)]);
  shape.push_back(bs[bs.size() - (b.transposed ? 2 : 1)]);
  return train::MatMulOp::create(vjp.getBuilder(), vjp.getLoc(),
                                 RankedTensorType::get(shape, element), a.value,
                                 b.value, a.transposed, b.transposed);
}

/// The type of products that are rounded later.
Type getWideType(Vjp &vjp, Value operand) {
  Type element = onnx::getElementType(operand);
  return onnx::isHalf(element) ? vjp.getBuilder().getF32Type() : element;
}

/// Hands over a b, summed over broadcast batches to `shape`, as the cotangent
/// of operand `index`.
void setProduct(Vjp &vjp, unsigned index, Factor a, Factor b,
                ArrayRef<int64_t> shape) {
  SmallVector<int64_t> batch;
  OpTrait::util::getBroadcastedShape(onnx::getStaticShape(a.value).drop_back(2),
                                     onnx::getStaticShape(b.value).drop_back(2),
                                     batch);
  bool sums = ArrayRef(batch) != shape.drop_back(2);
  Type element = vjp.getGradientType(index);
  Value wide = product(vjp, a, b, sums ? getWideType(vjp, a.value) : element);
  vjp.set(index, vjp.reshape(vjp.unbroadcast(wide, shape, element),
                             onnx::getStaticShape(vjp.operand(index))));
}

/// dA = g B', dB = A' g, summed over broadcast batch dimensions. A vector is a
/// matrix of one row (A) or column (B); a B of two dimensions takes all rows of
/// A in one product.
struct MatMulRule : Rule<MatMulRule, onnx::MatMulOp> {
  LogicalResult build(onnx::MatMulOp op, Vjp &vjp) const {
    SmallVector<int64_t> as(onnx::getStaticShape(op.getA())),
        bs(onnx::getStaticShape(op.getB()));
    if (as.size() == 1)
      as.insert(as.begin(), 1);
    if (bs.size() == 1)
      bs.push_back(1);
    int64_t inner = bs[bs.size() - 2], columns = bs.back();
    if (bs.size() == 2) {
      int64_t rows = 1;
      for (int64_t dim : ArrayRef(as).drop_back())
        rows *= dim;
      as = {rows, inner};
    }
    SmallVector<int64_t> gs;
    OpTrait::util::getBroadcastedShape(ArrayRef(as).drop_back(2),
                                       ArrayRef(bs).drop_back(2), gs);
    gs.append({as[as.size() - 2], columns});
    Value a = vjp.reshape(op.getA(), as), b = vjp.reshape(op.getB(), bs);
    Value g = vjp.reshape(vjp.cotangent(0), gs);
    if (vjp.needs(0))
      setProduct(vjp, 0, {g, false}, {b, true}, as);
    if (vjp.needs(1))
      setProduct(vjp, 1, {a, true}, {g, false}, bs);
    return success();
  }
};

/// With A', B' the matrices that are multiplied: alpha g B'^T for A', alpha
/// A'^T g for B', ub(beta g) for C
struct GemmRule : Rule<GemmRule, onnx::GemmOp> {
  LogicalResult build(onnx::GemmOp op, Vjp &vjp) const {
    bool transA = op.getTransA(), transB = op.getTransB();
    double alpha = op.getAlpha().convertToDouble();
    Value a = op.getA(), b = op.getB(), g = vjp.cotangent(0);
    if (vjp.needs(0)) {
      if (transA)
        setScaled(vjp, 0, alpha, {b, transB}, {g, true});
      else
        setScaled(vjp, 0, alpha, {g, false}, {b, !transB});
    }
    if (vjp.needs(1)) {
      if (transB)
        setScaled(vjp, 1, alpha, {g, true}, {a, transA});
      else
        setScaled(vjp, 1, alpha, {a, !transA}, {g, false});
    }
    if (op.getC() && vjp.needs(2)) {
      double beta = op.getBeta().convertToDouble();
      vjp.setSummed(2, beta == 1 ? g : vjp.scale(vjp.widen(g), beta));
    }
    return success();
  }

private:
  static void setScaled(Vjp &vjp, unsigned index, double alpha, Factor a,
                        Factor b) {
    Type element =
        alpha == 1 ? vjp.getGradientType(index) : getWideType(vjp, a.value);
    vjp.setSummed(index, vjp.scale(product(vjp, a, b, element), alpha));
  }
};

} // namespace

void amp::train::attachMatMulRules(MLIRContext *context) {
  onnx::GemmOp::attachInterface<GemmRule>(*context);
  onnx::MatMulOp::attachInterface<MatMulRule>(*context);
}
