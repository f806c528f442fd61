//===- Half.cpp - Arithmetic of f16 and bf16, alone and in pairs ----------===//
// Computed in float and rounded once (float has more than twice the bits).
//===----------------------------------------------------------------------===//

#include "HalfFloat.h"
#include "Rows.h"

using namespace amp::ptx;

double amp::ptx::roundTo(double value, int mantissaBits, int minExponent,
                         double largest, Rounding rounding) {
  if (!std::isfinite(value) || value == 0)
    return value;
  int exponent = std::max(std::ilogb(value), minExponent);
  double scaled = std::ldexp(value, mantissaBits - exponent);
  double whole;
  switch (rounding) {
  case Rounding::Nearest:
    whole = std::nearbyint(scaled);
    break;
  case Rounding::NearestAway:
    whole = std::round(scaled);
    break;
  case Rounding::Zero:
    whole = std::trunc(scaled);
    break;
  case Rounding::Down:
    whole = std::floor(scaled);
    break;
  case Rounding::Up:
    whole = std::ceil(scaled);
    break;
  }
  double result = std::ldexp(whole, exponent - mantissaBits);
  if (std::abs(result) <= largest)
    return std::copysign(result, value);
  bool stays = rounding == Rounding::Zero ||
               (rounding == Rounding::Down && value > 0) ||
               (rounding == Rounding::Up && value < 0);
  return std::copysign(stays ? largest : INFINITY, value);
}

namespace {
template <typename F> struct InFloat {
  template <typename H, typename... U> H operator()(H a, U... rest) const {
    return H::make(F()(a.get(), rest.get()...));
  }
};
template <typename F> struct Saturated {
  template <typename H, typename... U> H operator()(H a, U... rest) const {
    return H::make(saturate(F()(a, rest...).get()));
  }
};
template <typename F> struct Relu {
  template <typename H, typename... U> H operator()(H a, U... rest) const {
    float value = F()(a, rest...).get();
    return H::make(value < 0 ? 0 : value);
  }
};
template <typename F> struct Flushed {
  template <typename H> static H flushHalf(H a) {
    return (a.bits & 0x7c00) ? a : H{static_cast<uint16_t>(a.bits & 0x8000)};
  }
  template <typename H, typename... U> H operator()(H a, U... rest) const {
    return flushHalf(F()(flushHalf(a), flushHalf(rest)...));
  }
};
struct HalfFma {
  template <typename H> H operator()(H a, H b, H c) const {
    return fmaHalf(a, b, c);
  }
};
struct HalfNegate {
  template <typename H> H operator()(H a) const {
    return {static_cast<uint16_t>(a.bits ^ 0x8000)};
  }
};
struct HalfAbsolute {
  template <typename H> H operator()(H a) const {
    return {static_cast<uint16_t>(a.bits & 0x7fff)};
  }
};
struct Exp2 {
  float operator()(float a) const { return std::exp2(a); }
};
struct Tanh {
  float operator()(float a) const { return std::tanh(a); }
};
} // namespace

/// N halves in the row: 32, or 64 of pairs.
template <typename H, typename F, unsigned Count, unsigned N>
static void half(Context &context, const Inst &inst) {
  H *d = context.row<H>(inst.d[0]);
  const H *a = context.row<H>(inst.s[0]), *b = context.row<H>(inst.s[1]),
          *c = context.row<H>(inst.s[2]);
  for (unsigned i = 0; i < N; ++i) {
    if (!context.isActive(i / (N / numLanes)))
      continue;
    if constexpr (Count == 1)
      d[i] = F()(a[i]);
    else if constexpr (Count == 2)
      d[i] = F()(a[i], b[i]);
    else
      d[i] = F()(a[i], b[i], c[i]);
  }
}

template <typename F, unsigned Count> static Handler pickType(Type type) {
  switch (type) {
  case Type::F16:
    return half<F16, F, Count, 32>;
  case Type::F16x2:
    return half<F16, F, Count, 64>;
  case Type::BF16:
    return half<BF16, F, Count, 32>;
  default:
    return half<BF16, F, Count, 64>;
  }
}

template <typename F, unsigned Count>
static Handler pickHalf(Modifiers &modifiers, Type type) {
  bool ftz = modifiers.take("ftz");
  if (modifiers.take("sat"))
    return ftz ? pickType<Flushed<Saturated<F>>, Count>(type)
               : pickType<Saturated<F>, Count>(type);
  if (modifiers.take("relu"))
    return ftz ? nullptr : pickType<Relu<F>, Count>(type);
  return ftz ? pickType<Flushed<F>, Count>(type) : pickType<F, Count>(type);
}

template <typename F>
static Handler pickMinMax(Modifiers &modifiers, Type type) {
  if (modifiers.take("xorsign")) {
    modifiers.take("abs");
    return pickHalf<InFloat<XorSign<F>>, 2>(modifiers, type);
  }
  return pickHalf<InFloat<F>, 2>(modifiers, type);
}

static Handler pick(Modifiers &modifiers, Type type, size_t &count) {
  std::string_view base = modifiers.getBase();
  count = 3;
  if (base == "add")
    return pickHalf<InFloat<FloatAdd>, 2>(modifiers, type);
  if (base == "sub")
    return pickHalf<InFloat<FloatSub>, 2>(modifiers, type);
  if (base == "mul")
    return pickHalf<InFloat<FloatMul>, 2>(modifiers, type);
  if (base == "max")
    return modifiers.take("NaN") ? pickMinMax<FloatMaxNaN>(modifiers, type)
                                 : pickMinMax<FloatMax>(modifiers, type);
  if (base == "min")
    return modifiers.take("NaN") ? pickMinMax<FloatMinNaN>(modifiers, type)
                                 : pickMinMax<FloatMin>(modifiers, type);
  count = 4;
  if (base == "fma")
    return pickHalf<HalfFma, 3>(modifiers, type);
  count = 2;
  if (base == "neg")
    return pickHalf<HalfNegate, 1>(modifiers, type);
  if (base == "abs")
    return pickHalf<HalfAbsolute, 1>(modifiers, type);
  modifiers.take("approx");
  if (base == "ex2")
    return pickHalf<InFloat<Exp2>, 1>(modifiers, type);
  if (base == "tanh")
    return pickHalf<InFloat<Tanh>, 1>(modifiers, type);
  return nullptr;
}

void amp::ptx::decodeHalfArithmetic(Decoder &decoder, Type type) {
  decoder.modifiers.take("rn");
  size_t count;
  Handler handler = pick(decoder.modifiers, type, count);
  if (!handler)
    decoder.failUnknown();
  decoder.expectOperands(count, count);
  uint32_t sources[3] = {};
  for (size_t i = 0; i + 1 < count; ++i)
    sources[i] = decoder.sourceRow(i + 1, type);
  uint32_t to = decoder.destination(0, type);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  std::copy(sources, sources + 3, inst.s);
}
