//===- MathFunctions.cpp - Functions of f32 without a math library --------===//
//
// Reductions and polynomials in the style of Moshier's Cephes; erf's are
// minimax fits of our own. f64 goes through libm, lane by lane.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include <cmath>

using namespace mlir;
using namespace amp::cpu;

using FPred = arith::CmpFPredicate;
using IPred = arith::CmpIPredicate;

static constexpr double infinity = INFINITY;

static bool isDouble(Value x) {
  return getElementTypeOrSelf(x.getType()).isF64();
}

/// Calls libm's `name` on each lane.
static Value callLibm(Emitter &e, StringRef name, ArrayRef<Value> operands) {
  ImplicitLocOpBuilder &b = e.b();
  ModuleOp module =
      b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types(operands.size(), b.getF64Type());
    function = func::FuncOp::create(b, name,
                                    b.getFunctionType(types, {b.getF64Type()}));
    function.setPrivate();
  }
  auto call = [&](ArrayRef<Value> arguments) -> Value {
    return func::CallOp::create(b, function, arguments).getResult(0);
  };
  if (llvm::none_of(operands,
                    [](Value v) { return isa<VectorType>(v.getType()); }))
    return call(operands);
  Value result = arith::ConstantOp::create(
      b, b.getZeroAttr(VectorType::get({lanes}, b.getF64Type())));
  for (int64_t lane = 0; lane < lanes; ++lane) {
    SmallVector<Value> arguments;
    for (Value operand : operands)
      arguments.push_back(
          vector::ExtractOp::create(b, e.broadcast(operand), lane));
    result = vector::InsertOp::create(b, call(arguments), result, lane);
  }
  return result;
}

/// 2^n for integer lanes n in [-126, 127].
static Value powerOfTwo(Emitter &e, Value n) {
  return e.bitcast(e.b().getF32Type(), e.shl(e.addi(n, e.i32(127)), e.i32(23)));
}

Value amp::cpu::emitExp(Emitter &e, Value x) {
  if (isDouble(x))
    return callLibm(e, "exp", {x});
  // Beyond these the result is 0 or infinite anyway; a NaN passes.
  x = e.select(e.cmpf(FPred::OGT, x, e.f32(89)), e.f32(89), x);
  x = e.select(e.cmpf(FPred::OLT, x, e.f32(-105)), e.f32(-105), x);
  Value n = e.unary<math::RoundEvenOp>(e.mulf(x, e.f32(1.44269504088896341)));
  Value r = e.fma(n, e.f32(-0.693359375), x);
  r = e.fma(n, e.f32(2.12194440e-4), r);
  Value p =
      e.polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  p = e.fma(p, e.mulf(r, r), e.addf(r, e.f32(1)));
  // NaN has no integer: the factor must stay a number, whichever.
  Value whole = e.select(e.cmpf(FPred::UNO, n, n), e.f32(0), n);
  Value k = e.convert<arith::FPToSIOp>(e.b().getI32Type(), whole);
  // In two steps, so that subnormal results and the last binade come out.
  Value half = e.binary<arith::ShRSIOp>(k, e.i32(1));
  return e.mulf(e.mulf(p, powerOfTwo(e, half)), powerOfTwo(e, e.subi(k, half)));
}

Value amp::cpu::emitLog(Emitter &e, Value x) {
  if (isDouble(x))
    return callLibm(e, "log", {x});
  Type i32 = e.b().getI32Type(), f32 = e.b().getF32Type();
  Value isSmall = e.cmpf(FPred::OLT, x, e.f32(1.17549435e-38));
  Value scaled = e.select(isSmall, e.mulf(x, e.f32(8388608)), x);
  Value bits = e.bitcast(i32, scaled);
  // Mantissa in [sqrt(1/2), sqrt(2)): shift the exponent by that of sqrt(1/2).
  Value shifted = e.subi(bits, e.i32(0x3f3504f3));
  Value exponent = e.binary<arith::ShRSIOp>(shifted, e.i32(23));
  Value mantissa = e.bitcast(f32, e.subi(bits, e.shl(exponent, e.i32(23))));
  exponent = e.select(isSmall, e.subi(exponent, e.i32(23)), exponent);
  Value k = e.convert<arith::SIToFPOp>(f32, exponent);
  Value f = e.subf(mantissa, e.f32(1));
  Value square = e.mulf(f, f);
  Value p =
      e.polynomial(f, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  Value y = e.mulf(p, e.mulf(square, f));
  y = e.fma(k, e.f32(-2.12194440e-4), y);
  y = e.fma(square, e.f32(-0.5), y);
  y = e.fma(k, e.f32(0.693359375), e.addf(f, y));
  y = e.select(e.cmpf(FPred::OEQ, x, e.f32(infinity)), x, y);
  y = e.select(e.cmpf(FPred::OEQ, x, e.f32(0)), e.f32(-infinity), y);
  return e.select(e.cmpf(FPred::OGE, x, e.f32(0)), y, e.f32(NAN));
}

/// The sign bit of `x` on `magnitude`, which is not negative.
static Value withSignOf(Emitter &e, Value magnitude, Value x) {
  Type i32 = e.b().getI32Type();
  Value sign = e.andi(e.bitcast(i32, x), e.i32(-2147483648LL));
  return e.bitcast(e.b().getF32Type(), e.ori(e.bitcast(i32, magnitude), sign));
}

Value amp::cpu::emitTanh(Emitter &e, Value x) {
  if (isDouble(x))
    return callLibm(e, "tanh", {x});
  Value magnitude = e.unary<math::AbsFOp>(x);
  Value square = e.mulf(x, x);
  Value p = e.polynomial(square, {-5.70498872745e-3, 2.06390887954e-2,
                                  -5.37397155531e-2, 1.33314422036e-1,
                                  -3.33332819422e-1});
  Value near = e.fma(e.mulf(p, square), x, x);
  Value grown = emitExp(e, e.addf(magnitude, magnitude));
  Value far = e.subf(e.f32(1), e.divf(e.f32(2), e.addf(grown, e.f32(1))));
  return e.select(e.cmpf(FPred::OLT, magnitude, e.f32(0.625)), near,
                  withSignOf(e, far, x));
}

Value amp::cpu::emitErf(Emitter &e, Value x) {
  if (isDouble(x))
    return callLibm(e, "erf", {x});
  Value magnitude = e.unary<math::AbsFOp>(x);
  Value near =
      e.mulf(x, e.polynomial(e.mulf(x, x),
                             {7.8540265194e-05, -0.00080102477225,
                              0.0051883345102, -0.026853816075, 0.11283585271,
                              -0.3761262584, 1.1283791657}));
  // erfc(x) = exp(q(x - 2)) on [1, 4]; beyond, erf rounds to 1.
  Value clamped =
      e.select(e.cmpf(FPred::OGT, magnitude, e.f32(4)), e.f32(4), magnitude);
  Value q = e.polynomial(e.subf(clamped, e.f32(2)),
                         {0.0001855748948, -0.00071271701307, 0.0035436873953,
                          -0.016487272783, -0.92375307222, -4.418159358,
                          -5.3649410544});
  Value far = e.subf(e.f32(1), emitExp(e, q));
  return e.select(e.cmpf(FPred::OLT, magnitude, e.f32(1)), near,
                  withSignOf(e, far, x));
}

Value amp::cpu::emitSigmoid(Emitter &e, Value x) {
  Type type = getElementTypeOrSelf(x.getType());
  Value one = e.number(type, 1);
  // exp of a negative number only: neither overflow nor a lost subnormal.
  Value grown = emitExp(e, e.unary<arith::NegFOp>(e.unary<math::AbsFOp>(x)));
  Value positive = e.cmpf(FPred::OGE, x, e.number(type, 0));
  return e.divf(e.select(positive, one, grown), e.addf(grown, one));
}

/// sin(x + quarters * pi / 2) in f64: exact to f32 for |x| below 1e9.
static Value emitSine(Emitter &e, Value x, double quarters) {
  Value wide = e.convert<arith::ExtFOp>(e.b().getF64Type(), x);
  Value n =
      e.unary<math::RoundEvenOp>(e.mulf(wide, e.f64(0.63661977236758134308)));
  Value r = e.fma(n, e.f64(-1.5707963267948965580), wide);
  r = e.fma(n, e.f64(-6.1232339957367658861e-17), r);
  Value z = e.mulf(r, r);
  Value sine = e.polynomial(z, {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  sine = e.fma(e.mulf(sine, z), r, r);
  Value cosine = e.polynomial(z, {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                                  -1.0 / 720, 1.0 / 24, -1.0 / 2, 1});
  // The quadrant is (n + quarters) mod 4, kept in floating point.
  Value turn = e.addf(n, e.f64(quarters));
  Value quadrant =
      e.fma(e.unary<math::FloorOp>(e.mulf(turn, e.f64(0.25))), e.f64(-4), turn);
  Value odd = e.ori(e.cmpf(FPred::OEQ, quadrant, e.f64(1)),
                    e.cmpf(FPred::OEQ, quadrant, e.f64(3)));
  Value y = e.select(odd, cosine, sine);
  y = e.select(e.cmpf(FPred::OGE, quadrant, e.f64(2)),
               e.unary<arith::NegFOp>(y), y);
  return e.convert<arith::TruncFOp>(e.b().getF32Type(), y);
}

Value amp::cpu::emitSin(Emitter &e, Value x) {
  return isDouble(x) ? callLibm(e, "sin", {x}) : emitSine(e, x, 0);
}

Value amp::cpu::emitCos(Emitter &e, Value x) {
  return isDouble(x) ? callLibm(e, "cos", {x}) : emitSine(e, x, 1);
}

/// log(x) for positive f64, to about 1e-12; x comes from an f32.
static Value emitWideLog(Emitter &e, Value x) {
  Type i64 = e.b().getI64Type(), f64 = e.b().getF64Type();
  Value bits = e.bitcast(i64, x);
  Value shifted = e.subi(bits, e.i64(0x3fe6a09e667f3bcdLL));
  Value exponent = e.binary<arith::ShRSIOp>(shifted, e.i64(52));
  Value m = e.bitcast(f64, e.subi(bits, e.shl(exponent, e.i64(52))));
  Value k = e.convert<arith::SIToFPOp>(f64, exponent);
  Value s = e.divf(e.subf(m, e.f64(1)), e.addf(m, e.f64(1)));
  Value p =
      e.polynomial(e.mulf(s, s), {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                  1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1.0});
  return e.fma(k, e.f64(0.69314718055994530942), e.mulf(e.addf(s, s), p));
}

/// exp(x) in f64 to about 1e-11, for |x| <= 200 or NaN.
static Value emitWideExp(Emitter &e, Value x) {
  Type i64 = e.b().getI64Type(), f64 = e.b().getF64Type();
  Value n = e.unary<math::RoundEvenOp>(e.mulf(x, e.f64(1.44269504088896341)));
  Value r = e.fma(n, e.f64(-0.69314718055994530942), x);
  Value p =
      e.polynomial(r, {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                       1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1});
  Value whole = e.select(e.cmpf(FPred::UNO, n, n), e.f64(0), n);
  Value k = e.convert<arith::FPToSIOp>(i64, whole);
  return e.mulf(p, e.bitcast(f64, e.shl(e.addi(k, e.i64(1023)), e.i64(52))));
}

/// |x|^y in f64, clamped to what f32 tells from 0 and infinity.
static Value emitPowMagnitude(Emitter &e, Value magnitude, Value y) {
  Value log = emitWideLog(e, magnitude);
  log =
      e.select(e.cmpf(FPred::OEQ, magnitude, e.f64(0)), e.f64(-infinity), log);
  log = e.select(e.cmpf(FPred::OEQ, magnitude, e.f64(infinity)),
                 e.f64(infinity), log);
  log = e.select(e.cmpf(FPred::UNO, magnitude, magnitude), magnitude, log);
  Value t = e.mulf(y, log);
  t = e.select(e.cmpf(FPred::OGT, t, e.f64(200)), e.f64(200), t);
  t = e.select(e.cmpf(FPred::OLT, t, e.f64(-200)), e.f64(-200), t);
  return emitWideExp(e, t);
}

/// IEEE 754's pow: the cases of C's annex F.
Value amp::cpu::emitPow(Emitter &e, Value x, Value y) {
  if (isDouble(x))
    return callLibm(e, "pow", {x, y});
  Type f64 = e.b().getF64Type();
  Value wideX = e.convert<arith::ExtFOp>(f64, x);
  Value wideY = e.convert<arith::ExtFOp>(f64, y);
  Value magnitude = e.unary<math::AbsFOp>(wideX);
  Value result = emitPowMagnitude(e, magnitude, wideY);
  Value half = e.mulf(wideY, e.f64(0.5));
  Value isWhole = e.cmpf(FPred::OEQ, e.unary<math::FloorOp>(wideY), wideY);
  Value isOdd =
      e.andi(isWhole, e.cmpf(FPred::ONE, e.unary<math::FloorOp>(half), half));
  Value signBit =
      e.cmpi(IPred::slt, e.bitcast(e.b().getI64Type(), wideX), e.i64(0));
  result =
      e.select(e.andi(signBit, isOdd), e.unary<arith::NegFOp>(result), result);
  Value hasNoRoot =
      e.andi(e.andi(e.cmpf(FPred::OLT, wideX, e.f64(0)),
                    e.cmpf(FPred::OLT, magnitude, e.f64(infinity))),
             e.cmpf(FPred::ONE, e.unary<math::FloorOp>(wideY), wideY));
  result = e.select(hasNoRoot, e.f64(NAN), result);
  // 1 to any power, and any number to the power 0; -1 to an infinite one.
  Value isOne = e.ori(e.cmpf(FPred::OEQ, wideX, e.f64(1)),
                      e.cmpf(FPred::OEQ, wideY, e.f64(0)));
  Value unit =
      e.andi(e.cmpf(FPred::OEQ, magnitude, e.f64(1)),
             e.cmpf(FPred::OEQ, e.unary<math::AbsFOp>(wideY), e.f64(infinity)));
  result = e.select(e.ori(isOne, unit), e.f64(1), result);
  return e.convert<arith::TruncFOp>(e.b().getF32Type(), result);
}

/// Exact, so that the way through f64 rounds nothing.
Value amp::cpu::emitFmod(Emitter &e, Value x, Value y) {
  if (isDouble(x))
    return callLibm(e, "fmod", {x, y});
  Type f64 = e.b().getF64Type();
  Value wide = callLibm(
      e, "fmod",
      {e.convert<arith::ExtFOp>(f64, x), e.convert<arith::ExtFOp>(f64, y)});
  return e.convert<arith::TruncFOp>(e.b().getF32Type(), wide);
}
