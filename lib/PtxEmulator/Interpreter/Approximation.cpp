//===- Approximation.cpp - ex2, lg2, sin, cos, tanh, rsqrt ----------------===//
// The hardware's results are only bounded; these are as near as libm's.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "FloatOps.h"
#include "Rows.h"

using namespace amp::ptx;

namespace {
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Log2 {
  float operator()(float a) const { return std::log2(a); }
};
struct Sin {
  float operator()(float a) const { return std::sin(a); }
};
struct Cos {
  float operator()(float a) const { return std::cos(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};
struct ReciprocalRoot {
  float operator()(float a) const {
    return static_cast<float>(1 / std::sqrt(double(a)));
  }
  double operator()(double a) const { return 1 / std::sqrt(a); }
};
template <typename F, bool Ftz> struct Wrapped {
  template <typename T> T operator()(T a) const {
    return canonical(Ftz ? flush(F()(flush(a))) : F()(a));
  }
};
} // namespace

/// libm is called for active lanes only.
template <typename T, typename F>
static void approximate(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]);
  T *d = context.row<T>(inst.d[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane)
    if (context.isActive(lane))
      d[lane] = F()(a[lane]);
}

template <typename F> static Handler pick(bool ftz) {
  return ftz ? approximate<float, Wrapped<F, true>>
             : approximate<float, Wrapped<F, false>>;
}

static Handler pick(std::string_view base, bool ftz) {
  if (base == "ex2")
    return pick<Exp2>(ftz);
  if (base == "lg2")
    return pick<Log2>(ftz);
  if (base == "sin")
    return pick<Sin>(ftz);
  if (base == "cos")
    return pick<Cos>(ftz);
  if (base == "tanh")
    return pick<Tanh>(ftz);
  return pick<ReciprocalRoot>(ftz);
}

/// Of the high 32 bits, into the high 32 bits; a start for Newton's method.
template <typename F>
static void approximateGrossly(Context &context, const Inst &inst) {
  const double *a = context.row<double>(inst.s[0]);
  double *d = context.row<double>(inst.d[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint64_t bits = bitCast<uint64_t>(a[lane]) >> 32 << 32;
    if (!(bits & 0x7ff0000000000000))
      bits &= uint64_t(1) << 63;
    uint64_t result = bitCast<uint64_t>(F()(bitCast<double>(bits)));
    if (!(result & 0x7ff0000000000000))
      result &= uint64_t(1) << 63;
    d[lane] = bitCast<double>(result >> 32 << 32);
  }
}

void amp::ptx::decodeGrossApproximation(Decoder &decoder) {
  bool known = decoder.modifiers.takeAll({"approx", "ftz"});
  decoder.expectOperands(2, 2);
  if (!known)
    decoder.failUnknown();
  bool isRoot = decoder.modifiers.getBase() == "rsqrt";
  uint32_t from = decoder.sourceRow(1, Type::F64);
  uint32_t to = decoder.destination(0, Type::F64);
  Inst &inst = decoder.emit(isRoot ? approximateGrossly<ReciprocalRoot>
                                   : approximateGrossly<FloatReciprocal>);
  inst.s[0] = from;
  inst.d[0] = to;
}

void amp::ptx::decodeApproximation(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view base = modifiers.getBase();
  Type type = modifiers.takeType();
  bool isHalf = type == Type::F16 || type == Type::BF16 ||
                type == Type::F16x2 || type == Type::BF16x2;
  if (isHalf)
    return decodeHalfArithmetic(decoder, type);
  if (type == Type::F64 && base == "rsqrt" && modifiers.has("ftz"))
    return decodeGrossApproximation(decoder);
  bool ftz = modifiers.take("ftz");
  bool isApproximate = modifiers.take("approx");
  decoder.expectOperands(2, 2);
  Handler handler = pick(base, ftz);
  if (type == Type::F64 && base == "rsqrt")
    handler = approximate<double, Wrapped<ReciprocalRoot, false>>;
  else if (type != Type::F32)
    decoder.failUnknown();
  if (!isApproximate)
    decoder.failUnknown();
  uint32_t from = decoder.sourceRow(1, type);
  uint32_t to = decoder.destination(0, type);
  Inst &inst = decoder.emit(handler);
  inst.s[0] = from;
  inst.d[0] = to;
}
