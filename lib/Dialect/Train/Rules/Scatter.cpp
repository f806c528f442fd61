//===- Scatter.cpp - Gradient rules of scatters ---------------------------===//
//
// ScatterElements and ScatterND differ in how places are told; the rules are
// the same. With "none" no place is written twice (ONNX demands it).
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

namespace {

/// The places of a ScatterElements.
struct ElementPlaces {
  Vjp &vjp;
  onnx::ScatterElementsOp op;

  Expr gather(Value from) {
    return {vjp, vjp.create("GatherElements", {from, op.getIndices()},
                            vjp.attr("axis", int64_t(op.getAxis())))};
  }
  Expr scatter(Value into, Value updates, StringRef reduction) {
    return {vjp, vjp.create("ScatterElements", {into, op.getIndices(), updates},
                            {vjp.attr("axis", int64_t(op.getAxis())),
                             vjp.attr("reduction", reduction)})};
  }
};

/// The places of a ScatterND.
struct SlicePlaces {
  Vjp &vjp;
  onnx::ScatterNDOp op;

  Expr gather(Value from) {
    return {vjp, vjp.create("GatherND", {from, op.getIndices()})};
  }
  Expr scatter(Value into, Value updates, StringRef reduction) {
    return {vjp, vjp.create("ScatterND", {into, op.getIndices(), updates},
                            vjp.attr("reduction", reduction))};
  }
};

template <typename OpTy, typename Places>
struct ScatterRule : Rule<ScatterRule<OpTy, Places>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    StringRef reduction = op.getReduction();
    Places places{vjp, op};
    if (reduction == "mul")
      multiply(places);
    else if (reduction == "max" || reduction == "min")
      extremum(places);
    else
      assign(places, reduction == "add");
    return success();
  }

private:
  static Expr filled(Vjp &vjp, double number, Value like) {
    return {vjp, vjp.expand(vjp.scalarLike(number, like),
                            onnx::getStaticShape(like))};
  }

  /// dX = g, for "none" zero where written; dU = gather g
  static void assign(Places &places, bool adds) {
    Vjp &vjp = places.vjp;
    Value g = vjp.cotangent(0);
    if (vjp.needs(0)) {
      Value none = zeros(vjp, onnx::getStaticShape(vjp.operand(2)),
                         onnx::getElementType(g));
      vjp.setSummed(0, adds ? g : Value(places.scatter(g, none, "none")));
    }
    if (vjp.needs(2))
      vjp.setSummed(2, places.gather(g));
  }

  /// dX = g P with P the product of the updates of a place; dU = g x P / u,
  /// where P leaves out zeros: a lone zero gets g x P, of several each gets 0
  static void multiply(Places &places) {
    Vjp &vjp = places.vjp;
    Expr g = vjp.wideCotangent(0), x = vjp.wideOperand(0);
    Expr u = vjp.wideOperand(2);
    if (vjp.needs(0))
      vjp.setSummed(0, g * places.scatter(filled(vjp, 1, x), u, "mul"));
    if (!vjp.needs(2))
      return;
    Expr isZero = equal(u, 0);
    Expr rest = places.scatter(filled(vjp, 1, x), select(isZero, 1, u), "mul");
    Expr count = places.scatter(
        filled(vjp, 0, x), vjp.cast(isZero, onnx::getElementType(u)), "add");
    Expr zeros = places.gather(count), product = places.gather(g * x * rest);
    vjp.setSummed(2, select(isZero, select(equal(zeros, 1), product, 0),
                            select(equal(zeros, 0), product, 0) / u));
  }

  /// g to whoever equals the result; those that tie share evenly
  static void extremum(Places &places) {
    Vjp &vjp = places.vjp;
    Expr g = vjp.wideCotangent(0), x(vjp, vjp.operand(0));
    Expr u(vjp, vjp.operand(2)), y(vjp, vjp.result(0));
    Type type = onnx::getElementType(g);
    Expr keeps = equal(x, y), wins = equal(u, places.gather(y));
    Expr share =
        g / places.scatter(vjp.cast(keeps, type), vjp.cast(wins, type), "add");
    if (vjp.needs(0))
      vjp.setSummed(0, select(keeps, share, 0));
    if (vjp.needs(2))
      vjp.setSummed(2, select(wins, places.gather(share), 0));
  }
};

} // namespace

void amp::train::attachScatterRules(MLIRContext *context) {
  onnx::ScatterElementsOp::attachInterface<
      ScatterRule<onnx::ScatterElementsOp, ElementPlaces>>(*context);
  onnx::ScatterNDOp::attachInterface<
      ScatterRule<onnx::ScatterNDOp, SlicePlaces>>(*context);
}
