//===- Bits.cpp - Logic, shifts, fields -----------------------------------===//
// and to cnot on rows and predicates, shifts, bfe/bfi, prmt, lop3 and counts.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Logic.h"
#include "Rows.h"
#include <algorithm>

using namespace amp::ptx;

namespace {
struct And {
  template <typename T> T operator()(T a, T b) const { return a & b; }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return a | b; }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return a ^ b; }
};
struct Not {
  template <typename T> T operator()(T a) const { return ~a; }
};
struct LogicalNot {
  template <typename T> T operator()(T a) const { return a == 0; }
};
/// Shifts by the width and more give 0, or the sign.
struct ShiftLeft {
  template <typename T> T operator()(T a, uint32_t count) const {
    constexpr uint32_t width = 8 * sizeof(T);
    T shifted = static_cast<T>(uint64_t(a) << (count & (width - 1)));
    return count < width ? shifted : T(0);
  }
};
struct ShiftRight {
  template <typename T> T operator()(T a, uint32_t count) const {
    constexpr uint32_t width = 8 * sizeof(T);
    if (std::is_signed_v<T>)
      return a >> std::min(count, width - 1);
    return count < width ? a >> (count & (width - 1)) : 0;
  }
};
/// Bits [position, position + length); beyond the top the sign, if signed.
struct Extract {
  template <typename T> T operator()(T a, uint32_t b, uint32_t c) const {
    using U = std::make_unsigned_t<T>;
    constexpr uint32_t width = 8 * sizeof(T);
    uint32_t position = b & 0xff, length = c & 0xff;
    if (length == 0)
      return 0;
    uint32_t top = std::min(position + length - 1, width - 1);
    bool sign = std::is_signed_v<T> && (U(a) >> top & 1);
    U field = position < width ? U(a) >> position : 0;
    U mask = length < width ? (U(1) << length) - 1 : ~U(0);
    U known = position < width ? ~U(0) >> position : 0;
    field &= mask & known;
    return static_cast<T>(sign ? field | ~(mask & known) : field);
  }
};
struct BitReverse {
  uint32_t operator()(uint32_t a) const { return __builtin_bitreverse32(a); }
  uint64_t operator()(uint64_t a) const { return __builtin_bitreverse64(a); }
};
struct LeadingZeros {
  uint32_t operator()(uint32_t a) const { return a ? __builtin_clz(a) : 32; }
  uint32_t operator()(uint64_t a) const { return a ? __builtin_clzll(a) : 64; }
};
struct Population {
  uint32_t operator()(uint32_t a) const { return __builtin_popcount(a); }
  uint32_t operator()(uint64_t a) const { return __builtin_popcountll(a); }
};
/// Position of the highest bit that differs from the sign; -1 if none.
template <bool Distance> struct FindHighest {
  template <typename T> uint32_t operator()(T a) const {
    using U = std::make_unsigned_t<T>;
    U bits = a < 0 ? U(~a) : U(a);
    if (bits == 0)
      return ~uint32_t(0);
    uint32_t zeros =
        sizeof(T) == 8 ? __builtin_clzll(bits) : __builtin_clz(uint32_t(bits));
    return Distance ? zeros : 8 * sizeof(T) - 1 - zeros;
  }
};
template <bool Clamp> struct BitMask {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    uint32_t position = Clamp ? std::min(a, 32u) : a & 31;
    uint32_t count = Clamp ? std::min(b, 32u) : b & 31;
    uint64_t mask = (uint64_t(1) << count) - 1;
    return static_cast<uint32_t>(mask << position);
  }
};
/// shf: the pair {b, a}, a low, shifted.
template <bool Left, bool Clamp> struct Funnel {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint64_t pair = uint64_t(b) << 32 | a;
    uint32_t count = Clamp ? std::min(c, 32u) : c & 31;
    return static_cast<uint32_t>(Left ? (pair << count) >> 32 : pair >> count);
  }
};
} // namespace

void amp::ptx::handlePredicateNot(Context &context, const Inst &inst) {
  context.setPredicate(inst.d[0], ~context.predicates[inst.s[0]]);
}

template <typename F>
static void predicateLogic(Context &context, const Inst &inst) {
  context.setPredicate(inst.d[0], F()(context.predicates[inst.s[0]],
                                      context.predicates[inst.s[1]]));
}

static void decodePredicateLogic(Decoder &decoder, std::string_view base) {
  Handler handler = base == "and"   ? predicateLogic<And>
                    : base == "or"  ? predicateLogic<Or>
                    : base == "xor" ? predicateLogic<Xor>
                    : base == "not" ? handlePredicateNot
                                    : nullptr;
  size_t count = base == "not" ? 2 : 3;
  if (!handler)
    decoder.failUnknown();
  decoder.expectOperands(count, count);
  uint32_t sources[2] = {};
  for (size_t i = 0; i + 1 < count; ++i)
    sources[i] = decoder.predicateSource(decoder.operand(i + 1));
  uint32_t to = decoder.predicateDestination(decoder.operand(0));
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  inst.s[0] = sources[0];
  inst.s[1] = sources[1];
}

//===----------------------------------------------------------------------===//
// bfi, prmt, lop3
//===----------------------------------------------------------------------===//

template <typename T>
static void insertBits(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]), *b = context.row<T>(inst.s[1]);
  const uint32_t *c = context.row<uint32_t>(inst.s[2]),
                 *d = context.row<uint32_t>(inst.s[3]);
  setLanes(context, context.row<T>(inst.d[0]), [=](unsigned lane) {
    constexpr uint32_t width = 8 * sizeof(T);
    uint32_t position = c[lane] & 0xff, length = d[lane] & 0xff;
    T mask = length < width ? (T(1) << length) - 1 : ~T(0);
    mask = position < width ? mask << position : 0;
    T shifted = position < width ? a[lane] << position : 0;
    return static_cast<T>((b[lane] & ~mask) | (shifted & mask));
  });
}

enum PermuteMode : int64_t { Generic, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };

/// The selector of a named mode, as the generic one takes it.
static uint32_t getSelector(int64_t mode, uint32_t selector) {
  static constexpr uint16_t table[7][4] = {{0, 0, 0, 0},
                                           {0x3210, 0x4321, 0x5432, 0x6543},
                                           {0x5670, 0x6701, 0x7012, 0x0123},
                                           {0x0000, 0x1111, 0x2222, 0x3333},
                                           {0x3210, 0x3211, 0x3222, 0x3333},
                                           {0x0000, 0x1110, 0x2210, 0x3210},
                                           {0x1010, 0x3232, 0x1010, 0x3232}};
  return mode == Generic ? selector : table[mode][selector & 3];
}

static void permute(Context &context, const Inst &inst) {
  const uint32_t *a = context.row<uint32_t>(inst.s[0]),
                 *b = context.row<uint32_t>(inst.s[1]),
                 *c = context.row<uint32_t>(inst.s[2]);
  int64_t mode = inst.imm;
  setLanes(context, context.row<uint32_t>(inst.d[0]), [=](unsigned lane) {
    uint64_t bytes = uint64_t(b[lane]) << 32 | a[lane];
    uint32_t selector = getSelector(mode, c[lane]), result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      uint32_t chosen = selector >> (4 * i) & 15;
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (chosen & 7))) & 0xff;
      if (chosen & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return result;
  });
}

/// imm is the truth table: bit i for inputs a = i>>2, b = i>>1, c = i.
static void lookUp3(Context &context, const Inst &inst) {
  const uint32_t *a = context.row<uint32_t>(inst.s[0]),
                 *b = context.row<uint32_t>(inst.s[1]),
                 *c = context.row<uint32_t>(inst.s[2]);
  uint32_t terms[8];
  for (unsigned i = 0; i < 8; ++i)
    terms[i] = inst.imm >> i & 1 ? ~uint32_t(0) : 0;
  setLanes(context, context.row<uint32_t>(inst.d[0]), [=](unsigned lane) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      result |= terms[i] & (i & 4 ? a[lane] : ~a[lane]) &
                (i & 2 ? b[lane] : ~b[lane]) & (i & 1 ? c[lane] : ~c[lane]);
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Emits with the sources' types given one by one.
static Inst &emitBits(Decoder &decoder, Handler handler, Type to,
                      std::initializer_list<Type> types) {
  if (!handler)
    decoder.failUnknown();
  uint32_t sources[4] = {};
  size_t i = 0;
  for (Type type : types) {
    sources[i] = decoder.sourceRow(i + 1, type);
    ++i;
  }
  uint32_t result = decoder.destination(0, to);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = result;
  std::copy(sources, sources + 4, inst.s);
  return inst;
}

template <typename F> static Handler pickLogic(Type type) {
  return getBytes(type) == 2   ? binary<uint16_t, uint16_t, uint16_t, F>
         : getBytes(type) == 4 ? binary<uint32_t, uint32_t, uint32_t, F>
         : getBytes(type) == 8 ? binary<uint64_t, uint64_t, uint64_t, F>
                               : nullptr;
}

template <typename F> static Handler pickNot(Type type) {
  return getBytes(type) == 2   ? unary<uint16_t, uint16_t, F>
         : getBytes(type) == 4 ? unary<uint32_t, uint32_t, F>
         : getBytes(type) == 8 ? unary<uint64_t, uint64_t, F>
                               : nullptr;
}

template <typename F> static Handler pickShift(Type type) {
  switch (type) {
  case Type::S16:
    return binary<int16_t, int16_t, uint32_t, F>;
  case Type::S32:
    return binary<int32_t, int32_t, uint32_t, F>;
  case Type::S64:
    return binary<int64_t, int64_t, uint32_t, F>;
  default:
    return getBytes(type) == 2   ? binary<uint16_t, uint16_t, uint32_t, F>
           : getBytes(type) == 4 ? binary<uint32_t, uint32_t, uint32_t, F>
           : getBytes(type) == 8 ? binary<uint64_t, uint64_t, uint32_t, F>
                                 : nullptr;
  }
}

template <typename F> static Handler pickCount(Type type) {
  return getBytes(type) == 4   ? unary<uint32_t, uint32_t, F>
         : getBytes(type) == 8 ? unary<uint32_t, uint64_t, F>
                               : nullptr;
}

static void decodeField(Decoder &decoder, Type type, bool isInsert) {
  decoder.expectOperands(isInsert ? 5 : 4, isInsert ? 5 : 4);
  if (isInsert) {
    Handler handler = getBytes(type) == 8   ? insertBits<uint64_t>
                      : getBytes(type) == 4 ? insertBits<uint32_t>
                                            : nullptr;
    emitBits(decoder, handler, type, {type, type, Type::U32, Type::U32});
    return;
  }
  Handler handler = nullptr;
  switch (type) {
  case Type::U32:
    handler = ternary<uint32_t, uint32_t, uint32_t, uint32_t, Extract>;
    break;
  case Type::S32:
    handler = ternary<int32_t, int32_t, uint32_t, uint32_t, Extract>;
    break;
  case Type::U64:
    handler = ternary<uint64_t, uint64_t, uint32_t, uint32_t, Extract>;
    break;
  case Type::S64:
    handler = ternary<int64_t, int64_t, uint32_t, uint32_t, Extract>;
    break;
  default:
    break;
  }
  emitBits(decoder, handler, type, {type, Type::U32, Type::U32});
}

static void decodePermute(Decoder &decoder) {
  static constexpr std::string_view modes[] = {"",    "f4e", "b4e", "rc8",
                                               "ecl", "ecr", "rc16"};
  int64_t mode = Generic;
  for (int64_t i = 1; i < 7; ++i)
    if (decoder.modifiers.take(modes[i]))
      mode = i;
  decoder.expectOperands(4, 4);
  emitBits(decoder, permute, Type::B32, {Type::B32, Type::B32, Type::B32}).imm =
      mode;
}

static void decodeLookUp(Decoder &decoder) {
  decoder.expectOperands(5, 5);
  int64_t table = decoder.constantOperand(decoder.operand(4));
  emitBits(decoder, lookUp3, Type::B32, {Type::B32, Type::B32, Type::B32}).imm =
      table;
}

static void decodeFunnel(Decoder &decoder) {
  bool isLeft = decoder.modifiers.take("l");
  if (!isLeft && !decoder.modifiers.take("r"))
    decoder.failUnknown();
  bool clamp = decoder.modifiers.take("clamp");
  if (!clamp)
    decoder.modifiers.take("wrap");
  decoder.expectOperands(4, 4);
  using U = uint32_t;
  Handler handler = isLeft
                        ? (clamp ? ternary<U, U, U, U, Funnel<true, true>>
                                 : ternary<U, U, U, U, Funnel<true, false>>)
                        : (clamp ? ternary<U, U, U, U, Funnel<false, true>>
                                 : ternary<U, U, U, U, Funnel<false, false>>);
  emitBits(decoder, handler, Type::B32, {Type::B32, Type::B32, Type::U32});
}

static void decodeFindHighest(Decoder &decoder, Type type) {
  bool distance = decoder.modifiers.take("shiftamt");
  decoder.expectOperands(2, 2);
  Handler handler = nullptr;
  switch (type) {
  case Type::U32:
    handler = distance ? unary<uint32_t, uint32_t, FindHighest<true>>
                       : unary<uint32_t, uint32_t, FindHighest<false>>;
    break;
  case Type::S32:
    handler = distance ? unary<uint32_t, int32_t, FindHighest<true>>
                       : unary<uint32_t, int32_t, FindHighest<false>>;
    break;
  case Type::U64:
    handler = distance ? unary<uint32_t, uint64_t, FindHighest<true>>
                       : unary<uint32_t, uint64_t, FindHighest<false>>;
    break;
  case Type::S64:
    handler = distance ? unary<uint32_t, int64_t, FindHighest<true>>
                       : unary<uint32_t, int64_t, FindHighest<false>>;
    break;
  default:
    break;
  }
  emitBits(decoder, handler, Type::U32, {type});
}

static void decodeMask(Decoder &decoder) {
  bool clamp = decoder.modifiers.take("clamp");
  if (!clamp)
    decoder.modifiers.take("wrap");
  decoder.expectOperands(3, 3);
  using U = uint32_t;
  emitBits(decoder,
           clamp ? binary<U, U, U, BitMask<true>>
                 : binary<U, U, U, BitMask<false>>,
           Type::B32, {Type::B32, Type::B32});
}

void amp::ptx::decodeBits(Decoder &decoder) {
  std::string_view base = decoder.modifiers.getBase();
  Type type = decoder.modifiers.takeType();
  if (type == Type::Pred)
    return decodePredicateLogic(decoder, base);
  if (base == "bfe" || base == "bfi")
    return decodeField(decoder, type, base == "bfi");
  if (base == "prmt")
    return decodePermute(decoder);
  if (base == "lop3")
    return decodeLookUp(decoder);
  if (base == "shf")
    return decodeFunnel(decoder);
  if (base == "bfind")
    return decodeFindHighest(decoder, type);
  if (base == "bmsk")
    return decodeMask(decoder);
  bool isShift = base == "shl" || base == "shr";
  if (isShift) {
    decoder.expectOperands(3, 3);
    emitBits(decoder,
             base == "shl" ? pickShift<ShiftLeft>(type)
                           : pickShift<ShiftRight>(type),
             type, {type, Type::U32});
    return;
  }
  bool isBinary = base == "and" || base == "or" || base == "xor";
  if (isBinary) {
    decoder.expectOperands(3, 3);
    emitBits(decoder,
             base == "and"  ? pickLogic<And>(type)
             : base == "or" ? pickLogic<Or>(type)
                            : pickLogic<Xor>(type),
             type, {type, type});
    return;
  }
  decoder.expectOperands(2, 2);
  if (base == "not" || base == "cnot") {
    emitBits(decoder,
             base == "not" ? pickNot<Not>(type) : pickNot<LogicalNot>(type),
             type, {type});
  } else if (base == "brev") {
    Handler handler = getBytes(type) == 8
                          ? unary<uint64_t, uint64_t, BitReverse>
                          : unary<uint32_t, uint32_t, BitReverse>;
    emitBits(decoder, handler, type, {type});
  } else {
    emitBits(decoder,
             base == "clz" ? pickCount<LeadingZeros>(type)
                           : pickCount<Population>(type),
             Type::U32, {type});
  }
}
