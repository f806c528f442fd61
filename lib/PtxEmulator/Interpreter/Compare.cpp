//===- Compare.cpp - setp, set, selp, slct --------------------------------===//
// Comparisons of every type, with the logical forms, and selections.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "HalfFloat.h"
#include "Rows.h"
#include <algorithm>

using namespace amp::ptx;

namespace {
enum class Comparison : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
enum class Logic : uint8_t { None, And, Or, Xor };
} // namespace

static constexpr std::string_view comparisonNames[] = {
    "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
    "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
/// Of unsigned integers.
static constexpr std::pair<std::string_view, Comparison> otherNames[] = {
    {"lo", Comparison::Lt},
    {"ls", Comparison::Le},
    {"hi", Comparison::Gt},
    {"hs", Comparison::Ge}};

template <typename T> static bool isUnordered(T a, T b) {
  return a != a || b != b;
}

template <typename Get>
static uint32_t compareLanes(Comparison comparison, Get a, Get b) {
  switch (comparison) {
  case Comparison::Eq:
    return collectLanes([=](unsigned l) { return a(l) == b(l); });
  case Comparison::Ne: // ordered: false for NaN
    return collectLanes(
        [=](unsigned l) { return a(l) != b(l) && !isUnordered(a(l), b(l)); });
  case Comparison::Lt:
    return collectLanes([=](unsigned l) { return a(l) < b(l); });
  case Comparison::Le:
    return collectLanes([=](unsigned l) { return a(l) <= b(l); });
  case Comparison::Gt:
    return collectLanes([=](unsigned l) { return a(l) > b(l); });
  case Comparison::Ge:
    return collectLanes([=](unsigned l) { return a(l) >= b(l); });
  case Comparison::Equ:
    return collectLanes(
        [=](unsigned l) { return a(l) == b(l) || isUnordered(a(l), b(l)); });
  case Comparison::Neu:
    return collectLanes([=](unsigned l) { return !(a(l) == b(l)); });
  case Comparison::Ltu:
    return collectLanes([=](unsigned l) { return !(a(l) >= b(l)); });
  case Comparison::Leu:
    return collectLanes([=](unsigned l) { return !(a(l) > b(l)); });
  case Comparison::Gtu:
    return collectLanes([=](unsigned l) { return !(a(l) <= b(l)); });
  case Comparison::Geu:
    return collectLanes([=](unsigned l) { return !(a(l) < b(l)); });
  case Comparison::Num:
    return collectLanes([=](unsigned l) { return !isUnordered(a(l), b(l)); });
  case Comparison::Nan:
    return collectLanes([=](unsigned l) { return isUnordered(a(l), b(l)); });
  }
  return 0;
}

namespace {
/// Lane l of a row, as a number.
template <typename T, bool Ftz> struct Plain {
  const T *row;
  T operator()(unsigned lane) const {
    if constexpr (Ftz)
      return flush(row[lane]);
    else
      return row[lane];
  }
};
template <typename H> struct HalfLane {
  const H *row;
  float operator()(unsigned lane) const { return row[lane].get(); }
};
/// Low (0) or high (1) half of a pair.
template <typename H, unsigned Which> struct PairLane {
  const H *row;
  float operator()(unsigned lane) const { return row[2 * lane + Which].get(); }
};
} // namespace

/// Compares rows s[0] and s[1].
template <typename Get>
static uint32_t compareRows(Context &context, const Inst &inst) {
  using Row = std::remove_reference_t<decltype(*Get{}.row)>;
  Get a{context.row<std::remove_const_t<Row>>(inst.s[0])};
  Get b{context.row<std::remove_const_t<Row>>(inst.s[1])};
  return compareLanes(static_cast<Comparison>(inst.imm & 15), a, b);
}

static uint32_t combine(Context &context, const Inst &inst, uint32_t bits) {
  uint32_t other = context.predicates[inst.s[2]];
  switch (static_cast<Logic>(inst.imm >> 4)) {
  case Logic::And:
    return bits & other;
  case Logic::Or:
    return bits | other;
  case Logic::Xor:
    return bits ^ other;
  default:
    return bits;
  }
}

/// d[0] the result; d[1] that of the opposite comparison.
template <typename Get>
static void setPredicate(Context &context, const Inst &inst) {
  uint32_t bits = compareRows<Get>(context, inst);
  uint32_t result = combine(context, inst, bits);
  uint32_t opposite = combine(context, inst, ~bits);
  context.setPredicate(inst.d[0], result);
  if (inst.d[1])
    context.setPredicate(inst.d[1], opposite);
}

template <typename H>
static void setPredicatePair(Context &context, const Inst &inst) {
  uint32_t low = compareRows<PairLane<H, 0>>(context, inst);
  uint32_t high = compareRows<PairLane<H, 1>>(context, inst);
  low = combine(context, inst, low);
  high = combine(context, inst, high);
  context.setPredicate(inst.d[0], low);
  if (inst.d[1])
    context.setPredicate(inst.d[1], high);
}

/// set: flags 0 gives all ones, 1 gives 1.0 in f32, 2 in the halves of
/// inst.s[3].
template <typename Get> static void setRow(Context &context, const Inst &inst) {
  uint32_t bits = combine(context, inst, compareRows<Get>(context, inst));
  uint32_t yes = static_cast<uint32_t>(inst.s[3]);
  if (inst.flags == 2)
    setLanes(context, context.row<uint16_t>(inst.d[0]), [=](unsigned lane) {
      return static_cast<uint16_t>(bits >> lane & 1 ? yes : 0);
    });
  else
    setLanes(context, context.row<uint32_t>(inst.d[0]),
             [=](unsigned lane) { return bits >> lane & 1 ? yes : 0; });
}

template <typename H>
static void setRowPair(Context &context, const Inst &inst) {
  uint32_t low =
      combine(context, inst, compareRows<PairLane<H, 0>>(context, inst));
  uint32_t high =
      combine(context, inst, compareRows<PairLane<H, 1>>(context, inst));
  uint32_t yes = static_cast<uint32_t>(inst.s[3]);
  setLanes(context, context.row<uint32_t>(inst.d[0]), [=](unsigned lane) {
    return (low >> lane & 1 ? yes & 0xffff : 0) |
           (high >> lane & 1 ? yes & 0xffff0000 : 0);
  });
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

template <template <typename> class H>
static Handler pick(Type type, bool ftz) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return H<Plain<uint16_t, false>>::handler;
  case Type::S16:
    return H<Plain<int16_t, false>>::handler;
  case Type::B32:
  case Type::U32:
    return H<Plain<uint32_t, false>>::handler;
  case Type::S32:
    return H<Plain<int32_t, false>>::handler;
  case Type::B64:
  case Type::U64:
    return H<Plain<uint64_t, false>>::handler;
  case Type::S64:
    return H<Plain<int64_t, false>>::handler;
  case Type::F32:
    return ftz ? H<Plain<float, true>>::handler
               : H<Plain<float, false>>::handler;
  case Type::F64:
    return H<Plain<double, false>>::handler;
  case Type::F16:
    return H<HalfLane<F16>>::handler;
  case Type::BF16:
    return H<HalfLane<BF16>>::handler;
  default:
    return nullptr;
  }
}

namespace {
template <typename Get> struct ForPredicate {
  static constexpr Handler handler = setPredicate<Get>;
};
template <typename Get> struct ForRow {
  static constexpr Handler handler = setRow<Get>;
};
} // namespace

static int64_t takeComparison(Decoder &decoder) {
  std::string_view name = decoder.modifiers.takeFirst();
  int64_t comparison = -1;
  for (int64_t i = 0; i < 14; ++i)
    if (comparisonNames[i] == name)
      comparison = i;
  for (auto [other, value] : otherNames)
    if (other == name)
      comparison = static_cast<int64_t>(value);
  if (comparison < 0)
    decoder.failUnknown();
  Logic logic = decoder.modifiers.take("and")   ? Logic::And
                : decoder.modifiers.take("or")  ? Logic::Or
                : decoder.modifiers.take("xor") ? Logic::Xor
                                                : Logic::None;
  return comparison | static_cast<int64_t>(logic) << 4;
}

static void decodeSetPredicate(Decoder &decoder) {
  int64_t how = takeComparison(decoder);
  bool ftz = decoder.modifiers.take("ftz");
  Type type = decoder.modifiers.takeType();
  size_t extra = how >> 4 ? 1 : 0;
  // The second destination, if any, is a predicate before the sources.
  bool two = decoder.getNumOperands() == 4 + extra;
  decoder.expectOperands(3 + extra + two, 3 + extra + two);
  size_t at = 1 + two;
  uint32_t a = decoder.sourceRow(at, type), b = decoder.sourceRow(at + 1, type);
  uint32_t other = extra ? decoder.predicateSource(decoder.operand(at + 2)) : 0;
  uint32_t first = decoder.predicateDestination(decoder.operand(0));
  uint32_t second = two ? decoder.predicateDestination(decoder.operand(1)) : 0;
  Handler handler = type == Type::F16x2    ? setPredicatePair<F16>
                    : type == Type::BF16x2 ? setPredicatePair<BF16>
                                           : pick<ForPredicate>(type, ftz);
  if (!handler)
    decoder.failUnknown();
  Inst &inst = decoder.emit(handler);
  inst.d[0] = first;
  inst.d[1] = second;
  inst.s[0] = a;
  inst.s[1] = b;
  inst.s[2] = other;
  inst.imm = how;
}

/// What "true" is in a result type.
static uint32_t getTrue(Type type) {
  switch (type) {
  case Type::F32:
    return 0x3f800000;
  case Type::F16:
    return 0x3c00;
  case Type::BF16:
    return 0x3f80;
  case Type::F16x2:
    return 0x3c003c00;
  case Type::BF16x2:
    return 0x3f803f80;
  case Type::U16:
  case Type::S16:
    return 0xffff;
  default:
    return 0xffffffff;
  }
}

static void decodeSet(Decoder &decoder) {
  int64_t how = takeComparison(decoder);
  bool ftz = decoder.modifiers.take("ftz");
  Type type = decoder.modifiers.takeType(), to = decoder.modifiers.takeType();
  size_t extra = how >> 4 ? 1 : 0;
  decoder.expectOperands(3 + extra, 3 + extra);
  uint32_t a = decoder.sourceRow(1, type), b = decoder.sourceRow(2, type);
  uint32_t other = extra ? decoder.predicateSource(decoder.operand(3)) : 0;
  uint32_t result = decoder.destination(0, to);
  Handler handler = type == Type::F16x2    ? setRowPair<F16>
                    : type == Type::BF16x2 ? setRowPair<BF16>
                                           : pick<ForRow>(type, ftz);
  if (!handler || getBytes(to) < 2 || getBytes(to) > 4)
    decoder.failUnknown();
  Inst &inst = decoder.emit(handler);
  inst.d[0] = result;
  inst.s[0] = a;
  inst.s[1] = b;
  inst.s[2] = other;
  inst.s[3] = getTrue(to);
  inst.flags = getBytes(to) == 2 ? 2 : 0;
  inst.imm = how;
}

template <typename T> static void select(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]), *b = context.row<T>(inst.s[1]);
  uint32_t bits = context.predicates[inst.s[2]];
  setLanes(context, context.row<T>(inst.d[0]),
           [=](unsigned lane) { return bits >> lane & 1 ? a[lane] : b[lane]; });
}

static void decodeSelect(Decoder &decoder) {
  Type type = decoder.modifiers.takeType();
  decoder.expectOperands(4, 4);
  uint32_t a = decoder.sourceRow(1, type), b = decoder.sourceRow(2, type);
  uint32_t which = decoder.predicateSource(decoder.operand(3));
  uint32_t to = decoder.destination(0, type);
  Handler handler = getBytes(type) == 2   ? select<uint16_t>
                    : getBytes(type) == 4 ? select<uint32_t>
                    : getBytes(type) == 8 ? select<uint64_t>
                                          : nullptr;
  if (!handler)
    decoder.failUnknown();
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  inst.s[0] = a;
  inst.s[1] = b;
  inst.s[2] = which;
}

/// slct: a where c >= 0, else b.
template <typename T, typename C>
static void selectBySign(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]), *b = context.row<T>(inst.s[1]);
  const C *c = context.row<C>(inst.s[2]);
  setLanes(context, context.row<T>(inst.d[0]),
           [=](unsigned lane) { return c[lane] >= 0 ? a[lane] : b[lane]; });
}

static void decodeSelectBySign(Decoder &decoder) {
  decoder.modifiers.take("ftz");
  Type by = decoder.modifiers.takeType(), type = decoder.modifiers.takeType();
  decoder.expectOperands(4, 4);
  if (by != Type::S32 && by != Type::F32)
    decoder.failUnknown();
  uint32_t a = decoder.sourceRow(1, type), b = decoder.sourceRow(2, type),
           c = decoder.sourceRow(3, by), to = decoder.destination(0, type);
  bool isFloat = by == Type::F32;
  Handler handler =
      getBytes(type) == 2   ? (isFloat ? selectBySign<uint16_t, float>
                                       : selectBySign<uint16_t, int32_t>)
      : getBytes(type) == 4 ? (isFloat ? selectBySign<uint32_t, float>
                                       : selectBySign<uint32_t, int32_t>)
                            : (isFloat ? selectBySign<uint64_t, float>
                                       : selectBySign<uint64_t, int32_t>);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  inst.s[0] = a;
  inst.s[1] = b;
  inst.s[2] = c;
}

void amp::ptx::decodeCompare(Decoder &decoder) {
  std::string_view base = decoder.modifiers.getBase();
  if (base == "setp")
    return decodeSetPredicate(decoder);
  if (base == "set")
    return decodeSet(decoder);
  if (base == "selp")
    return decodeSelect(decoder);
  decodeSelectBySign(decoder);
}
