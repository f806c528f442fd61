//===- DecodeOperands.cpp - Operands to rows ------------------------------===//
// Registers, immediates, special registers and addresses of variables.
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "Logic.h"
#include "Move.h"
#include <cstring>

using namespace amp::ptx;

const Operand &Decoder::operand(size_t index) const {
  if (index >= statement->operands.size())
    fail("'" + std::string(statement->opcode) + "' has too few operands");
  return statement->operands[index];
}

void Decoder::expectOperands(size_t least, size_t most) {
  size_t count = getNumOperands();
  if (count < least || count > most)
    fail("'" + std::string(statement->opcode) + "' has " +
         std::to_string(count) + " operands, which it cannot have");
  if (!modifiers.empty())
    failUnknown();
}

uint32_t Decoder::newRow(uint32_t bytes) {
  static constexpr uint32_t maxRowBytes = 1u << 28;
  uint32_t row = program.rowBytes;
  program.rowBytes += bytes * numLanes;
  if (program.rowBytes > maxRowBytes)
    fail("too many registers");
  return row;
}

uint32_t Decoder::registerRow(uint32_t reg) {
  auto it = rows.find(reg);
  if (it != rows.end())
    return it->second;
  Type type = function->registers[reg].type;
  uint32_t row;
  if (type == Type::Pred) {
    row = newPredicate();
  } else {
    row = newRow(std::max(getBytes(type), 2u));
    program.numRegisters += std::max(getBytes(type), 4u) / 4;
  }
  rows[reg] = row;
  return row;
}

Type Decoder::getRegisterType(const Operand &operand) const {
  return operand.kind == OperandKind::Register
             ? function->registers[operand.reg].type
             : Type::None;
}

bool Decoder::isPredicate(const Operand &operand) const {
  return getRegisterType(operand) == Type::Pred;
}

uint32_t Decoder::constantRow(uint64_t value, uint32_t bytes) {
  if (bytes < 8)
    value &= (uint64_t(1) << 8 * bytes) - 1;
  auto [it, isNew] = constantRows.insert({{value, bytes}, 0});
  if (isNew) {
    it->second = newRow(bytes);
    program.constants.push_back({it->second, bytes, value});
  }
  return it->second;
}

/// Bits of a float operand at the width of the instruction.
static uint64_t convertFloat(const Operand &operand, Type type) {
  if (operand.kind == OperandKind::Float32 && getBytes(type) == 8) {
    float narrow;
    uint32_t bits = static_cast<uint32_t>(operand.value);
    std::memcpy(&narrow, &bits, 4);
    double wide = narrow;
    uint64_t result;
    std::memcpy(&result, &wide, 8);
    return result;
  }
  if (operand.kind == OperandKind::Float64 && getBytes(type) == 4) {
    double wide;
    std::memcpy(&wide, &operand.value, 8);
    float narrow = static_cast<float>(wide);
    uint32_t result;
    std::memcpy(&result, &narrow, 4);
    return result;
  }
  return operand.value;
}

static const std::map<std::string_view, SpecialKind> &getSpecialKinds() {
  static const std::map<std::string_view, SpecialKind> kinds = {
      {"%tid.x", SpecialKind::TidX},
      {"%tid.y", SpecialKind::TidY},
      {"%tid.z", SpecialKind::TidZ},
      {"%ntid.x", SpecialKind::NtidX},
      {"%ntid.y", SpecialKind::NtidY},
      {"%ntid.z", SpecialKind::NtidZ},
      {"%ctaid.x", SpecialKind::CtaidX},
      {"%ctaid.y", SpecialKind::CtaidY},
      {"%ctaid.z", SpecialKind::CtaidZ},
      {"%nctaid.x", SpecialKind::NctaidX},
      {"%nctaid.y", SpecialKind::NctaidY},
      {"%nctaid.z", SpecialKind::NctaidZ},
      // Clusters of one block.
      {"%clusterid.x", SpecialKind::CtaidX},
      {"%clusterid.y", SpecialKind::CtaidY},
      {"%clusterid.z", SpecialKind::CtaidZ},
      {"%nclusterid.x", SpecialKind::NctaidX},
      {"%nclusterid.y", SpecialKind::NctaidY},
      {"%nclusterid.z", SpecialKind::NctaidZ},
      {"%cluster_ctaid.x", SpecialKind::Zero},
      {"%cluster_ctaid.y", SpecialKind::Zero},
      {"%cluster_ctaid.z", SpecialKind::Zero},
      {"%cluster_nctaid.x", SpecialKind::One},
      {"%cluster_nctaid.y", SpecialKind::One},
      {"%cluster_nctaid.z", SpecialKind::One},
      {"%cluster_ctarank", SpecialKind::Zero},
      {"%cluster_nctarank", SpecialKind::One},
      {"%laneid", SpecialKind::LaneId},
      {"%warpid", SpecialKind::WarpId},
      {"%nwarpid", SpecialKind::NumWarps},
      {"%smid", SpecialKind::Zero},
      {"%nsmid", SpecialKind::One},
      {"%gridid", SpecialKind::Zero},
      {"%lanemask_eq", SpecialKind::LaneMaskEq},
      {"%lanemask_lt", SpecialKind::LaneMaskLt},
      {"%lanemask_le", SpecialKind::LaneMaskLe},
      {"%lanemask_gt", SpecialKind::LaneMaskGt},
      {"%lanemask_ge", SpecialKind::LaneMaskGe},
      {"%dynamic_smem_size", SpecialKind::DynamicShared},
      {"%total_smem_size", SpecialKind::TotalShared},
      // Time stands still, so that runs are equal.
      {"%clock", SpecialKind::Zero},
      {"%clock64", SpecialKind::Zero},
      {"%globaltimer", SpecialKind::Zero},
  };
  return kinds;
}

uint32_t Decoder::specialRow(const Operand &operand, Type type) {
  auto kind = getSpecialKinds().find(operand.name);
  if (kind == getSpecialKinds().end())
    fail("register '" + std::string(operand.name) + "' is not declared");
  uint32_t bytes = std::max(getBytes(type), 2u);
  auto [it, isNew] = specialRows.insert({{kind->second, bytes}, 0});
  if (isNew) {
    it->second = newRow(bytes);
    program.specials.push_back({kind->second, it->second, bytes});
  }
  return it->second;
}

uint64_t Decoder::getAddress(const Variable &variable) const {
  auto it = frame.find(&variable);
  return it == frame.end() ? variable.offset : it->second;
}

uint32_t Decoder::sourceRow(const Operand &from, Type type) {
  uint32_t bytes = std::max(getBytes(type), 2u);
  switch (from.kind) {
  case OperandKind::Integer:
    return constantRow(from.value, bytes);
  case OperandKind::Float32:
  case OperandKind::Float64:
    return constantRow(convertFloat(from, type), bytes);
  case OperandKind::Variable:
    return constantRow(getAddress(*from.variable) + from.value, bytes);
  case OperandKind::Special:
    return specialRow(from, type);
  case OperandKind::Register:
    break;
  default:
    fail("operand '" + std::string(from.name) + "' is no value");
  }
  Type registerType = getRegisterType(from);
  uint32_t registerBytes = std::max(getBytes(registerType), 2u);
  if (registerType == Type::Pred || registerBytes < bytes)
    fail("register '" + function->registers[from.reg].name +
         "' does not hold a value of type ." + std::string(getName(type)));
  uint32_t row = registerRow(from.reg);
  if (registerBytes == bytes)
    return row;
  uint32_t narrow = newRow(bytes);
  Inst &inst = emit(getResizeHandler(bytes, registerBytes, false));
  inst.d[0] = narrow;
  inst.s[0] = row;
  return narrow;
}

uint32_t Decoder::destination(const Operand &to, Type type) {
  uint32_t bytes = std::max(getBytes(type), 2u);
  if (to.kind == OperandKind::Sink)
    return newRow(bytes);
  Type registerType = getRegisterType(to);
  uint32_t registerBytes = std::max(getBytes(registerType), 2u);
  if (to.kind != OperandKind::Register || registerType == Type::Pred ||
      registerBytes < bytes)
    fail("'" + std::string(to.name) + "' takes no result of type ." +
         std::string(getName(type)));
  uint32_t row = registerRow(to.reg);
  if (registerBytes == bytes)
    return row;
  uint32_t narrow = newRow(bytes);
  // A row of 8-bit values is one of 16 bits, extended already.
  Type held = type == Type::S8 ? Type::S16
              : bytes == 2     ? (type == Type::S16 ? type : Type::U16)
                               : type;
  extensions.push_back({row, narrow, held, registerBytes});
  return narrow;
}

uint32_t Decoder::predicateSource(const Operand &from) {
  if (from.kind == OperandKind::Integer)
    return from.value ? Program::always : Program::never;
  if (!isPredicate(from))
    fail("'" + std::string(from.name) + "' is no predicate");
  uint32_t number = registerRow(from.reg);
  if (!from.negated)
    return number;
  uint32_t inverse = newPredicate();
  Inst &inst = emit(handlePredicateNot);
  inst.d[0] = inverse;
  inst.s[0] = number;
  return inverse;
}

uint32_t Decoder::predicateDestination(const Operand &to) {
  if (to.kind == OperandKind::Sink)
    return Program::sinkPredicate;
  if (!isPredicate(to))
    fail("'" + std::string(to.name) + "' is no predicate");
  return registerRow(to.reg);
}

uint32_t Decoder::getCarry() {
  if (!carry)
    carry = newPredicate();
  return carry;
}

int64_t Decoder::constantOperand(const Operand &from) {
  if (from.kind != OperandKind::Integer)
    fail("operand '" + std::string(from.name) + "' must be a number");
  return static_cast<int64_t>(from.value);
}

const Variable *Decoder::getKernelParameter(const Operand &from) const {
  if (from.kind != OperandKind::Variable)
    return nullptr;
  for (const auto &parameter : kernel->parameters)
    if (parameter.get() == from.variable)
      return from.variable;
  return nullptr;
}

static uint64_t getWindow(Space space) {
  switch (space) {
  case Space::Const:
    return constWindow;
  case Space::Local:
    return localWindow;
  case Space::Shared:
    return sharedWindow;
  case Space::Param:
    return paramWindow;
  default:
    return 0;
  }
}

uint32_t Decoder::address(const Operand &memory, Space space, int64_t &offset) {
  if (memory.kind != OperandKind::Memory)
    fail("expected an address in brackets");
  const Operand &base = memory.items[0];
  offset = static_cast<int64_t>(memory.value);
  switch (base.kind) {
  case OperandKind::Integer: // the parser put it into the offset
    return constantRow(0, 8);
  case OperandKind::Variable: {
    uint64_t at = getAddress(*base.variable) + base.value;
    if (space == Space::Generic)
      at += getWindow(base.variable->space);
    return constantRow(at, 8);
  }
  case OperandKind::Register: {
    uint32_t bytes = getBytes(getRegisterType(base));
    if (bytes == 8)
      return registerRow(base.reg);
    if (bytes != 4)
      fail("'" + std::string(base.name) + "' holds no address");
    // 32-bit addresses wrap around in 32 bits.
    uint32_t wide = newRow(8);
    Inst &inst = emit(handleWidenAddress);
    inst.d[0] = wide;
    inst.s[0] = registerRow(base.reg);
    inst.imm = offset;
    offset = 0;
    return wide;
  }
  default:
    fail("'" + std::string(base.name) + "' is no address");
  }
}
