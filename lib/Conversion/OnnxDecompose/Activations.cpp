//===- Activations.cpp - Decomposition of elementwise operators -----------===//
//
// x is the operand, widened.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

double toDouble(const APFloat &value) { return value.convertToFloat(); }

//===----------------------------------------------------------------------===//
// Rectifiers
//===----------------------------------------------------------------------===//

/// x < 0 ? negative : x
Value belowZero(Decomposition &d, Value x, Value negative) {
  return d.where(d.less(x, 0), negative, x);
}

/// x < 0 ? alpha (exp(x / alpha) - 1) : x
LogicalResult decomposeCelu(CeluOp op, Decomposition &d) {
  double alpha = toDouble(op.getAlpha());
  Value x = d.wide(0);
  Value scaled = d.div(x, d.scalarLike(alpha, x));
  d.set(0, belowZero(d, x, d.scale(d.expMinusOne(scaled), alpha)));
  return success();
}

/// x < 0 ? alpha (exp(x) - 1) : x
LogicalResult decomposeElu(EluOp op, Decomposition &d) {
  Value x = d.wide(0);
  Value negative = d.scale(d.expMinusOne(x), toDouble(op.getAlpha()));
  d.set(0, belowZero(d, x, negative));
  return success();
}

/// x < 0 ? alpha x : x
LogicalResult decomposeLeakyRelu(LeakyReluOp op, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, belowZero(d, x, d.mul(x, d.scalarLike(toDouble(op.getAlpha()), x))));
  return success();
}

/// x < 0 ? slope x : x
LogicalResult decomposePRelu(PReluOp, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, belowZero(d, x, d.mul(x, d.wide(1))));
  return success();
}

/// gamma (x < 0 ? alpha (exp(x) - 1) : x)
LogicalResult decomposeSelu(SeluOp op, Decomposition &d) {
  Value x = d.wide(0);
  double gamma = toDouble(op.getGamma());
  Value negative = d.scale(d.expMinusOne(x), toDouble(op.getAlpha()) * gamma);
  d.set(0, d.where(d.less(x, 0), negative, d.scale(x, gamma)));
  return success();
}

/// x > alpha ? x : 0
LogicalResult decomposeThresholdedRelu(ThresholdedReluOp op, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0,
        d.where(d.greater(x, toDouble(op.getAlpha())), x, d.scalarLike(0, x)));
  return success();
}

/// x < -lambd ? x + bias : x > lambd ? x - bias : 0
LogicalResult decomposeShrink(ShrinkOp op, Decomposition &d) {
  Value x = d.wide(0);
  if (!isa<FloatType>(getElementType(x)))
    return success();
  double lambd = toDouble(op.getLambd()), bias = toDouble(op.getBias());
  Value upper =
      d.where(d.greater(x, lambd), d.addScalar(x, -bias), d.scalarLike(0, x));
  d.set(0, d.where(d.less(x, -lambd), d.addScalar(x, bias), upper));
  return success();
}

//===----------------------------------------------------------------------===//
// Smooth ones
//===----------------------------------------------------------------------===//

/// x (1 + erf(x / sqrt(2))) / 2, or with tanh
LogicalResult decomposeGelu(GeluOp op, Decomposition &d) {
  Value x = d.wide(0);
  Value inner;
  if (op.getApproximate() == "tanh") {
    Value cube = d.scale(d.mul(d.mul(x, x), x), 0.044715);
    inner = d.unary("Tanh", d.scale(d.add(x, cube), 0.79788456080286535588));
  } else {
    inner = d.unary("Erf", d.scale(x, 0.70710678118654752440));
  }
  d.set(0, d.mul(d.scale(x, 0.5), d.addScalar(inner, 1)));
  return success();
}

/// clamp(alpha x + beta, 0, 1)
Value hardSigmoid(Decomposition &d, Value x, double alpha, double beta) {
  return d.clamp(d.addScalar(d.scale(x, alpha), beta), 0, 1);
}

LogicalResult decomposeHardSigmoid(HardSigmoidOp op, Decomposition &d) {
  d.set(0, hardSigmoid(d, d.wide(0), toDouble(op.getAlpha()),
                       toDouble(op.getBeta())));
  return success();
}

/// x clamp(x / 6 + 1/2, 0, 1)
LogicalResult decomposeHardSwish(HardSwishOp, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, d.mul(x, hardSigmoid(d, x, 1.0 / 6, 0.5)));
  return success();
}

/// x tanh(softplus(x))
LogicalResult decomposeMish(MishOp, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, d.mul(x, d.unary("Tanh", d.softplus(x))));
  return success();
}

LogicalResult decomposeSoftplus(SoftplusOp, Decomposition &d) {
  d.set(0, d.softplus(d.wide(0)));
  return success();
}

/// x / (1 + |x|)
LogicalResult decomposeSoftsign(SoftsignOp, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, d.div(x, d.addScalar(d.unary("Abs", x), 1)));
  return success();
}

/// x sigmoid(alpha x)
LogicalResult decomposeSwish(SwishOp op, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, d.mul(x, d.unary("Sigmoid", d.scale(x, toDouble(op.getAlpha())))));
  return success();
}

/// sin(x) / cos(x)
LogicalResult decomposeTan(TanOp, Decomposition &d) {
  Value x = d.wide(0);
  d.set(0, d.div(d.unary("Sin", x), d.unary("Cos", x)));
  return success();
}

//===----------------------------------------------------------------------===//
// Bounds, sums, casts
//===----------------------------------------------------------------------===//

/// min(max(x, low), high); no rounding, so in the type it has
LogicalResult decomposeClip(ClipOp, Decomposition &d) {
  Value x = d.input(0);
  if (Value low = d.input(1))
    x = d.create("Max", {x, low});
  if (Value high = d.input(2))
    x = d.create("Min", {x, high});
  d.set(0, x);
  return success();
}

/// op(op(a, b), c)
Value chain(Decomposition &d, StringRef name, bool widen) {
  auto get = [&](unsigned i) { return widen ? d.wide(i) : d.input(i); };
  Value value = get(0);
  for (unsigned i = 1; i < d.getNumInputs(); ++i)
    value = d.create(name, {value, get(i)});
  return value;
}

/// Two operands are the primitive; more are a chain of it.
template <typename OpTy>
LogicalResult decomposeExtremum(OpTy op, Decomposition &d) {
  if (d.getNumInputs() != 2)
    d.set(0, chain(d, getOpType(op), /*widen=*/false));
  return success();
}

LogicalResult decomposeSum(SumOp, Decomposition &d) {
  d.set(0, chain(d, "Add", /*widen=*/true));
  return success();
}

/// sum / number of operands
LogicalResult decomposeMean(MeanOp, Decomposition &d) {
  Value sum = chain(d, "Add", /*widen=*/true);
  d.set(0, d.div(sum, d.scalarLike(d.getNumInputs(), sum)));
  return success();
}

/// Cast; types that no code is generated for are left alone.
LogicalResult decomposeCastLike(CastLikeOp op, Decomposition &d) {
  if (getDataType(getElementType(op.getOutput())) != 0 &&
      getDataType(getElementType(op.getInput())) != 0)
    d.set(0, d.input(0));
  return success();
}

} // namespace

void amp::onnx::addActivationRules(RuleTable &table) {
  table.add(decomposeCastLike);
  table.add(decomposeCelu);
  table.add(decomposeClip);
  table.add(decomposeElu);
  table.add(decomposeExtremum<MaxOp>);
  table.add(decomposeExtremum<MinOp>);
  table.add(decomposeGelu);
  table.add(decomposeHardSigmoid);
  table.add(decomposeHardSwish);
  table.add(decomposeLeakyRelu);
  table.add(decomposeMean);
  table.add(decomposeMish);
  table.add(decomposePRelu);
  table.add(decomposeSelu);
  table.add(decomposeShrink);
  table.add(decomposeSoftplus);
  table.add(decomposeSoftsign);
  table.add(decomposeSum);
  table.add(decomposeSwish);
  table.add(decomposeTan);
  table.add(decomposeThresholdedRelu);
}
