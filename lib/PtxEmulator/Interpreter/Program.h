//===- Program.h - A kernel made ready to run -------------------*- C++ -*-===//
// Every operand is a row of 32 lanes in the register file of a warp: virtual
// registers, immediates and special registers alike.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_PROGRAM_H
#define AMP_PTXEMULATOR_PROGRAM_H

#include "Syntax.h"
#include "amp/PtxEmulator/Interpreter/Module.h"

namespace amp::ptx {

constexpr unsigned numLanes = 32;
constexpr uint32_t allLanes = ~uint32_t(0);

/// Generic addresses of the spaces that are no host memory have these tops.
constexpr unsigned windowShift = 56;
constexpr uint64_t paramWindow = uint64_t(0x7c) << windowShift,
                   constWindow = uint64_t(0x7d) << windowShift,
                   localWindow = uint64_t(0x7e) << windowShift,
                   sharedWindow = uint64_t(0x7f) << windowShift;

struct Context;
struct Inst;
using Handler = void (*)(Context &, const Inst &);

/// `d` and `s` are byte offsets of rows, or predicate numbers.
struct Inst {
  Handler handler = nullptr;
  /// Lanes run where predicate `guard` xor `guardFlip` has a bit.
  uint32_t guard = 0, guardFlip = 0;
  uint32_t d[2] = {0, 0}, s[4] = {0, 0, 0, 0};
  int64_t imm = 0;
  int32_t imm2 = 0;
  /// First of `count` operands in Program::lists.
  uint32_t list = 0;
  uint16_t count = 0, flags = 0;
  int32_t target = -1;
  uint32_t line = 0;
};

enum class SpecialKind : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NumWarps,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe,
  DynamicShared,
  TotalShared,
  Zero,
  One
};

struct Program {
  /// Predicates that are always true and always false.
  static constexpr uint32_t always = 0, never = 1;
  static constexpr uint32_t sinkPredicate = 2, numReservedPredicates = 3;

  struct Constant {
    uint32_t offset, bytes;
    uint64_t value;
  };
  struct SpecialRow {
    SpecialKind kind;
    uint32_t offset, bytes;
  };

  std::string name;
  std::shared_ptr<const Source> source;
  std::vector<Inst> code;
  std::vector<uint32_t> lists;
  std::vector<Constant> constants;
  std::vector<SpecialRow> specials;
  std::vector<Parameter> parameters;
  uint32_t rowBytes = 0, numPredicates = numReservedPredicates;
  uint32_t numRegisters = 0;
  uint32_t parameterBytes = 0, staticShared = 0, localBytes = 0;
  std::array<uint32_t, 3> requiredBlock{0, 0, 0};
  uint32_t maxThreads = 1024;
  /// Global atomics: blocks run one after the other.
  bool isOrdered = false;
  /// Binary logarithm of the smallest access to shared memory, at most 2.
  uint32_t granuleShift = 2;
  const uint8_t *constBank = nullptr;
  uint64_t constBytes = 0;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_PROGRAM_H
