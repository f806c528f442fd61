//===- Atomics.cpp - atom and red -----------------------------------------===//
// Lanes one after the other. Kernels with global atomics run their blocks on
// one thread, so no other thread is in between and results are repeatable.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "HalfFloat.h"
#include "MemoryOperands.h"
#include <algorithm>

using namespace amp::ptx;

namespace {
struct AtomicAdd {
  template <typename T> T operator()(T a, T b, T) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(uint64_t(a) + uint64_t(b));
    else
      return a + b;
  }
  F16 operator()(F16 a, F16 b, F16) const {
    return F16::make(a.get() + b.get());
  }
  BF16 operator()(BF16 a, BF16 b, BF16) const {
    return BF16::make(a.get() + b.get());
  }
};
struct AtomicMin {
  template <typename T> T operator()(T a, T b, T) const {
    return std::min(a, b);
  }
};
struct AtomicMax {
  template <typename T> T operator()(T a, T b, T) const {
    return std::max(a, b);
  }
};
struct AtomicAnd {
  template <typename T> T operator()(T a, T b, T) const { return a & b; }
};
struct AtomicOr {
  template <typename T> T operator()(T a, T b, T) const { return a | b; }
};
struct AtomicXor {
  template <typename T> T operator()(T a, T b, T) const { return a ^ b; }
};
struct AtomicExchange {
  template <typename T> T operator()(T, T b, T) const { return b; }
};
struct AtomicCompareAndSwap {
  template <typename T> T operator()(T a, T b, T c) const {
    return a == b ? c : a;
  }
};
struct AtomicIncrement {
  template <typename T> T operator()(T a, T b, T) const {
    return a >= b ? 0 : a + 1;
  }
};
struct AtomicDecrement {
  template <typename T> T operator()(T a, T b, T) const {
    return a == 0 || a > b ? b : a - 1;
  }
};
} // namespace

/// `count` values of T in the lane's `list` rows; Pair: two per row.
template <typename T, typename F, unsigned PerRow>
static void atomic(Context &context, const Inst &inst) {
  Access access;
  access.space = static_cast<Space>(inst.flags & SpaceMask);
  access.bytes = sizeof(T) * PerRow * inst.count;
  access.isWrite = access.isRelaxed = true;
  loadAddresses(context, inst, access);
  uint8_t *pointers[numLanes];
  uint32_t valid = resolve(context, inst, access, pointers);
  for (unsigned lane = 0; lane < numLanes; ++lane) {
    if (!(valid >> lane & 1))
      continue;
    for (unsigned i = 0; i < inst.count * PerRow; ++i) {
      unsigned at = lane * PerRow + i % PerRow;
      uint32_t row = context.lists()[inst.list + i / PerRow];
      T *memory = reinterpret_cast<T *>(pointers[lane]) + i;
      T old = *memory;
      *memory =
          F()(old, context.row<T>(row)[at], context.row<T>(inst.s[1])[at]);
      if (inst.flags & IsAtomic)
        context.row<T>(inst.d[0])[at] = old;
    }
  }
}

template <typename F> static Handler pickInteger(Type type) {
  switch (type) {
  case Type::U32:
  case Type::B32:
    return atomic<uint32_t, F, 1>;
  case Type::S32:
    return atomic<int32_t, F, 1>;
  case Type::U64:
  case Type::B64:
    return atomic<uint64_t, F, 1>;
  case Type::S64:
    return atomic<int64_t, F, 1>;
  default:
    return nullptr;
  }
}

static Handler pickAdd(Type type) {
  switch (type) {
  case Type::F32:
    return atomic<float, AtomicAdd, 1>;
  case Type::F64:
    return atomic<double, AtomicAdd, 1>;
  case Type::F16:
    return atomic<F16, AtomicAdd, 1>;
  case Type::BF16:
    return atomic<BF16, AtomicAdd, 1>;
  case Type::F16x2:
    return atomic<F16, AtomicAdd, 2>;
  case Type::BF16x2:
    return atomic<BF16, AtomicAdd, 2>;
  default:
    return pickInteger<AtomicAdd>(type);
  }
}

static Handler pickAtomic(std::string_view name, Type type) {
  if (name == "add")
    return pickAdd(type);
  if (name == "min")
    return pickInteger<AtomicMin>(type);
  if (name == "max")
    return pickInteger<AtomicMax>(type);
  if (name == "and")
    return pickInteger<AtomicAnd>(type);
  if (name == "or")
    return pickInteger<AtomicOr>(type);
  if (name == "xor")
    return pickInteger<AtomicXor>(type);
  if (name == "exch")
    return pickInteger<AtomicExchange>(type);
  if (name == "cas")
    return type == Type::B16 ? atomic<uint16_t, AtomicCompareAndSwap, 1>
                             : pickInteger<AtomicCompareAndSwap>(type);
  if (name == "inc")
    return pickInteger<AtomicIncrement>(type);
  if (name == "dec")
    return pickInteger<AtomicDecrement>(type);
  return nullptr;
}

static std::string_view takeName(Modifiers &modifiers) {
  for (std::string_view name :
       {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"})
    if (modifiers.take(name))
      return name;
  return "";
}

void amp::ptx::decodeAtomic(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool isAtomic = modifiers.getBase() == "atom";
  Space space = takeSpace(modifiers);
  takeOrdering(modifiers);
  bool hasHint = takeCacheHints(modifiers);
  modifiers.take("noftz");
  unsigned vector = modifiers.take("v2") ? 2 : modifiers.take("v4") ? 4 : 1;
  std::string_view name = takeName(modifiers);
  Type type = modifiers.takeType();
  size_t count = 2 + isAtomic + (name == "cas");
  decoder.expectOperands(count, count + hasHint);
  Handler handler = pickAtomic(name, type);
  if (!handler || (isAtomic && vector > 1))
    decoder.failUnknown();
  const Operand &value = decoder.operand(1 + isAtomic);
  std::vector<Operand> values =
      vector > 1 ? value.items : std::vector<Operand>{value};
  if (values.size() != vector)
    decoder.failUnknown();
  int64_t offset;
  uint32_t address = decoder.address(decoder.operand(isAtomic), space, offset);
  std::vector<uint32_t> rows;
  for (const Operand &each : values)
    rows.push_back(decoder.sourceRow(each, type));
  uint32_t third =
      name == "cas" ? decoder.sourceRow(2 + isAtomic, type) : rows[0];
  uint32_t to = isAtomic ? decoder.destination(0, type) : 0;
  Inst &inst = decoder.emit(handler);
  inst.d[0] = to;
  inst.s[0] = address;
  inst.s[1] = third;
  inst.imm = offset;
  inst.flags = static_cast<uint16_t>(static_cast<uint16_t>(space) |
                                     (isAtomic ? IsAtomic : 0));
  for (uint32_t row : rows)
    decoder.addToList(row);
  if (space != Space::Shared)
    decoder.getProgram().isOrdered = true;
}
