//===- Reductions.cpp - Gradient rules of reductions ----------------------===//
//
// g and y have one element where x has many; spread() puts them back beside x.
// All formulas are float32 inside where types are half.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

namespace {

/// The axes that a reduction sums over; none if it reduces nothing.
template <typename OpTy> FailureOr<SmallVector<int64_t>> getAxes(OpTy op) {
  int64_t rank = onnx::getStaticShape(op.getData()).size();
  SmallVector<int64_t> axes;
  if (op.getAxes()) {
    FailureOr<SmallVector<int64_t>> constant =
        getConstantOperand(op, op.getAxes(), "axes");
    if (failed(constant))
      return failure();
    for (int64_t axis : *constant)
      axes.push_back(normalizeAxis(axis, rank));
  }
  if (axes.empty() && !op.getNoopWithEmptyAxes())
    llvm::append_range(axes, llvm::seq<int64_t>(0, rank));
  return axes;
}

/// One reduction with what its formula needs.
struct Reduction {
  Vjp &vjp;
  SmallVector<int64_t> axes;
  SmallVector<int64_t> keptShape;

  Reduction(Vjp &vjp, ArrayRef<int64_t> axes)
      : vjp(vjp), axes(axes), keptShape(shape()) {
    for (int64_t axis : axes)
      keptShape[axis] = 1;
  }

  ArrayRef<int64_t> shape() const {
    return onnx::getStaticShape(vjp.operand(0));
  }
  double count() const {
    double count = 1;
    for (int64_t axis : axes)
      count *= shape()[axis];
    return count;
  }
  Expr x() { return vjp.wideOperand(0); }
  /// The result and its cotangent, in a shape that broadcasts to x's.
  Expr y() { return {vjp, vjp.reshape(vjp.wideResult(0), keptShape)}; }
  Expr g() { return {vjp, vjp.reshape(vjp.wideCotangent(0), keptShape)}; }
  /// Sum over the reduced axes, in a shape that broadcasts to x's.
  Expr sum(Expr value) { return {vjp, vjp.reduce("ReduceSum", value, axes)}; }
  /// `value` broadcast to x's shape, in the gradient's type.
  void set(Expr value) {
    Value narrow = vjp.cast(value, vjp.getGradientType(0));
    vjp.set(0, vjp.expand(narrow, shape()));
  }
};

template <typename OpTy, Expr (*formula)(Reduction &)>
struct ReductionRule : Rule<ReductionRule<OpTy, formula>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    FailureOr<SmallVector<int64_t>> axes = getAxes(op);
    if (failed(axes))
      return failure();
    if (!vjp.needs(0))
      return success();
    Reduction reduction(vjp, *axes);
    reduction.set(formula(reduction));
    return success();
  }
};

template <typename OpTy, Expr (*formula)(Reduction &)>
void attach(MLIRContext *context) {
  OpTy::template attachInterface<ReductionRule<OpTy, formula>>(*context);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// g
Expr sumGradient(Reduction &r) {
  return {r.vjp, r.vjp.reshape(r.vjp.cotangent(0), r.keptShape)};
}

/// g / n
Expr meanGradient(Reduction &r) { return r.g() / r.count(); }

/// g sign(x), 0 at 0
Expr l1Gradient(Reduction &r) {
  Expr x = r.x();
  return select(equal(x, 0), 0, r.g() * x.apply("Sign"));
}

/// (g / y) x, 0 where y is 0
Expr l2Gradient(Reduction &r) {
  Expr y = r.y();
  return select(equal(y, 0), 0, (r.g() / y) * r.x());
}

/// 2 g x
Expr sumSquareGradient(Reduction &r) { return r.g() * (2 * r.x()); }

/// g / sum(x)
Expr logSumGradient(Reduction &r) { return r.g() / r.sum(r.x()); }

/// g e^(x - y); a sum of zeros (y = -inf) has the gradient of y = 0
Expr logSumExpGradient(Reduction &r) {
  Expr y = r.y();
  Expr finite =
      select(equal(y, -std::numeric_limits<double>::infinity()), 0, y);
  return r.g() * exp(r.x() - finite);
}

//===----------------------------------------------------------------------===//
// Extrema and products
//===----------------------------------------------------------------------===//

/// select(x == y, g / count, 0): elements that tie share evenly
Expr extremumGradient(Reduction &r) {
  Expr g = r.g();
  Expr wins = equal(r.x(), r.y());
  Expr count = r.sum({r.vjp, r.vjp.cast(wins, onnx::getElementType(g))});
  return select(wins, g / count, 0);
}

/// g times the product of the others: P / x with P the product of all that are
/// not zero; if one is zero it alone gets P, if more are, all get 0
Expr productGradient(Reduction &r) {
  Expr g = r.g(), x = r.x();
  Expr isZero = equal(x, 0);
  Expr zeros = r.sum({r.vjp, r.vjp.cast(isZero, onnx::getElementType(g))});
  Expr rest(r.vjp, r.vjp.reduce("ReduceProd", select(isZero, 1, x), r.axes));
  Expr ofZero = select(equal(zeros, 1), g * rest, 0);
  Expr ofOther = select(equal(zeros, 0), g * rest, 0) / x;
  return select(isZero, ofZero, ofOther);
}

/// The sums run the other way round.
struct CumSumRule : Rule<CumSumRule, onnx::CumSumOp> {
  LogicalResult build(onnx::CumSumOp op, Vjp &vjp) const {
    vjp.setSummed(0,
                  vjp.create("CumSum", {vjp.wideCotangent(0), op.getAxis()},
                             {vjp.attr("exclusive", int64_t(op.getExclusive())),
                              vjp.attr("reverse", int64_t(!op.getReverse()))}));
    return success();
  }
};

} // namespace

void amp::train::attachReductionRules(MLIRContext *context) {
  onnx::CumSumOp::attachInterface<CumSumRule>(*context);
  attach<onnx::ReduceL1Op, l1Gradient>(context);
  attach<onnx::ReduceL2Op, l2Gradient>(context);
  attach<onnx::ReduceLogSumExpOp, logSumExpGradient>(context);
  attach<onnx::ReduceLogSumOp, logSumGradient>(context);
  attach<onnx::ReduceMaxOp, extremumGradient>(context);
  attach<onnx::ReduceMeanOp, meanGradient>(context);
  attach<onnx::ReduceMinOp, extremumGradient>(context);
  attach<onnx::ReduceProdOp, productGradient>(context);
  attach<onnx::ReduceSumOp, sumGradient>(context);
  attach<onnx::ReduceSumSquareOp, sumSquareGradient>(context);
}
