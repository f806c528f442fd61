//===- Activations.cpp - Gradient rules of activation functions -----------===//
//
// Masks select, they never multiply: 0 times an infinite cotangent is no
// number. Conventions at kinks are PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

//===----------------------------------------------------------------------===//
// Piecewise
//===----------------------------------------------------------------------===//

namespace {

double toDouble(const APFloat &number) {
  bool lossy;
  APFloat wide = number;
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return wide.convertToDouble();
}

/// select(y > 0, g, 0)
Expr reluGradient(onnx::ReluOp, Vjp &vjp) {
  Expr y(vjp, vjp.result(0)), g(vjp, vjp.cotangent(0));
  return select(y > 0, g, 0);
}

/// select(x > 0, g, alpha g)
Expr leakyReluGradient(onnx::LeakyReluOp op, Vjp &vjp) {
  double alpha = toDouble(op.getAlpha());
  // y has the sign of x, and is kept more often.
  Expr sign(vjp, alpha > 0 ? vjp.result(0) : vjp.operand(0));
  Expr g = vjp.wideCotangent(0);
  return select(sign > 0, g, alpha * g);
}

/// select(x > alpha, g, 0)
Expr thresholdedReluGradient(onnx::ThresholdedReluOp op, Vjp &vjp) {
  Expr x(vjp, vjp.operand(0)), g(vjp, vjp.cotangent(0));
  return select(x > toDouble(op.getAlpha()), g, 0);
}

/// select(x < -lambda or x > lambda, g, 0)
Expr shrinkGradient(onnx::ShrinkOp op, Vjp &vjp) {
  double lambda = toDouble(op.getLambd());
  Expr x(vjp, vjp.operand(0)), g(vjp, vjp.cotangent(0));
  return select((x < -lambda) | (x > lambda), g, 0);
}

/// select(0 < y < 1, alpha g, 0)
Expr hardSigmoidGradient(onnx::HardSigmoidOp op, Vjp &vjp) {
  Expr y(vjp, vjp.result(0)), g = vjp.wideCotangent(0);
  return select((y > 0) & (y < 1), toDouble(op.getAlpha()) * g, 0);
}

/// 0 for x <= -3, g for x >= 3, g (x/3 + 1/2) between
Expr hardSwishGradient(onnx::HardSwishOp, Vjp &vjp) {
  Expr x = vjp.wideOperand(0), g = vjp.wideCotangent(0);
  Expr between = g * (x / 3 + 0.5);
  return select(x <= -3, 0, select(x >= 3, g, between));
}

/// dX = select(x > 0, g, s g), ds = ub(select(x > 0, 0, g x))
struct PReluRule : Rule<PReluRule, onnx::PReluOp> {
  LogicalResult build(onnx::PReluOp op, Vjp &vjp) const {
    Expr x(vjp, op.getX()), slope(vjp, op.getSlope());
    Expr g(vjp, vjp.cotangent(0)), positive = x > 0;
    if (vjp.needs(0))
      vjp.setSummed(0, select(positive, g, slope * g));
    if (vjp.needs(1))
      vjp.setSummed(
          1, select(positive, 0, vjp.wideCotangent(0) * vjp.wideOperand(0)));
    return success();
  }
};

/// dX = select(lo <= x <= hi, g, 0); dlo sums g where x < lo < hi, dhi where
/// x > hi or hi < lo
struct ClipRule : Rule<ClipRule, onnx::ClipOp> {
  LogicalResult build(onnx::ClipOp op, Vjp &vjp) const {
    Expr x(vjp, op.getInput()), g(vjp, vjp.cotangent(0));
    std::optional<Expr> lo, hi;
    if (op.getMin())
      lo.emplace(vjp, op.getMin());
    if (op.getMax())
      hi.emplace(vjp, op.getMax());
    if (vjp.needs(0))
      vjp.set(0, inside(x, g, lo, hi));
    if (lo && vjp.needs(1)) {
      Expr below = x < *lo;
      vjp.setSummed(1, select(hi ? below & (*lo < *hi) : below, g, 0));
    }
    unsigned hiIndex = lo ? 2 : 1;
    if (hi && vjp.needs(hiIndex)) {
      Expr above = x > *hi;
      vjp.setSummed(hiIndex, select(lo ? above | (*hi < *lo) : above, g, 0));
    }
    return success();
  }

private:
  static Expr inside(Expr x, Expr g, std::optional<Expr> lo,
                     std::optional<Expr> hi) {
    if (lo && hi)
      return select((x >= *lo) & (x <= *hi), g, 0);
    if (lo)
      return select(x >= *lo, g, 0);
    return hi ? select(x <= *hi, g, 0) : g;
  }
};

//===----------------------------------------------------------------------===//
// Smooth
//===----------------------------------------------------------------------===//

/// g sigmoid x
Expr softplusGradient(onnx::SoftplusOp, Vjp &vjp) {
  return vjp.wideCotangent(0) * sigmoid(vjp.wideOperand(0));
}

/// g / (1 + |x|)^2
Expr softsignGradient(onnx::SoftsignOp, Vjp &vjp) {
  Expr divisor = 1 + abs(vjp.wideOperand(0));
  return vjp.wideCotangent(0) / divisor / divisor;
}

/// g y (1 - y)
Expr sigmoidGradient(onnx::SigmoidOp, Vjp &vjp) {
  Expr y = vjp.wideResult(0);
  return vjp.wideCotangent(0) * (1 - y) * y;
}

/// select(x > 0, gamma g, gamma alpha g e^(x / width))
Expr exponentialGradient(Vjp &vjp, double gamma, double alpha, double width) {
  Expr x = vjp.wideOperand(0), g = vjp.wideCotangent(0);
  Expr power = exp(width == 1 ? x : x / width);
  return select(x > 0, gamma == 1 ? g : gamma * g, g * (gamma * alpha * power));
}

Expr eluGradient(onnx::EluOp op, Vjp &vjp) {
  return exponentialGradient(vjp, 1, toDouble(op.getAlpha()), 1);
}

Expr seluGradient(onnx::SeluOp op, Vjp &vjp) {
  return exponentialGradient(vjp, toDouble(op.getGamma()),
                             toDouble(op.getAlpha()), 1);
}

Expr celuGradient(onnx::CeluOp op, Vjp &vjp) {
  return exponentialGradient(vjp, 1, 1, toDouble(op.getAlpha()));
}

/// g (Phi(x) + x phi(x)) with the normal distribution's Phi and phi
Expr geluErfGradient(Vjp &vjp) {
  Expr x = vjp.wideOperand(0);
  Expr cdf = 0.5 * (1 + (x * llvm::numbers::inv_sqrt2).apply("Erf"));
  Expr pdf = exp(-0.5 * (x * x)) *
             (llvm::numbers::inv_sqrtpi * llvm::numbers::inv_sqrt2);
  return vjp.wideCotangent(0) * (cdf + x * pdf);
}

/// g ((1 + t)/2 + x/2 (1 - t t) u'), t = tanh u, u = sqrt(2/pi)(x + c x^3)
Expr geluTanhGradient(Vjp &vjp) {
  const double scale = llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
  const double cubic = 0.044715;
  Expr x = vjp.wideOperand(0), square = x * x;
  Expr t = tanh(scale * (x + cubic * (square * x)));
  Expr slope = scale * (1 + 3 * cubic * square);
  return vjp.wideCotangent(0) * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope);
}

Expr geluGradient(onnx::GeluOp op, Vjp &vjp) {
  return op.getApproximate() == "tanh" ? geluTanhGradient(vjp)
                                       : geluErfGradient(vjp);
}

/// g s (1 + alpha x (1 - s)), s = sigmoid(alpha x)
Expr swishGradient(onnx::SwishOp op, Vjp &vjp) {
  double alpha = toDouble(op.getAlpha());
  Expr x = vjp.wideOperand(0), scaled = alpha == 1 ? x : alpha * x;
  Expr s = sigmoid(scaled);
  return vjp.wideCotangent(0) * (s * (1 + scaled * (1 - s)));
}

/// g (t + x sigmoid(x)(1 - t t)), t = tanh(softplus x) = n / (n + 2) with
/// n = e^x (e^x + 2), so 1 - t t = 4 (n + 1) / (n + 2)^2
Expr mishGradient(onnx::MishOp, Vjp &vjp) {
  Expr x = vjp.wideOperand(0);
  // From 20 on t is 1 in any type; e^x must not overflow.
  Expr power = exp(x.apply("Min", 20.0));
  Expr n = power * (power + 2), divisor = n + 2;
  Expr slope = 4 * (n + 1) / divisor / divisor;
  return vjp.wideCotangent(0) * (n / divisor + x * sigmoid(x) * slope);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// The number that `value` is a constant of; nothing if it is no constant.
std::optional<double> getNumber(Value value) {
  ElementsAttr elements = onnx::getConstantValue(value);
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return (*elements.value_begin<APFloat>()).convertToDouble();
  return (*elements.value_begin<APInt>()).getZExtValue();
}

/// In inference g; in training select(mask, g / (1 - ratio), 0)
struct DropoutRule : Rule<DropoutRule, onnx::DropoutOp> {
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }

  LogicalResult build(onnx::DropoutOp op, Vjp &vjp) const {
    std::optional<double> training =
        op.getTrainingMode() ? getNumber(op.getTrainingMode()) : 0.0;
    if (!training)
      return op.emitOpError() << "has a gradient only for a constant "
                                 "training_mode";
    std::optional<double> ratio =
        op.getRatio() ? getNumber(op.getRatio()) : 0.5;
    if (*training == 0 || ratio == 0.0) {
      vjp.set(0, vjp.cotangent(0));
      return success();
    }
    // train-differentiate adds the mask that an exporter left out.
    if (!op.getMask())
      return op.emitOpError() << "has a gradient in training mode only if its "
                                 "mask is a result";
    Expr g = vjp.wideCotangent(0);
    Expr kept =
        1 - (ratio
                 ? g.number(*ratio)
                 : Expr(vjp, vjp.cast(op.getRatio(), onnx::getElementType(g))));
    vjp.setSummed(0, select(Expr(vjp, op.getMask()), g / kept, 0));
    return success();
  }
};

} // namespace

void amp::train::attachActivationRules(MLIRContext *context) {
  onnx::ClipOp::attachInterface<ClipRule>(*context);
  onnx::DropoutOp::attachInterface<DropoutRule>(*context);
  onnx::PReluOp::attachInterface<PReluRule>(*context);
  attachUnary<onnx::CeluOp, celuGradient>(context);
  attachUnary<onnx::EluOp, eluGradient>(context);
  attachUnary<onnx::GeluOp, geluGradient>(context);
  attachUnary<onnx::HardSigmoidOp, hardSigmoidGradient>(context);
  attachUnary<onnx::HardSwishOp, hardSwishGradient>(context);
  attachUnary<onnx::LeakyReluOp, leakyReluGradient>(context);
  attachUnary<onnx::MishOp, mishGradient>(context);
  attachUnary<onnx::ReluOp, reluGradient>(context);
  attachUnary<onnx::SeluOp, seluGradient>(context);
  attachUnary<onnx::ShrinkOp, shrinkGradient>(context);
  attachUnary<onnx::SigmoidOp, sigmoidGradient>(context);
  attachUnary<onnx::SoftplusOp, softplusGradient>(context);
  attachUnary<onnx::SoftsignOp, softsignGradient>(context);
  attachUnary<onnx::SwishOp, swishGradient>(context);
  attachUnary<onnx::ThresholdedReluOp, thresholdedReluGradient>(context);
}
