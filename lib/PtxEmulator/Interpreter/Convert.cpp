//===- Convert.cpp - cvt --------------------------------------------------===//
// Between integers, floats and pairs of halves, with every rounding.
//===----------------------------------------------------------------------===//

#include "HalfFloat.h"
#include "Rows.h"
#include <limits>

using namespace amp::ptx;

namespace {
enum : uint16_t { Saturate = 1, FlushZero = 2, ReluZero = 4, Finite = 8 };
enum class To { Integer, Float };

/// A type of PTX as C++ sees it: V its value, R what its row holds.
template <typename Value, typename Row> struct Form {
  using V = Value;
  using R = Row;
};
using FormU8 = Form<uint8_t, uint16_t>;
using FormS8 = Form<int8_t, int16_t>;
using FormU16 = Form<uint16_t, uint16_t>;
using FormS16 = Form<int16_t, int16_t>;
using FormU32 = Form<uint32_t, uint32_t>;
using FormS32 = Form<int32_t, int32_t>;
using FormU64 = Form<uint64_t, uint64_t>;
using FormS64 = Form<int64_t, int64_t>;
using FormF16 = Form<F16, F16>;
using FormBF16 = Form<BF16, BF16>;
using FormF32 = Form<float, float>;
using FormF64 = Form<double, double>;

template <typename T>
constexpr bool isHalf = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
} // namespace

template <typename D, typename S> static D clampInteger(S value) {
  using Wide = __int128;
  Wide wide = value, least = std::numeric_limits<D>::min(),
       most = std::numeric_limits<D>::max();
  return static_cast<D>(wide < least ? least : wide > most ? most : wide);
}

static double roundToWhole(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Zero:
    return std::trunc(value);
  case Rounding::Down:
    return std::floor(value);
  case Rounding::Up:
    return std::ceil(value);
  default:
    return std::nearbyint(value);
  }
}

/// NaN becomes 0, or the lowest bit pattern with only the top set where either
/// side has 64 bits.
template <typename D, typename S>
static D toInteger(double value, Rounding rounding) {
  if (value != value) {
    if (sizeof(D) == 8 || std::is_same_v<S, double>)
      return static_cast<D>(uint64_t(1) << (8 * sizeof(D) - 1));
    return 0;
  }
  double whole = roundToWhole(value, rounding);
  constexpr double most = static_cast<double>(std::numeric_limits<D>::max());
  constexpr double least = static_cast<double>(std::numeric_limits<D>::min());
  if (whole >= most)
    return std::numeric_limits<D>::max();
  return whole <= least ? std::numeric_limits<D>::min() : static_cast<D>(whole);
}

/// An integer as a double; beyond 53 bits the lowest tells of what is cut off.
template <typename S> static double toSticky(S value) {
  if constexpr (sizeof(S) < 8)
    return static_cast<double>(value);
  bool negative = value < 0;
  uint64_t magnitude =
      negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (magnitude >> 53) {
    bool sticky = magnitude & 0x7ff;
    magnitude = (magnitude & ~uint64_t(0x7ff)) | (sticky ? 0x800 : 0);
  }
  double result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

/// To float or double from what the double (or integer) exactly says.
template <typename D, typename S> static D toFloat(S value, Rounding rounding) {
  D nearest = static_cast<D>(value);
  if (rounding == Rounding::Nearest || !std::isfinite(nearest) ||
      (std::is_same_v<S, double> && std::is_same_v<D, double>))
    return nearest;
  // Compared in more bits than either side has.
  long double exact = static_cast<long double>(value), got = nearest;
  D down = std::nextafter(nearest, -std::numeric_limits<D>::infinity());
  D up = std::nextafter(nearest, std::numeric_limits<D>::infinity());
  bool isAbove = got > exact, isBelow = got < exact;
  bool goDown =
      rounding == Rounding::Down || (rounding == Rounding::Zero && exact > 0);
  bool goUp =
      rounding == Rounding::Up || (rounding == Rounding::Zero && exact < 0);
  return goDown && isAbove ? down : goUp && isBelow ? up : nearest;
}

template <typename T> static double getDouble(T value) {
  if constexpr (isHalf<T>)
    return value.get();
  else
    return static_cast<double>(value);
}

/// The result of a conversion to a float type, with its modifiers.
template <typename D>
static D finish(double value, Rounding rounding, uint16_t flags) {
  if (flags & Saturate)
    value = saturate(value);
  if (flags & ReluZero && value < 0)
    value = 0;
  if constexpr (isHalf<D>) {
    if (flags & Finite && std::abs(value) > D::largest)
      value = std::copysign(D::largest, value);
    return makeHalf<D>(value, rounding);
  } else {
    D result = toFloat<D>(value, rounding);
    if (flags & FlushZero)
      result = flush(result);
    return canonical(result);
  }
}

template <typename Dst, typename Src>
static void convert(Context &context, const Inst &inst) {
  using D = typename Dst::V;
  using S = typename Src::V;
  const auto *a = context.row<typename Src::R>(inst.s[0]);
  Rounding rounding = static_cast<Rounding>(inst.imm & 15);
  bool toWhole = inst.imm & 16;
  uint16_t flags = inst.flags;
  auto one = [=](unsigned lane) -> typename Dst::R {
    S value = static_cast<S>(a[lane]);
    if constexpr (std::is_integral_v<D> && std::is_integral_v<S>) {
      return flags & Saturate ? clampInteger<D>(value) : static_cast<D>(value);
    } else if constexpr (std::is_integral_v<D>) {
      double wide = getDouble(value);
      if (flags & FlushZero)
        wide = flush(static_cast<float>(wide));
      return toInteger<D, S>(wide, rounding);
    } else if constexpr (std::is_integral_v<S>) {
      if constexpr (isHalf<D>)
        return finish<D>(toSticky(value), rounding, flags);
      else
        return flags & Saturate ? saturate(toFloat<D>(value, rounding))
                                : toFloat<D>(value, rounding);
    } else {
      double wide = getDouble(value);
      if constexpr (std::is_same_v<S, float>)
        if (flags & FlushZero)
          wide = flush(value);
      if (toWhole)
        return finish<D>(roundToWhole(wide, rounding), Rounding::Nearest,
                         flags);
      return finish<D>(wide, rounding, flags);
    }
  };
  auto *d = context.row<typename Dst::R>(inst.d[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane)
    if (context.isActive(lane))
      d[lane] = one(lane);
}

namespace {
// The common ones, which the compiler turns into vector instructions.
struct CastToFloat {
  template <typename T> float operator()(T a) const {
    return static_cast<float>(a);
  }
};
struct HalfToFloat {
  template <typename H> float operator()(H a) const { return a.get(); }
};
template <typename H> struct FloatToHalf {
  H operator()(float a) const { return H::make(a); }
};
struct Truncate {
  template <typename T> T operator()(T a) const { return a; }
};
struct FloatToDouble {
  double operator()(float a) const { return a; }
};
} // namespace

static Handler pickFast(Type to, Type from) {
  if (to == Type::F32 && from == Type::S32)
    return unary<float, int32_t, CastToFloat>;
  if (to == Type::F32 && from == Type::U32)
    return unary<float, uint32_t, CastToFloat>;
  if (to == Type::F32 && from == Type::F16)
    return unary<float, F16, HalfToFloat>;
  if (to == Type::F32 && from == Type::BF16)
    return unary<float, BF16, HalfToFloat>;
  if (to == Type::F16 && from == Type::F32)
    return unary<F16, float, FloatToHalf<F16>>;
  if (to == Type::BF16 && from == Type::F32)
    return unary<BF16, float, FloatToHalf<BF16>>;
  if (to == Type::F64 && from == Type::F32)
    return unary<double, float, FloatToDouble>;
  return nullptr;
}

/// Between integers the row's type says how to extend.
static Handler pickFastInteger(Type to, Type from) {
  uint32_t toBytes = getBytes(to);
  if (toBytes == 1 || getBytes(from) == 1)
    return nullptr;
  if (toBytes == 2)
    return getBytes(from) == 2   ? unary<uint16_t, uint16_t, Truncate>
           : getBytes(from) == 4 ? unary<uint16_t, uint32_t, Truncate>
                                 : unary<uint16_t, uint64_t, Truncate>;
  if (toBytes == 4)
    return from == Type::S16     ? unary<int32_t, int16_t, Truncate>
           : getBytes(from) == 2 ? unary<uint32_t, uint16_t, Truncate>
           : getBytes(from) == 4 ? unary<uint32_t, uint32_t, Truncate>
                                 : unary<uint32_t, uint64_t, Truncate>;
  return from == Type::S16     ? unary<int64_t, int16_t, Truncate>
         : from == Type::S32   ? unary<int64_t, int32_t, Truncate>
         : getBytes(from) == 2 ? unary<uint64_t, uint16_t, Truncate>
         : getBytes(from) == 4 ? unary<uint64_t, uint32_t, Truncate>
                               : unary<uint64_t, uint64_t, Truncate>;
}

template <typename Dst> static Handler pickFrom(Type from) {
  switch (from) {
  case Type::U8:
    return convert<Dst, FormU8>;
  case Type::S8:
    return convert<Dst, FormS8>;
  case Type::U16:
    return convert<Dst, FormU16>;
  case Type::S16:
    return convert<Dst, FormS16>;
  case Type::U32:
    return convert<Dst, FormU32>;
  case Type::S32:
    return convert<Dst, FormS32>;
  case Type::U64:
    return convert<Dst, FormU64>;
  case Type::S64:
    return convert<Dst, FormS64>;
  case Type::F16:
    return convert<Dst, FormF16>;
  case Type::BF16:
    return convert<Dst, FormBF16>;
  case Type::F32:
    return convert<Dst, FormF32>;
  case Type::F64:
    return convert<Dst, FormF64>;
  default:
    return nullptr;
  }
}

static Handler pickConversion(Type to, Type from) {
  switch (to) {
  case Type::U8:
    return pickFrom<FormU8>(from);
  case Type::S8:
    return pickFrom<FormS8>(from);
  case Type::U16:
    return pickFrom<FormU16>(from);
  case Type::S16:
    return pickFrom<FormS16>(from);
  case Type::U32:
    return pickFrom<FormU32>(from);
  case Type::S32:
    return pickFrom<FormS32>(from);
  case Type::U64:
    return pickFrom<FormU64>(from);
  case Type::S64:
    return pickFrom<FormS64>(from);
  case Type::F16:
    return pickFrom<FormF16>(from);
  case Type::BF16:
    return pickFrom<FormBF16>(from);
  case Type::F32:
    return pickFrom<FormF32>(from);
  case Type::F64:
    return pickFrom<FormF64>(from);
  default:
    return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Pairs and tf32
//===----------------------------------------------------------------------===//

/// d = {high: s[0], low: s[1]}.
template <typename H>
static void convertPair(Context &context, const Inst &inst) {
  const float *high = context.row<float>(inst.s[0]),
              *low = context.row<float>(inst.s[1]);
  uint16_t flags = inst.flags;
  Rounding rounding = static_cast<Rounding>(inst.imm);
  uint32_t *d = context.row<uint32_t>(inst.d[0]);
  if (flags || rounding != Rounding::Nearest) {
    for (unsigned lane = 0; lane < numLanes; ++lane)
      if (context.isActive(lane))
        d[lane] = finish<H>(low[lane], rounding, flags).bits |
                  uint32_t(finish<H>(high[lane], rounding, flags).bits) << 16;
    return;
  }
  setLanes(context, d, [=](unsigned lane) {
    return H::make(low[lane]).bits | uint32_t(H::make(high[lane]).bits) << 16;
  });
}

static void convertToTf32(Context &context, const Inst &inst) {
  const float *a = context.row<float>(inst.s[0]);
  Rounding rounding = static_cast<Rounding>(inst.imm);
  uint16_t flags = inst.flags;
  float *d = context.row<float>(inst.d[0]);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    double value = flags & ReluZero && a[lane] < 0 ? 0 : a[lane];
    d[lane] = canonical(static_cast<float>(
        roundTo(value, 10, -126, 3.4011621342146535e38, rounding)));
  }
}

static bool decodeSpecial(Decoder &decoder, Type to, Type from,
                          Rounding rounding, uint16_t flags) {
  bool isPair = to == Type::F16x2 || to == Type::BF16x2;
  if (!isPair && to != Type::TF32)
    return false;
  if (from != Type::F32)
    decoder.failUnknown();
  decoder.expectOperands(isPair ? 3 : 2, isPair ? 3 : 2);
  uint32_t a = decoder.sourceRow(1, from);
  uint32_t b = isPair ? decoder.sourceRow(2, from) : 0;
  uint32_t result = decoder.destination(0, to);
  Inst &inst = decoder.emit(!isPair             ? convertToTf32
                            : to == Type::F16x2 ? convertPair<F16>
                                                : convertPair<BF16>);
  inst.d[0] = result;
  inst.s[0] = a;
  inst.s[1] = b;
  inst.imm = static_cast<int64_t>(rounding);
  inst.flags = flags;
  return true;
}

/// .rn to .rp of floats and .rni to .rpi to whole numbers.
static Rounding takeConversionRounding(Modifiers &modifiers, bool &toWhole) {
  static constexpr std::pair<std::string_view, Rounding> whole[] = {
      {"rni", Rounding::Nearest},
      {"rzi", Rounding::Zero},
      {"rmi", Rounding::Down},
      {"rpi", Rounding::Up}};
  toWhole = true;
  for (auto [name, rounding] : whole)
    if (modifiers.take(name))
      return rounding;
  toWhole = false;
  return modifiers.take("rna") ? Rounding::NearestAway
                               : takeRounding(modifiers);
}

void amp::ptx::decodeConvert(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  Type from = modifiers.takeType(), to = modifiers.takeType();
  bool toWhole;
  Rounding rounding = takeConversionRounding(modifiers, toWhole);
  uint16_t flags = (modifiers.take("sat") ? Saturate : 0) |
                   (modifiers.take("ftz") ? FlushZero : 0) |
                   (modifiers.take("relu") ? ReluZero : 0) |
                   (modifiers.take("satfinite") ? Finite : 0);
  if (decodeSpecial(decoder, to, from, rounding, flags))
    return;
  decoder.expectOperands(2, 2);
  Handler handler = pickConversion(to, from);
  if (!handler)
    decoder.failUnknown();
  if (!flags && !toWhole && rounding == Rounding::Nearest)
    if (Handler fast = isFloat(to) || isFloat(from) ? pickFast(to, from)
                                                    : pickFastInteger(to, from))
      handler = fast;
  uint32_t a = decoder.sourceRow(1, from);
  uint32_t result = decoder.destination(0, to);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = result;
  inst.s[0] = a;
  inst.flags = flags;
  inst.imm = static_cast<int64_t>(rounding) | (toWhole ? 16 : 0);
}
