//===- Float.cpp - Arithmetic of f32 and f64 ------------------------------===//
// Rounding to nearest here; other modes are in Rounded.cpp.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatOps.h"
#include "Rounded.h"
#include "Rows.h"

using namespace amp::ptx;

namespace {
/// An operation with .ftz and .sat around it.
template <typename F, bool Ftz, bool Sat> struct Wrapped {
  template <typename T, typename... U> T operator()(T a, U... rest) const {
    T result = Ftz ? flush(F()(flush(a), flush(rest)...)) : F()(a, rest...);
    return Sat ? saturate(result) : canonical(result);
  }
};
/// Bits pass through.
template <typename F, bool Ftz> struct SignOnly {
  template <typename T> T operator()(T a) const {
    return F()(Ftz ? flush(a) : a);
  }
};
} // namespace

template <typename F> static Handler pickUnary(Type type, bool ftz) {
  if (type == Type::F64)
    return unary<double, double, Wrapped<F, false, false>>;
  return ftz ? unary<float, float, Wrapped<F, true, false>>
             : unary<float, float, Wrapped<F, false, false>>;
}

template <typename F> static Handler pickSign(Type type, bool ftz) {
  if (type == Type::F64)
    return unary<double, double, SignOnly<F, false>>;
  return ftz ? unary<float, float, SignOnly<F, true>>
             : unary<float, float, SignOnly<F, false>>;
}

template <typename F>
static Handler pickBinary(Type type, bool ftz, bool sat = false) {
  if (type == Type::F64)
    return binary<double, double, double, Wrapped<F, false, false>>;
  if (sat)
    return ftz ? binary<float, float, float, Wrapped<F, true, true>>
               : binary<float, float, float, Wrapped<F, false, true>>;
  return ftz ? binary<float, float, float, Wrapped<F, true, false>>
             : binary<float, float, float, Wrapped<F, false, false>>;
}

static Handler pickFma(Type type, bool ftz, bool sat) {
  if (type == Type::F64)
    return ternary<double, double, double, double,
                   Wrapped<FloatFma, false, false>>;
  if (sat)
    return ftz ? ternary<float, float, float, float,
                         Wrapped<FloatFma, true, true>>
               : ternary<float, float, float, float,
                         Wrapped<FloatFma, false, true>>;
  return ftz ? ternary<float, float, float, float,
                       Wrapped<FloatFma, true, false>>
             : ternary<float, float, float, float,
                       Wrapped<FloatFma, false, false>>;
}

static Handler pickMinMax(Modifiers &modifiers, Type type, bool ftz,
                          bool isMax) {
  bool nan = modifiers.take("NaN");
  if (modifiers.take("xorsign")) {
    modifiers.take("abs");
    if (nan)
      return isMax ? pickBinary<XorSign<FloatMaxNaN>>(type, ftz)
                   : pickBinary<XorSign<FloatMinNaN>>(type, ftz);
    return isMax ? pickBinary<XorSign<FloatMax>>(type, ftz)
                 : pickBinary<XorSign<FloatMin>>(type, ftz);
  }
  if (nan)
    return isMax ? pickBinary<FloatMaxNaN>(type, ftz)
                 : pickBinary<FloatMinNaN>(type, ftz);
  return isMax ? pickBinary<FloatMax>(type, ftz)
               : pickBinary<FloatMin>(type, ftz);
}

static Handler pickNearest(std::string_view base, Type type, bool ftz,
                           bool sat) {
  if (base == "add")
    return pickBinary<FloatAdd>(type, ftz, sat);
  if (base == "sub")
    return pickBinary<FloatSub>(type, ftz, sat);
  if (base == "mul")
    return pickBinary<FloatMul>(type, ftz, sat);
  if (base == "div")
    return pickBinary<FloatDiv>(type, ftz);
  if (base == "fma" || base == "mad")
    return pickFma(type, ftz, sat);
  if (base == "sqrt")
    return pickUnary<FloatSqrt>(type, ftz);
  if (base == "rcp")
    return pickUnary<FloatReciprocal>(type, ftz);
  if (base == "abs")
    return pickSign<FloatAbsolute>(type, ftz);
  if (base == "neg")
    return pickSign<FloatNegate>(type, ftz);
  return nullptr;
}

static void emitFloat(Decoder &decoder, Handler handler, Type type) {
  if (!handler)
    decoder.failUnknown();
  size_t count = decoder.getNumOperands() - 1;
  uint32_t sources[3] = {};
  for (size_t i = 0; i < count; ++i)
    sources[i] = decoder.sourceRow(i + 1, type);
  uint32_t to = decoder.destination(0, type);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  std::copy(sources, sources + 3, inst.s);
}

static size_t countOperands(std::string_view base) {
  if (base == "fma" || base == "mad")
    return 4;
  bool isUnary =
      base == "sqrt" || base == "rcp" || base == "abs" || base == "neg";
  return isUnary ? 2 : 3;
}

void amp::ptx::decodeFloatArithmetic(Decoder &decoder, Type type) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view base = modifiers.getBase();
  if (type == Type::F64 && base == "rcp" && modifiers.has("approx"))
    return decodeGrossApproximation(decoder);
  bool ftz = modifiers.take("ftz"), sat = modifiers.take("sat");
  if (type == Type::F64 && (ftz || sat))
    decoder.failUnknown();
  Handler handler = nullptr;
  Rounding rounding = takeRounding(modifiers);
  if (base == "div" || base == "rcp" || base == "sqrt")
    modifiers.take("approx") || modifiers.take("full");
  if (base == "min" || base == "max")
    handler = pickMinMax(modifiers, type, ftz, base == "max");
  else if (base == "copysign")
    handler = type == Type::F64 ? binary<double, double, double, CopySign>
                                : binary<float, float, float, CopySign>;
  else if (rounding == Rounding::Nearest)
    handler = pickNearest(base, type, ftz, sat);
  else
    handler = pickRounded(base, type, ftz, sat);
  size_t count = countOperands(base);
  decoder.expectOperands(count, count);
  emitFloat(decoder, handler, type);
  decoder.getProgram().code.back().flags = static_cast<uint16_t>(rounding);
}

//===----------------------------------------------------------------------===//
// testp
//===----------------------------------------------------------------------===//

enum FloatClass : int64_t {
  Finite,
  Infinite,
  Number,
  NotANumber,
  Normal,
  Subnormal
};

template <typename T>
static void testClass(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]);
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    int kind = std::fpclassify(a[lane]);
    bool holds = false;
    switch (inst.imm) {
    case Finite:
      holds = kind != FP_NAN && kind != FP_INFINITE;
      break;
    case Infinite:
      holds = kind == FP_INFINITE;
      break;
    case Number:
      holds = kind != FP_NAN;
      break;
    case NotANumber:
      holds = kind == FP_NAN;
      break;
    case Normal:
      holds = kind == FP_NORMAL || kind == FP_ZERO;
      break;
    case Subnormal:
      holds = kind == FP_SUBNORMAL;
      break;
    }
    bits |= uint32_t(holds) << lane;
  }
  context.setPredicate(inst.d[0], bits);
}

void amp::ptx::decodeTestClass(Decoder &decoder) {
  static constexpr std::string_view names[] = {
      "finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  Type type = decoder.modifiers.takeType();
  int64_t kind = -1;
  for (int64_t i = 0; i < 6; ++i)
    if (decoder.modifiers.take(names[i]))
      kind = i;
  decoder.expectOperands(2, 2);
  if (kind < 0 || (type != Type::F32 && type != Type::F64))
    decoder.failUnknown();
  uint32_t from = decoder.sourceRow(1, type);
  Inst &inst =
      decoder.emit(type == Type::F32 ? testClass<float> : testClass<double>);
  inst.s[0] = from;
  inst.d[0] = decoder.predicateDestination(decoder.operand(0));
  inst.imm = kind;
}
