//===- Unary.cpp - Gradient rules of elementary functions -----------------===//
//
// g is the cotangent of y = f(x). Formulas of one rounding stay in a half type,
// the others are float32 inside.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

namespace {

Expr narrowG(Vjp &vjp) { return {vjp, vjp.cotangent(0)}; }
Expr narrowX(Vjp &vjp) { return {vjp, vjp.operand(0)}; }
Expr narrowY(Vjp &vjp) { return {vjp, vjp.result(0)}; }
Expr wideG(Vjp &vjp) { return vjp.wideCotangent(0); }
Expr wideX(Vjp &vjp) { return vjp.wideOperand(0); }
Expr wideY(Vjp &vjp) { return vjp.wideResult(0); }

/// g sign(x), 0 at 0 even if g is infinite
Expr absGradient(onnx::AbsOp, Vjp &vjp) {
  Expr x = narrowX(vjp);
  return select(equal(x, 0), 0, narrowG(vjp) * x.apply("Sign"));
}

/// -g
Expr negGradient(onnx::NegOp, Vjp &vjp) { return -narrowG(vjp); }

/// -g y y
Expr reciprocalGradient(onnx::ReciprocalOp, Vjp &vjp) {
  Expr y = wideY(vjp);
  return -(wideG(vjp) * y * y);
}

/// g / 2y; infinite at 0
Expr sqrtGradient(onnx::SqrtOp, Vjp &vjp) {
  return narrowG(vjp) / (2 * narrowY(vjp));
}

/// g y
Expr expGradient(onnx::ExpOp, Vjp &vjp) { return narrowG(vjp) * narrowY(vjp); }

/// g / x
Expr logGradient(onnx::LogOp, Vjp &vjp) { return narrowG(vjp) / narrowX(vjp); }

/// g 2/sqrt(pi) e^(-x x)
Expr erfGradient(onnx::ErfOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) * (2 * llvm::numbers::inv_sqrtpi * exp(-(x * x)));
}

/// g cos x
Expr sinGradient(onnx::SinOp, Vjp &vjp) {
  return wideG(vjp) * wideX(vjp).apply("Cos");
}

/// -g sin x
Expr cosGradient(onnx::CosOp, Vjp &vjp) {
  return -(wideG(vjp) * wideX(vjp).apply("Sin"));
}

/// g (1 + y y)
Expr tanGradient(onnx::TanOp, Vjp &vjp) {
  Expr y = wideY(vjp);
  return wideG(vjp) * (1 + y * y);
}

/// g / sqrt((1 - x)(1 + x))
Expr asinGradient(onnx::AsinOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) / sqrt((1 - x) * (1 + x));
}

/// -g / sqrt((1 - x)(1 + x))
Expr acosGradient(onnx::AcosOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return -(wideG(vjp) / sqrt((1 - x) * (1 + x)));
}

/// g / (1 + x x)
Expr atanGradient(onnx::AtanOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) / (1 + x * x);
}

/// g cosh x
Expr sinhGradient(onnx::SinhOp, Vjp &vjp) {
  return wideG(vjp) * wideX(vjp).apply("Cosh");
}

/// g sinh x
Expr coshGradient(onnx::CoshOp, Vjp &vjp) {
  return wideG(vjp) * wideX(vjp).apply("Sinh");
}

/// g (1 - y y)
Expr tanhGradient(onnx::TanhOp, Vjp &vjp) {
  Expr y = wideY(vjp);
  return wideG(vjp) * (1 - y * y);
}

/// g / sqrt(x x + 1)
Expr asinhGradient(onnx::AsinhOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) / sqrt(x * x + 1);
}

/// g / sqrt((x - 1)(x + 1))
Expr acoshGradient(onnx::AcoshOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) / sqrt((x - 1) * (x + 1));
}

/// g / ((1 - x)(1 + x))
Expr atanhGradient(onnx::AtanhOp, Vjp &vjp) {
  Expr x = wideX(vjp);
  return wideG(vjp) / ((1 - x) * (1 + x));
}

} // namespace

void amp::train::attachUnaryRules(MLIRContext *context) {
  attachUnary<onnx::AbsOp, absGradient>(context);
  attachUnary<onnx::AcosOp, acosGradient>(context);
  attachUnary<onnx::AcoshOp, acoshGradient>(context);
  attachUnary<onnx::AsinOp, asinGradient>(context);
  attachUnary<onnx::AsinhOp, asinhGradient>(context);
  attachUnary<onnx::AtanOp, atanGradient>(context);
  attachUnary<onnx::AtanhOp, atanhGradient>(context);
  attachUnary<onnx::CosOp, cosGradient>(context);
  attachUnary<onnx::CoshOp, coshGradient>(context);
  attachUnary<onnx::ErfOp, erfGradient>(context);
  attachUnary<onnx::ExpOp, expGradient>(context);
  attachUnary<onnx::LogOp, logGradient>(context);
  attachUnary<onnx::NegOp, negGradient>(context);
  attachUnary<onnx::ReciprocalOp, reciprocalGradient>(context);
  attachUnary<onnx::SinOp, sinGradient>(context);
  attachUnary<onnx::SinhOp, sinhGradient>(context);
  attachUnary<onnx::SqrtOp, sqrtGradient>(context);
  attachUnary<onnx::TanOp, tanGradient>(context);
  attachUnary<onnx::TanhOp, tanhGradient>(context);
}
