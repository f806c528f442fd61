//===- Memory.cpp - ld and st ---------------------------------------------===//
// Scalars and vectors of every width, from every space.
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "Decoder.h"
#include "MemoryOperands.h"
#include "Rows.h"
#include <cstring>

using namespace amp::ptx;
using b128 = unsigned __int128;

/// T in memory, R in the register rows of the list.
template <typename T, typename R>
static void load(Context &context, const Inst &inst) {
  Access access;
  access.space = static_cast<Space>(inst.flags & SpaceMask);
  access.isRelaxed = inst.flags & IsRelaxed;
  access.bytes = sizeof(T) * inst.count;
  loadAddresses(context, inst, access);
  uint8_t *pointers[numLanes];
  uint32_t valid = resolve(context, inst, access, pointers);
  const uint32_t *rows = context.lists().data() + inst.list;
  for (unsigned i = 0; i < inst.count; ++i) {
    R *d = context.row<R>(rows[i]);
    for (unsigned lane = 0; lane < numLanes; ++lane) {
      if (!(valid >> lane & 1))
        continue;
      T value;
      std::memcpy(&value, pointers[lane] + i * sizeof(T), sizeof(T));
      d[lane] = static_cast<R>(value);
    }
  }
}

template <typename T, typename R>
static void store(Context &context, const Inst &inst) {
  Access access;
  access.space = static_cast<Space>(inst.flags & SpaceMask);
  access.isRelaxed = inst.flags & IsRelaxed;
  access.isRead = false;
  access.isWrite = true;
  access.bytes = sizeof(T) * inst.count;
  loadAddresses(context, inst, access);
  uint8_t *pointers[numLanes];
  uint32_t valid = resolve(context, inst, access, pointers);
  const uint32_t *rows = context.lists().data() + inst.list;
  for (unsigned i = 0; i < inst.count; ++i) {
    const R *s = context.row<R>(rows[i]);
    for (unsigned lane = 0; lane < numLanes; ++lane) {
      if (!(valid >> lane & 1))
        continue;
      T value = static_cast<T>(s[lane]);
      std::memcpy(pointers[lane] + i * sizeof(T), &value, sizeof(T));
    }
  }
}

/// A kernel parameter: the same for all; bounds were checked at decoding.
template <typename T, typename R>
static void loadParameter(Context &context, const Inst &inst) {
  const uint8_t *from =
      static_cast<const uint8_t *>(context.launch->parameters) + inst.imm;
  const uint32_t *rows = context.lists().data() + inst.list;
  for (unsigned i = 0; i < inst.count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    R wide = static_cast<R>(value);
    setLanes(context, context.row<R>(rows[i]), [=](unsigned) { return wide; });
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

namespace {
enum class Kind { Load, Store, Parameter };
template <typename T, typename R> Handler pickKind(Kind kind) {
  return kind == Kind::Load    ? load<T, R>
         : kind == Kind::Store ? store<T, R>
                               : loadParameter<T, R>;
}
} // namespace

template <typename T> static Handler pickRow(Kind kind, uint32_t rowBytes) {
  if constexpr (sizeof(T) <= 2)
    if (rowBytes == 2)
      return pickKind<T, uint16_t>(kind);
  if constexpr (sizeof(T) <= 4)
    if (rowBytes == 4)
      return pickKind<T, uint32_t>(kind);
  if (rowBytes == 8)
    return pickKind<T, uint64_t>(kind);
  return nullptr;
}

static Handler pickAccess(Kind kind, Type type, uint32_t rowBytes) {
  switch (type) {
  case Type::B8:
  case Type::U8:
    return pickRow<uint8_t>(kind, rowBytes);
  case Type::S8:
    return pickRow<int8_t>(kind, rowBytes);
  case Type::S16:
    return pickRow<int16_t>(kind, rowBytes);
  case Type::S32:
    return pickRow<int32_t>(kind, rowBytes);
  case Type::B128:
    return pickKind<b128, b128>(kind);
  default:
    return getBytes(type) == 2   ? pickRow<uint16_t>(kind, rowBytes)
           : getBytes(type) == 4 ? pickRow<uint32_t>(kind, rowBytes)
           : getBytes(type) == 8 ? pickRow<uint64_t>(kind, rowBytes)
                                 : nullptr;
  }
}

/// The type that has the register's width.
static Type getHolder(const Decoder &decoder, const Operand &operand,
                      Type type) {
  uint32_t bytes = getBytes(decoder.getRegisterType(operand));
  bytes = std::max(bytes, std::max(getBytes(type), 2u));
  return bytes == 2   ? Type::B16
         : bytes == 4 ? Type::B32
         : bytes == 8 ? Type::B64
                      : Type::B128;
}

/// A register that differs in width from the others of its vector gets a row
/// of its own width through `destination`; so all rows are of the widest.
static Type getVectorHolder(const Decoder &decoder,
                            const std::vector<Operand> &values, Type type) {
  Type holder = getHolder(decoder, values[0], type);
  for (const Operand &value : values) {
    if (value.kind != OperandKind::Register)
      continue;
    Type one = getHolder(decoder, value, type);
    if (getBytes(one) < getBytes(holder) ||
        values[0].kind != OperandKind::Register)
      holder = one;
  }
  return holder;
}

static unsigned takeVector(Modifiers &modifiers) {
  return modifiers.take("v2")   ? 2
         : modifiers.take("v4") ? 4
         : modifiers.take("v8") ? 8
                                : 1;
}

static void emitAccess(Decoder &decoder, bool isStore, Space space, Type type,
                       unsigned vector, bool isRelaxed) {
  const Operand &memory = decoder.operand(isStore ? 0 : 1);
  const Operand &value = decoder.operand(isStore ? 1 : 0);
  std::vector<Operand> values =
      vector > 1 ? value.items : std::vector<Operand>{value};
  if (values.size() != vector ||
      (vector > 1 && value.kind != OperandKind::Vector))
    decoder.failUnknown();
  Type holder = getVectorHolder(decoder, values, type);
  int64_t offset;
  uint32_t address = decoder.address(memory, space, offset);
  std::vector<uint32_t> rows;
  for (const Operand &each : values)
    rows.push_back(isStore ? decoder.sourceRow(each, holder)
                           : decoder.destination(each, holder));
  const Operand &base = memory.items[0];
  const Variable *parameter =
      space == Space::Param ? decoder.getKernelParameter(base) : nullptr;
  Kind kind = isStore ? Kind::Store : parameter ? Kind::Parameter : Kind::Load;
  Handler handler = pickAccess(kind, type, getBytes(holder));
  if (!handler)
    decoder.failUnknown();
  Inst &inst = decoder.emit(handler);
  inst.s[0] = address;
  inst.imm = offset;
  inst.flags = static_cast<uint16_t>(static_cast<uint16_t>(space) |
                                     (isStore ? IsStore : 0) |
                                     (isRelaxed ? IsRelaxed : 0));
  if (parameter) {
    inst.imm += static_cast<int64_t>(parameter->offset + base.value);
    if (inst.imm < 0 || inst.imm + getBytes(type) * int64_t(vector) >
                            decoder.getProgram().parameterBytes)
      decoder.fail("access is outside the kernel's parameters");
  }
  for (uint32_t row : rows)
    decoder.addToList(row);
}

/// In functions parameters lie in the frame, as those of calls do.
static Space getParameterSpace(const Decoder &decoder, const Operand &memory) {
  if (memory.kind != OperandKind::Memory)
    return Space::Param;
  const Operand &base = memory.items[0];
  if (base.kind == OperandKind::Variable)
    return decoder.getKernelParameter(base) ? Space::Param : Space::Local;
  return decoder.isInKernel() ? Space::Param : Space::Local;
}

void amp::ptx::decodeMemory(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  bool isStore = modifiers.getBase() == "st";
  Space space = takeSpace(modifiers);
  bool isRelaxed = takeOrdering(modifiers);
  bool hasHint = takeCacheHints(modifiers);
  unsigned vector = takeVector(modifiers);
  Type type = modifiers.takeType();
  decoder.expectOperands(2, hasHint ? 3 : 2);
  if (space == Space::Param)
    space = getParameterSpace(decoder, decoder.operand(isStore ? 0 : 1));
  if (type == Type::None || getBytes(type) * vector > 32)
    decoder.failUnknown();
  if (isStore && (space == Space::Const || space == Space::Param))
    decoder.fail("constant memory cannot be written");
  noteSharedAccess(decoder, space, getBytes(type) * vector);
  emitAccess(decoder, isStore, space, type, vector, isRelaxed);
}
