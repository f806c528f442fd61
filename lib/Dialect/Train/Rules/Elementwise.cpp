//===- Elementwise.cpp - Gradient rules of operators that broadcast -------===//
//
// g is the cotangent of the result y; ub() sums over broadcast dimensions. What
// is summed is not rounded to a half type before.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

namespace {

/// Whether one operation's result is all that operand `index` gets, so that it
/// may be made in the half type.
bool staysNarrow(Vjp &vjp, unsigned index) {
  return !vjp.sums(index, vjp.cotangent(0)) && !vjp.isWeight(index);
}

/// ub(g, A), ub(g, B), ...
template <typename OpTy> struct SumRule : Rule<SumRule<OpTy>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i)
      if (vjp.needs(i))
        vjp.setSummed(i, vjp.cotangent(0));
    return success();
  }
};

/// ub(g, A), -ub(g, B)
struct SubRule : Rule<SubRule, onnx::SubOp> {
  LogicalResult build(onnx::SubOp op, Vjp &vjp) const {
    if (vjp.needs(0))
      vjp.setSummed(0, vjp.cotangent(0));
    if (!vjp.needs(1))
      return success();
    vjp.setSummed(1, vjp.cotangent(0));
    vjp.set(1, vjp.neg(vjp.getGradients()[1]));
    return success();
  }
};

/// ub(g B, A), ub(g A, B)
struct MulRule : Rule<MulRule, onnx::MulOp> {
  LogicalResult build(onnx::MulOp op, Vjp &vjp) const {
    for (unsigned i : {0, 1}) {
      if (!vjp.needs(i))
        continue;
      if (staysNarrow(vjp, i))
        vjp.set(i, vjp.mul(vjp.cotangent(0), vjp.operand(1 - i)));
      else
        vjp.setSummed(i, vjp.wideCotangent(0) * vjp.wideOperand(1 - i));
    }
    return success();
  }
};

/// q = g / B: ub(q, A), -ub(q y, B). B is never squared: that overflows.
struct DivRule : Rule<DivRule, onnx::DivOp> {
  LogicalResult build(onnx::DivOp op, Vjp &vjp) const {
    if (vjp.needs(0) && !vjp.needs(1) && staysNarrow(vjp, 0)) {
      vjp.set(0, vjp.div(vjp.cotangent(0), vjp.operand(1)));
      return success();
    }
    Expr q = vjp.wideCotangent(0) / vjp.wideOperand(1);
    if (vjp.needs(0))
      vjp.setSummed(0, q);
    if (vjp.needs(1))
      vjp.setSummed(1, -(q * vjp.wideResult(0)));
    return success();
  }
};

/// ub(g, A) / n, ub(g, B) / n, ...
struct MeanRule : Rule<MeanRule, onnx::MeanOp> {
  LogicalResult build(onnx::MeanOp op, Vjp &vjp) const {
    Expr share = vjp.wideCotangent(0) / double(op->getNumOperands());
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i)
      if (vjp.needs(i))
        vjp.setSummed(i, share);
    return success();
  }
};

/// ub(g, A), -ub(g trunc(A / B), B) of C's fmod
struct ModRule : Rule<ModRule, onnx::ModOp> {
  LogicalResult build(onnx::ModOp op, Vjp &vjp) const {
    if (vjp.needs(0))
      vjp.setSummed(0, vjp.cotangent(0));
    if (!vjp.needs(1))
      return success();
    // A - y is a multiple of B; the quotient A / B may round up to the next.
    Expr multiple = vjp.wideOperand(0) - vjp.wideResult(0);
    Expr count = (multiple / vjp.wideOperand(1)).apply("Round");
    vjp.setSummed(1, -(vjp.wideCotangent(0) * count));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Power
//===----------------------------------------------------------------------===//

/// The exponent, if it is the same constant for all elements.
std::optional<double> getExponent(onnx::PowOp op) {
  ElementsAttr value = onnx::getConstantValue(op.getY());
  if (!value || value.getNumElements() == 0 ||
      (value.getNumElements() > 1 && !value.isSplat()))
    return std::nullopt;
  if (isa<FloatType>(value.getElementType()))
    return (*value.value_begin<APFloat>()).convertToDouble();
  return (*value.value_begin<APInt>()).getSExtValue();
}

/// dA = ub(g B A^(B-1)), 0 where B is 0;
/// dB = ub(g y ln A), 0 where y is 0 or where A is 0 and B is not negative
struct PowRule : Rule<PowRule, onnx::PowOp> {
  LogicalResult build(onnx::PowOp op, Vjp &vjp) const {
    Type wide = onnx::getElementType(vjp.wideOperand(0));
    std::optional<double> exponent = getExponent(op);
    if (vjp.needs(0) && exponent != 0.0)
      vjp.setSummed(0, exponent ? special(vjp, *exponent) : general(vjp, wide));
    if (vjp.needs(1)) {
      Expr a = vjp.wideOperand(0), y = vjp.wideResult(0);
      Expr b(vjp, vjp.cast(vjp.operand(1), wide));
      Expr none = equal(y, 0) | (equal(a, 0) & (b >= 0));
      vjp.setSummed(1,
                    select(none, 0, vjp.wideCotangent(0) * y * a.apply("Log")));
    }
    return success();
  }

private:
  static Expr general(Vjp &vjp, Type wide) {
    Expr a = vjp.wideOperand(0), b(vjp, vjp.cast(vjp.operand(1), wide));
    Expr slope = b * a.apply("Pow", b - 1);
    return select(equal(b, 0), 0, vjp.wideCotangent(0) * slope);
  }

  static Expr special(Vjp &vjp, double exponent) {
    Expr g = vjp.wideCotangent(0);
    if (exponent == 1)
      return g;
    if (exponent == 0.5)
      return g / (2 * vjp.wideResult(0));
    Expr a = vjp.wideOperand(0);
    if (exponent == 2)
      return g * (2 * a);
    if (exponent == 3)
      return g * (3 * (a * a));
    return g * (exponent * a.apply("Pow", exponent - 1));
  }
};

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// ub(select(c, g, 0), A), ub(select(c, 0, g), B)
struct WhereRule : Rule<WhereRule, onnx::WhereOp> {
  LogicalResult build(onnx::WhereOp op, Vjp &vjp) const {
    Expr condition(vjp, op.getCondition()), g(vjp, vjp.cotangent(0));
    if (vjp.needs(1))
      vjp.setSummed(1, select(condition, g, 0));
    if (vjp.needs(2))
      vjp.setSummed(2, select(condition, 0, g));
    return success();
  }
};

/// ub(select(A == y, g / count, 0), A), ...: operands that tie share evenly
template <typename OpTy> struct ExtremumRule : Rule<ExtremumRule<OpTy>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    Expr g = vjp.wideCotangent(0), y(vjp, vjp.result(0));
    unsigned end = op->getNumOperands();
    if (end == 1) {
      vjp.set(0, vjp.cotangent(0));
      return success();
    }
    SmallVector<Expr> wins;
    for (unsigned i = 0; i < end; ++i)
      wins.push_back(equal(Expr(vjp, vjp.operand(i)), y));
    Expr share = g / count(vjp, wins, onnx::getElementType(g));
    for (unsigned i = 0; i < end; ++i)
      if (vjp.needs(i))
        vjp.setSummed(i, select(wins[i], share, 0));
    return success();
  }

private:
  static Expr count(Vjp &vjp, ArrayRef<Expr> wins, Type type) {
    Expr total(vjp, vjp.cast(wins.front(), type));
    for (Expr win : wins.drop_front())
      total = total + Expr(vjp, vjp.cast(win, type));
    return total;
  }
};

} // namespace

void amp::train::attachElementwiseRules(MLIRContext *context) {
  onnx::AddOp::attachInterface<SumRule<onnx::AddOp>>(*context);
  onnx::DivOp::attachInterface<DivRule>(*context);
  onnx::MaxOp::attachInterface<ExtremumRule<onnx::MaxOp>>(*context);
  onnx::MeanOp::attachInterface<MeanRule>(*context);
  onnx::MinOp::attachInterface<ExtremumRule<onnx::MinOp>>(*context);
  onnx::ModOp::attachInterface<ModRule>(*context);
  onnx::MulOp::attachInterface<MulRule>(*context);
  onnx::PowOp::attachInterface<PowRule>(*context);
  onnx::SubOp::attachInterface<SubRule>(*context);
  onnx::SumOp::attachInterface<SumRule<onnx::SumOp>>(*context);
  onnx::WhereOp::attachInterface<WhereRule>(*context);
}
