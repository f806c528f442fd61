//===- Decoder.h - Statements to instructions -------------------*- C++ -*-===//
// One decode function per group of opcodes; the decoder gives it operands as
// rows and takes instructions.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_DECODER_H
#define AMP_PTXEMULATOR_DECODER_H

#include "Lexer.h"
#include "Program.h"
#include <unordered_map>
#include <unordered_set>

namespace amp::ptx {

/// The parts of an opcode after its first.
class Modifiers {
public:
  explicit Modifiers(std::string_view opcode);
  std::string_view getBase() const { return base; }
  /// Whether this modifier is there; removes it.
  bool take(std::string_view name);
  bool has(std::string_view name) const;
  /// Whether all of them are there; removes them.
  bool takeAll(std::initializer_list<std::string_view> names);
  /// The last type, removed; None if there is none.
  Type takeType();
  /// The first part, removed; empty if there is none.
  std::string_view takeFirst();
  std::string_view first() const { return parts.empty() ? "" : parts[0]; }
  bool empty() const { return parts.empty(); }

private:
  std::string_view base;
  std::vector<std::string_view> parts;
};

class Decoder {
public:
  Decoder(std::shared_ptr<const Source> source, Program &program)
      : source(std::move(source)), program(program) {}
  /// Decodes a kernel and all functions it calls.
  void decode(const Function &kernel);

  // What decode functions use.
  Modifiers modifiers{""};
  Program &getProgram() { return program; }
  size_t getNumOperands() const { return statement->operands.size(); }
  const Operand &operand(size_t index) const;
  /// Throws unless there are between `least` and `most` operands.
  void expectOperands(size_t least, size_t most);
  /// Row of the operand's value; at the width of `type`.
  uint32_t sourceRow(const Operand &operand, Type type);
  uint32_t sourceRow(size_t index, Type type) {
    return sourceRow(operand(index), type);
  }
  /// Row that takes a result of `type`; if the register is wider the result is
  /// extended by its sign after the statement.
  uint32_t destination(const Operand &operand, Type type);
  uint32_t destination(size_t index, Type type) {
    return destination(operand(index), type);
  }
  /// Number of a predicate; a negated one is computed into a new one.
  uint32_t predicateSource(const Operand &operand);
  uint32_t predicateDestination(const Operand &operand);
  /// Address rows: 8 bytes each; offset in `offset`. A variable's address is a
  /// constant row in the space `space` addresses.
  uint32_t address(const Operand &memory, Space space, int64_t &offset);
  /// An integer written in the text.
  int64_t constantOperand(const Operand &operand);
  uint32_t constantRow(uint64_t value, uint32_t bytes);
  uint32_t newRow(uint32_t bytes);
  uint32_t newPredicate() { return program.numPredicates++; }
  /// The predicate that holds carries.
  uint32_t getCarry();
  Type getRegisterType(const Operand &operand) const;
  bool isPredicate(const Operand &operand) const;
  const Variable *getKernelParameter(const Operand &operand) const;
  /// Whether the statement is the kernel's own.
  bool isInKernel() const { return function == kernel; }
  /// In the space of the variable.
  uint64_t getAddress(const Variable &variable) const;

  Inst &emit(Handler handler);
  /// The operand list of the instruction emitted last.
  void addToList(uint32_t row);
  void branchTo(std::string_view label);
  /// The instruction emitted last calls the function.
  void callFunction(const Function &callee);
  const Function *findFunction(std::string_view name) const;
  const std::vector<std::string_view> *findTable(std::string_view name) const;
  void addListLabel(std::string_view label);
  [[noreturn]] void fail(const std::string &message) const;
  [[noreturn]] void failUnknown() const;
  uint32_t getLine() const { return statement->line; }

private:
  struct Fixup {
    size_t index; // of an instruction, or of a list entry
    bool inList;
    std::string_view label;
    uint32_t scope, line;
  };
  struct Extension {
    uint32_t to, from;
    Type type;
    uint32_t toBytes;
  };
  void decodeFunction(const Function &function);
  void decodeStatement(const Statement &statement);
  void resolveFixups(const std::vector<int32_t> &starts);
  void layOutFrame(const Function &function);
  void collect(const Function &function);
  void noteShared(const Operand &operand);
  void layOutShared();
  uint32_t registerRow(uint32_t reg);
  uint32_t specialRow(const Operand &operand, Type type);

  std::shared_ptr<const Source> source;
  Program &program;
  const Function *function = nullptr, *kernel = nullptr;
  const Statement *statement = nullptr;
  std::unordered_map<uint32_t, uint32_t> rows;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> constantRows;
  std::map<std::pair<SpecialKind, uint32_t>, uint32_t> specialRows;
  std::vector<Extension> extensions;
  uint32_t carry = 0;
  std::vector<Fixup> fixups;
  std::unordered_map<const Variable *, uint64_t> frame;
  std::unordered_map<const Function *, int32_t> entries;
  std::vector<std::pair<size_t, const Function *>> calls;
  std::vector<const Function *> functions, callStack;
  std::unordered_set<const Variable *> sharedVariables;
};

using DecodeFunction = void (*)(Decoder &);

// One per topic; they throw SyntaxError on forms they do not know.
void decodeIntegerArithmetic(Decoder &decoder, Type type);
void decodeFloatArithmetic(Decoder &decoder, Type type);
void decodeHalfArithmetic(Decoder &decoder, Type type);
void decodeArithmetic(Decoder &decoder);
void decodeDot(Decoder &decoder);
void decodeTestClass(Decoder &decoder);
void decodeApproximation(Decoder &decoder);
/// rcp and rsqrt .approx.ftz.f64, whose type is taken already.
void decodeGrossApproximation(Decoder &decoder);
void decodeBits(Decoder &decoder);
void decodeConvert(Decoder &decoder);
void decodeCompare(Decoder &decoder);
void decodeMove(Decoder &decoder);
void decodeAddressConversion(Decoder &decoder);
void decodeMemory(Decoder &decoder);
void decodeAtomic(Decoder &decoder);
void decodeAsyncCopy(Decoder &decoder);
void decodeBulkCopy(Decoder &decoder);
void decodeMatrixMemory(Decoder &decoder);
void decodeMma(Decoder &decoder);
void decodeWgmma(Decoder &decoder);
void decodeSetMaxRegisters(Decoder &decoder);
void decodeWarp(Decoder &decoder);
void decodeControl(Decoder &decoder);
void decodeBarrier(Decoder &decoder);
void decodeMbarrier(Decoder &decoder);
void decodeFence(Decoder &decoder);
void decodeNothing(Decoder &decoder);

/// Null if no opcode starts so.
DecodeFunction findDecodeFunction(std::string_view base);
/// The first parts of all opcodes, in no order.
std::vector<std::string_view> getOpcodes();

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_DECODER_H
