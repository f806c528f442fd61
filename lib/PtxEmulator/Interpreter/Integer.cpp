//===- Integer.cpp - Arithmetic of integers -------------------------------===//
// add to rem, mul in its three widths, mad, carries, and dot products.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Rows.h"
#include <algorithm>
#include <limits>
#include <type_traits>

using namespace amp::ptx;

namespace {
/// Unsigned and no narrower than int, so that nothing overflows.
template <typename T>
using Wrap = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
using int128 = __int128;
using uint128 = unsigned __int128;

template <typename T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<
        sizeof(T) == 4,
        std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
        std::conditional_t<std::is_signed_v<T>, int128, uint128>>>;

struct Add {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
  }
};
struct AddSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t sum = int64_t(a) + b;
    return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  }
};
struct Sub {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
  }
};
struct SubSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    int64_t difference = int64_t(a) - b;
    return static_cast<int32_t>(
        std::clamp<int64_t>(difference, INT32_MIN, INT32_MAX));
  }
};
struct MulLow {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
  }
};
struct MulHigh {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>((Double<T>(a) * b) >> (8 * sizeof(T)));
  }
};
struct MulWide {
  template <typename T> Double<T> operator()(T a, T b) const {
    return Double<T>(a) * b;
  }
};
struct MadLow {
  template <typename T> T operator()(T a, T b, T c) const {
    return static_cast<T>(Wrap<T>(a) * Wrap<T>(b) + Wrap<T>(c));
  }
};
struct MadHigh {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(MulHigh()(a, b), c);
  }
};
struct MadWide {
  template <typename T> Double<T> operator()(T a, T b, Double<T> c) const {
    return Add()(Double<T>(Double<T>(a) * b), c);
  }
};
/// By zero: all ones, as the hardware gives.
struct Div {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == T(-1))
      return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
    return a / b;
  }
};
struct Rem {
  template <typename T> T operator()(T a, T b) const {
    if (b == 0)
      return a;
    if (std::is_signed_v<T> && b == T(-1))
      return 0;
    return a % b;
  }
};
struct Min {
  template <typename T> T operator()(T a, T b) const { return a < b ? a : b; }
};
struct Max {
  template <typename T> T operator()(T a, T b) const { return a > b ? a : b; }
};
struct Negate {
  template <typename T> T operator()(T a) const {
    return static_cast<T>(Wrap<T>(0) - Wrap<T>(a));
  }
};
struct Absolute {
  template <typename T> T operator()(T a) const {
    return a < 0 ? Negate()(a) : a;
  }
};
struct SumOfAbsolutes { // sad: |a - b| + c
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(a < b ? Sub()(b, a) : Sub()(a, b), c);
  }
};
/// The low 24 bits of each; the low 32 of the product.
struct Mul24 {
  template <typename T> T operator()(T a, T b) const {
    auto low = [](T value) {
      return static_cast<T>(uint32_t(value) << 8) >> 8;
    };
    return MulLow()(static_cast<T>(low(a)), static_cast<T>(low(b)));
  }
};
struct Mad24 {
  template <typename T> T operator()(T a, T b, T c) const {
    return Add()(Mul24()(a, b), c);
  }
};
} // namespace

template <typename F> static Handler pickBinary(Type type) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return binary<uint16_t, uint16_t, uint16_t, F>;
  case Type::S16:
    return binary<int16_t, int16_t, int16_t, F>;
  case Type::B32:
  case Type::U32:
    return binary<uint32_t, uint32_t, uint32_t, F>;
  case Type::S32:
    return binary<int32_t, int32_t, int32_t, F>;
  case Type::B64:
  case Type::U64:
    return binary<uint64_t, uint64_t, uint64_t, F>;
  case Type::S64:
    return binary<int64_t, int64_t, int64_t, F>;
  default:
    return nullptr;
  }
}

template <typename F> static Handler pickTernary(Type type) {
  switch (type) {
  case Type::U16:
    return ternary<uint16_t, uint16_t, uint16_t, uint16_t, F>;
  case Type::S16:
    return ternary<int16_t, int16_t, int16_t, int16_t, F>;
  case Type::U32:
    return ternary<uint32_t, uint32_t, uint32_t, uint32_t, F>;
  case Type::S32:
    return ternary<int32_t, int32_t, int32_t, int32_t, F>;
  case Type::U64:
    return ternary<uint64_t, uint64_t, uint64_t, uint64_t, F>;
  case Type::S64:
    return ternary<int64_t, int64_t, int64_t, int64_t, F>;
  default:
    return nullptr;
  }
}

template <typename F> static Handler pickSigned(Type type) {
  switch (type) {
  case Type::S16:
    return unary<int16_t, int16_t, F>;
  case Type::S32:
    return unary<int32_t, int32_t, F>;
  case Type::S64:
    return unary<int64_t, int64_t, F>;
  default:
    return nullptr;
  }
}

static Handler pickMulWide(Type type) {
  switch (type) {
  case Type::U16:
    return binary<uint32_t, uint16_t, uint16_t, MulWide>;
  case Type::S16:
    return binary<int32_t, int16_t, int16_t, MulWide>;
  case Type::U32:
    return binary<uint64_t, uint32_t, uint32_t, MulWide>;
  case Type::S32:
    return binary<int64_t, int32_t, int32_t, MulWide>;
  default:
    return nullptr;
  }
}

static Handler pickMadWide(Type type) {
  switch (type) {
  case Type::U16:
    return ternary<uint32_t, uint16_t, uint16_t, uint32_t, MadWide>;
  case Type::S16:
    return ternary<int32_t, int16_t, int16_t, int32_t, MadWide>;
  case Type::U32:
    return ternary<uint64_t, uint32_t, uint32_t, uint64_t, MadWide>;
  case Type::S32:
    return ternary<int64_t, int32_t, int32_t, int64_t, MadWide>;
  default:
    return nullptr;
  }
}

static Type getDoubleType(Type type) {
  switch (type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

/// Emits with sources of `type` and, of a third, `last`.
static void emitOperation(Decoder &decoder, Handler handler, Type to, Type type,
                          Type last) {
  if (!handler)
    decoder.failUnknown();
  size_t count = decoder.getNumOperands() - 1;
  uint32_t sources[3] = {};
  for (size_t i = 0; i < count; ++i)
    sources[i] = decoder.sourceRow(i + 1, i == 2 ? last : type);
  uint32_t result = decoder.destination(0, to);
  Inst &inst = decoder.emit(handler);
  inst.d[0] = result;
  std::copy(sources, sources + 3, inst.s);
}

//===----------------------------------------------------------------------===//
// Carries: a predicate of the program holds them
//===----------------------------------------------------------------------===//

enum : uint16_t { UseCarry = 1, SetCarry = 2, IsSub = 4, IsMad = 8, High = 16 };

template <typename T> static void carry(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]), *b = context.row<T>(inst.s[1]);
  const T *c = context.row<T>(inst.s[2]);
  T *d = context.row<T>(inst.d[0]);
  uint32_t in = inst.flags & UseCarry ? context.predicates[inst.d[1]] : 0;
  uint32_t out = 0;
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!context.isActive(lane))
      continue;
    uint128 left = a[lane], right = b[lane], bit = in >> lane & 1;
    if (inst.flags & IsMad) {
      uint128 product = left * right;
      left = inst.flags & High ? product >> (8 * sizeof(T)) : T(product);
      right = c[lane];
    }
    uint128 result =
        inst.flags & IsSub ? left - right - bit : left + right + bit;
    d[lane] = static_cast<T>(result);
    out |= uint32_t(result >> (8 * sizeof(T)) & 1) << lane;
  }
  if (inst.flags & SetCarry)
    context.setPredicate(inst.d[1], out);
}

static void decodeCarry(Decoder &decoder, Type type, bool usesCarry) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view base = modifiers.getBase();
  uint16_t flags = usesCarry ? UseCarry : 0;
  flags |= modifiers.take("cc") ? SetCarry : 0;
  flags |= base.substr(0, 3) == "sub" ? IsSub : 0;
  if (base.substr(0, 3) == "mad") {
    flags |= IsMad;
    if (modifiers.take("hi"))
      flags |= High;
    else if (!modifiers.take("lo"))
      decoder.failUnknown();
  }
  bool isMad = flags & IsMad;
  decoder.expectOperands(isMad ? 4 : 3, isMad ? 4 : 3);
  if (flags & High && isSigned(type))
    decoder.failUnknown();
  emitOperation(decoder,
                getBytes(type) == 8 ? carry<uint64_t> : carry<uint32_t>, type,
                type, type);
  Inst &inst = decoder.getProgram().code.back();
  inst.flags = flags;
  inst.d[1] = decoder.getCarry();
}

//===----------------------------------------------------------------------===//
// dp4a, dp2a
//===----------------------------------------------------------------------===//

/// imm: bit 0 a is signed, bit 1 b is signed, bit 2 dp2a, bit 3 its high half.
static void dotProduct(Context &context, const Inst &inst) {
  const uint32_t *a = context.row<uint32_t>(inst.s[0]);
  const uint32_t *b = context.row<uint32_t>(inst.s[1]);
  const uint32_t *c = context.row<uint32_t>(inst.s[2]);
  auto part = [](uint32_t value, unsigned shift, unsigned bits, bool isSigned) {
    uint32_t moved = value << (32 - bits - shift);
    return isSigned ? static_cast<int32_t>(moved) >> (32 - bits)
                    : static_cast<int32_t>(moved >> (32 - bits));
  };
  int64_t imm = inst.imm;
  setLanes(context, context.row<uint32_t>(inst.d[0]), [=](unsigned lane) {
    uint32_t sum = c[lane];
    unsigned count = imm & 4 ? 2 : 4;
    for (unsigned i = 0; i < count; ++i) {
      int32_t left = imm & 4 ? part(a[lane], 16 * i, 16, imm & 1)
                             : part(a[lane], 8 * i, 8, imm & 1);
      int32_t right = part(b[lane], 8 * (i + (imm & 8 ? 2 : 0)), 8, imm & 2);
      sum += static_cast<uint32_t>(left) * static_cast<uint32_t>(right);
    }
    return sum;
  });
}

static void decodeDotProduct(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool isPairs = modifiers.getBase() == "dp2a";
  bool isHigh = modifiers.take("hi");
  modifiers.take("lo");
  Type b = modifiers.takeType(), a = modifiers.takeType();
  decoder.expectOperands(4, 4);
  if (getBytes(a) != 4 || getBytes(b) != 4)
    decoder.failUnknown();
  emitOperation(decoder, dotProduct, Type::B32, Type::B32, Type::B32);
  decoder.getProgram().code.back().imm =
      isSigned(a) | isSigned(b) << 1 | isPairs << 2 | isHigh << 3;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static Handler pickMultiply(Decoder &decoder, Type type, bool isMad,
                            bool &isWide) {
  isWide = decoder.modifiers.take("wide");
  if (isWide)
    return isMad ? pickMadWide(type) : pickMulWide(type);
  if (decoder.modifiers.take("hi"))
    return isMad ? pickTernary<MadHigh>(type) : pickBinary<MulHigh>(type);
  decoder.modifiers.take("lo");
  return isMad ? pickTernary<MadLow>(type) : pickBinary<MulLow>(type);
}

static Handler pickSimple(std::string_view base, Type type, bool saturate) {
  if (saturate)
    return type != Type::S32 ? nullptr
           : base == "add"   ? binary<int32_t, int32_t, int32_t, AddSaturated>
           : base == "sub"   ? binary<int32_t, int32_t, int32_t, SubSaturated>
                             : nullptr;
  if (base == "add")
    return pickBinary<Add>(type);
  if (base == "sub")
    return pickBinary<Sub>(type);
  if (base == "div")
    return pickBinary<Div>(type);
  if (base == "rem")
    return pickBinary<Rem>(type);
  if (base == "min")
    return pickBinary<Min>(type);
  if (base == "max")
    return pickBinary<Max>(type);
  if (base == "abs")
    return pickSigned<Absolute>(type);
  if (base == "neg")
    return pickSigned<Negate>(type);
  if (base == "sad")
    return pickTernary<SumOfAbsolutes>(type);
  return nullptr;
}

static void decode24(Decoder &decoder, Type type, bool isMad) {
  decoder.modifiers.take("lo");
  decoder.expectOperands(isMad ? 4 : 3, isMad ? 4 : 3);
  Handler handler =
      type == Type::S32
          ? (isMad ? ternary<int32_t, int32_t, int32_t, int32_t, Mad24>
                   : binary<int32_t, int32_t, int32_t, Mul24>)
      : type == Type::U32
          ? (isMad ? ternary<uint32_t, uint32_t, uint32_t, uint32_t, Mad24>
                   : binary<uint32_t, uint32_t, uint32_t, Mul24>)
          : nullptr;
  emitOperation(decoder, handler, type, type, type);
}

void amp::ptx::decodeIntegerArithmetic(Decoder &decoder, Type type) {
  Modifiers &modifiers = decoder.modifiers;
  std::string_view base = modifiers.getBase();
  bool usesCarry = base == "addc" || base == "subc" || base == "madc";
  if (usesCarry || modifiers.has("cc"))
    return decodeCarry(decoder, type, usesCarry);
  if (base == "mul24" || base == "mad24")
    return decode24(decoder, type, base == "mad24");
  if (base == "mul" || base == "mad") {
    bool isMad = base == "mad", isWide;
    Handler handler = pickMultiply(decoder, type, isMad, isWide);
    Type to = isWide ? getDoubleType(type) : type;
    decoder.expectOperands(isMad ? 4 : 3, isMad ? 4 : 3);
    return emitOperation(decoder, handler, to, type, to);
  }
  Handler handler = pickSimple(base, type, modifiers.take("sat"));
  size_t count = base == "abs" || base == "neg" ? 2 : base == "sad" ? 4 : 3;
  decoder.expectOperands(count, count);
  emitOperation(decoder, handler, type, type, type);
}

void amp::ptx::decodeDot(Decoder &decoder) { decodeDotProduct(decoder); }

void amp::ptx::decodeArithmetic(Decoder &decoder) {
  Type type = decoder.modifiers.takeType();
  switch (type) {
  case Type::None:
    decoder.failUnknown();
  case Type::F32:
  case Type::F64:
    return decodeFloatArithmetic(decoder, type);
  case Type::F16:
  case Type::BF16:
  case Type::F16x2:
  case Type::BF16x2:
    return decodeHalfArithmetic(decoder, type);
  default:
    return decodeIntegerArithmetic(decoder, type);
  }
}
