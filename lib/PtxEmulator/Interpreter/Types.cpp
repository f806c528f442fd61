//===- Types.cpp - Types and state spaces of PTX --------------------------===//
// One table row per type.
//===----------------------------------------------------------------------===//

#include "Types.h"

using namespace amp::ptx;

namespace {
enum Class : uint8_t { Bits, Unsigned, Signed, Float };
struct Row {
  std::string_view name;
  Class kind;
  uint8_t bytes;
};
} // namespace

static constexpr Row rows[] = {
    {"", Bits, 0},        {"pred", Bits, 0},    {"b8", Bits, 1},
    {"u8", Unsigned, 1},  {"s8", Signed, 1},    {"b16", Bits, 2},
    {"u16", Unsigned, 2}, {"s16", Signed, 2},   {"f16", Float, 2},
    {"bf16", Float, 2},   {"b32", Bits, 4},     {"u32", Unsigned, 4},
    {"s32", Signed, 4},   {"f32", Float, 4},    {"tf32", Float, 4},
    {"f16x2", Float, 4},  {"bf16x2", Float, 4}, {"b64", Bits, 8},
    {"u64", Unsigned, 8}, {"s64", Signed, 8},   {"f64", Float, 8},
    {"b128", Bits, 16}};

Type amp::ptx::parseType(std::string_view name) {
  for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); ++i)
    if (rows[i].name == name)
      return static_cast<Type>(i);
  return Type::None;
}

static const Row &getRow(Type type) { return rows[static_cast<size_t>(type)]; }

uint32_t amp::ptx::getBytes(Type type) { return getRow(type).bytes; }
bool amp::ptx::isFloat(Type type) { return getRow(type).kind == Float; }
bool amp::ptx::isSigned(Type type) { return getRow(type).kind == Signed; }
std::string_view amp::ptx::getName(Type type) { return getRow(type).name; }
