//===- Move.cpp - mov, cvta, changes of width -----------------------------===//
// Values that go from row to row without arithmetic.
//===----------------------------------------------------------------------===//

#include "Move.h"
#include "Decoder.h"
#include "Rows.h"
#include <algorithm>

using namespace amp::ptx;
using b128 = unsigned __int128;

namespace {
struct Same {
  template <typename T> T operator()(T a) const { return a; }
};
} // namespace

template <typename From> static Handler getResizeFrom(uint32_t toBytes) {
  switch (toBytes) {
  case 2:
    return unary<uint16_t, From, Same>;
  case 4:
    return unary<uint32_t, From, Same>;
  case 8:
    return unary<uint64_t, From, Same>;
  default:
    return unary<b128, From, Same>;
  }
}

Handler amp::ptx::getResizeHandler(uint32_t toBytes, uint32_t fromBytes,
                                   bool isSigned) {
  switch (fromBytes) {
  case 1:
  case 2:
    return isSigned ? getResizeFrom<int16_t>(toBytes)
                    : getResizeFrom<uint16_t>(toBytes);
  case 4:
    return isSigned ? getResizeFrom<int32_t>(toBytes)
                    : getResizeFrom<uint32_t>(toBytes);
  case 8:
    return isSigned ? getResizeFrom<int64_t>(toBytes)
                    : getResizeFrom<uint64_t>(toBytes);
  default:
    return getResizeFrom<b128>(toBytes);
  }
}

void amp::ptx::handleWidenAddress(Context &context, const Inst &inst) {
  const uint32_t *a = context.row<uint32_t>(inst.s[0]);
  uint32_t offset = static_cast<uint32_t>(inst.imm);
  setLanes(context, context.row<uint64_t>(inst.d[0]),
           [=](unsigned lane) { return uint64_t(a[lane] + offset); });
}

/// d = {list[0], list[1], ...}, the first lowest.
template <typename Whole, typename Part>
static void pack(Context &context, const Inst &inst) {
  constexpr unsigned count = sizeof(Whole) / sizeof(Part);
  const Part *parts[count];
  for (unsigned i = 0; i < count; ++i)
    parts[i] = context.row<Part>(context.lists()[inst.list + i]);
  setLanes(context, context.row<Whole>(inst.d[0]), [=](unsigned lane) {
    Whole value = 0;
    for (unsigned i = 0; i < count; ++i)
      value |= static_cast<Whole>(parts[i][lane]) << (8 * sizeof(Part) * i);
    return value;
  });
}

template <typename Whole, typename Part>
static void unpack(Context &context, const Inst &inst) {
  Whole whole[numLanes];
  std::copy_n(context.row<Whole>(inst.s[0]), numLanes, whole);
  for (unsigned i = 0; i < inst.count; ++i)
    setLanes(context, context.row<Part>(context.lists()[inst.list + i]),
             [&](unsigned lane) {
               return static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * i));
             });
}

static void decodePack(Decoder &decoder, Type type) {
  const std::vector<Operand> &parts = decoder.operand(1).items;
  uint32_t bytes = getBytes(type) / static_cast<uint32_t>(parts.size());
  Type part = bytes == 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B64;
  if (bytes * parts.size() != getBytes(type) || bytes < 2 || bytes > 8)
    decoder.failUnknown();
  std::vector<uint32_t> rows;
  for (const Operand &each : parts)
    rows.push_back(decoder.sourceRow(each, part));
  uint32_t to = decoder.destination(0, type);
  Handler handler =
      getBytes(type) == 4 ? pack<uint32_t, uint16_t>
      : getBytes(type) == 8
          ? (bytes == 2 ? pack<uint64_t, uint16_t> : pack<uint64_t, uint32_t>)
          : (bytes == 8 ? pack<b128, uint64_t> : pack<b128, uint32_t>);
  decoder.emit(handler).d[0] = to;
  for (uint32_t row : rows)
    decoder.addToList(row);
}

static void decodeUnpack(Decoder &decoder, Type type) {
  const std::vector<Operand> &parts = decoder.operand(0).items;
  uint32_t bytes = getBytes(type) / static_cast<uint32_t>(parts.size());
  Type part = bytes == 2 ? Type::B16 : bytes == 4 ? Type::B32 : Type::B64;
  if (bytes * parts.size() != getBytes(type) || bytes < 2 || bytes > 8)
    decoder.failUnknown();
  uint32_t from = decoder.sourceRow(1, type);
  std::vector<uint32_t> rows;
  for (const Operand &each : parts)
    rows.push_back(decoder.destination(each, part));
  Handler handler =
      getBytes(type) == 4 ? unpack<uint32_t, uint16_t>
      : getBytes(type) == 8
          ? (bytes == 2 ? unpack<uint64_t, uint16_t>
                        : unpack<uint64_t, uint32_t>)
          : (bytes == 8 ? unpack<b128, uint64_t> : unpack<b128, uint32_t>);
  decoder.emit(handler).s[0] = from;
  for (uint32_t row : rows)
    decoder.addToList(row);
}

static void movePredicate(Context &context, const Inst &inst) {
  context.setPredicate(inst.d[0], context.predicates[inst.s[0]]);
}

void amp::ptx::decodeMove(Decoder &decoder) {
  Type type = decoder.modifiers.takeType();
  decoder.expectOperands(2, 2);
  if (type == Type::Pred) {
    uint32_t from = decoder.predicateSource(decoder.operand(1));
    Inst &inst = decoder.emit(movePredicate);
    inst.s[0] = from;
    inst.d[0] = decoder.predicateDestination(decoder.operand(0));
    return;
  }
  if (getBytes(type) < 2)
    decoder.failUnknown();
  if (decoder.operand(1).kind == OperandKind::Vector &&
      !decoder.operand(1).items.empty())
    return decodePack(decoder, type);
  if (decoder.operand(0).kind == OperandKind::Vector &&
      !decoder.operand(0).items.empty())
    return decodeUnpack(decoder, type);
  uint32_t from = decoder.sourceRow(1, type);
  uint32_t to = decoder.destination(0, type);
  Inst &inst =
      decoder.emit(getResizeHandler(getBytes(type), getBytes(type), false));
  inst.s[0] = from;
  inst.d[0] = to;
}

//===----------------------------------------------------------------------===//
// Generic addresses
//===----------------------------------------------------------------------===//

template <typename T>
static void addWindow(Context &context, const Inst &inst) {
  const T *a = context.row<T>(inst.s[0]);
  uint64_t window = static_cast<uint64_t>(inst.imm);
  setLanes(context, context.row<uint64_t>(inst.d[0]),
           [=](unsigned lane) { return a[lane] + window; });
}

template <typename T>
static void removeWindow(Context &context, const Inst &inst) {
  const uint64_t *a = context.row<uint64_t>(inst.s[0]);
  uint64_t window = static_cast<uint64_t>(inst.imm);
  setLanes(context, context.row<T>(inst.d[0]),
           [=](unsigned lane) { return static_cast<T>(a[lane] - window); });
}

static bool takeWindow(Modifiers &modifiers, uint64_t &window) {
  static constexpr std::pair<std::string_view, uint64_t> windows[] = {
      {"global", 0},
      {"shared", sharedWindow},
      {"shared::cta", sharedWindow},
      {"shared::cluster", sharedWindow},
      {"local", localWindow},
      {"const", constWindow},
      {"param", paramWindow},
      {"param::entry", paramWindow}};
  for (auto [name, value] : windows)
    if (modifiers.take(name)) {
      window = value;
      return true;
    }
  return false;
}

static void isInWindow(Context &context, const Inst &inst) {
  const uint64_t *a = context.row<uint64_t>(inst.s[0]);
  uint64_t top = static_cast<uint64_t>(inst.imm) >> windowShift;
  context.setPredicate(inst.d[0], collectLanes([=](unsigned lane) {
                         uint64_t found = a[lane] >> windowShift;
                         return top ? found == top : found < 0x7c;
                       }));
}

/// Blocks are clusters of their own: addresses stay as they are.
static void decodeMapToBlock(Decoder &decoder) {
  decoder.modifiers.take("shared::cluster");
  Type type = decoder.modifiers.takeType();
  decoder.expectOperands(3, 3);
  uint32_t from = decoder.sourceRow(1, type);
  uint32_t to = decoder.destination(0, type);
  Inst &inst =
      decoder.emit(getResizeHandler(getBytes(type), getBytes(type), false));
  inst.s[0] = from;
  inst.d[0] = to;
}

void amp::ptx::decodeAddressConversion(Decoder &decoder) {
  Modifiers &modifiers = decoder.modifiers;
  if (modifiers.getBase() == "mapa")
    return decodeMapToBlock(decoder);
  bool isTest = modifiers.getBase() == "isspacep";
  bool isTo = modifiers.take("to");
  uint64_t window;
  if (!takeWindow(modifiers, window))
    decoder.failUnknown();
  if (isTest) {
    decoder.expectOperands(2, 2);
    uint32_t from = decoder.sourceRow(1, Type::U64);
    Inst &inst = decoder.emit(isInWindow);
    inst.s[0] = from;
    inst.d[0] = decoder.predicateDestination(decoder.operand(0));
    inst.imm = static_cast<int64_t>(window);
    return;
  }
  Type type = modifiers.takeType();
  decoder.expectOperands(2, 2);
  // The side in the space may have 32-bit registers although type is .u64.
  bool narrowFrom =
      !isTo && getBytes(decoder.getRegisterType(decoder.operand(1))) == 4;
  bool narrowTo =
      isTo && getBytes(decoder.getRegisterType(decoder.operand(0))) == 4;
  if (getBytes(type) != 8 && !narrowFrom && !narrowTo)
    decoder.failUnknown();
  uint32_t from = decoder.sourceRow(1, narrowFrom ? Type::U32 : Type::U64);
  uint32_t to = decoder.destination(0, narrowTo ? Type::U32 : Type::U64);
  Handler handler =
      isTo ? (narrowTo ? removeWindow<uint32_t> : removeWindow<uint64_t>)
           : (narrowFrom ? addWindow<uint32_t> : addWindow<uint64_t>);
  Inst &inst = decoder.emit(handler);
  inst.s[0] = from;
  inst.d[0] = to;
  inst.imm = static_cast<int64_t>(window);
}
