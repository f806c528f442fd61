//===- Syntax.h - A PTX module as it is written -----------------*- C++ -*-===//
// Statements with resolved register and variable names, before decoding.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_SYNTAX_H
#define AMP_PTXEMULATOR_SYNTAX_H

#include "Types.h"
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace amp::ptx {

/// A value in an initialiser: bits, or the address of a variable plus bits.
struct Initialiser {
  uint64_t bits;
  std::string symbol;
};

struct Variable {
  std::string name;
  Space space = Space::Global;
  Type type = Type::None;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  bool isExtern = false;
  std::vector<Initialiser> values;
  /// Where it lies in its space; set when the module is laid out.
  uint64_t offset = 0;
};

enum class OperandKind : uint8_t {
  Register,
  Special, ///< %tid.x and the like
  Integer,
  Float32,
  Float64,
  Variable,
  Symbol, ///< label, function or table
  Vector,
  Memory, ///< items[0] the base, `value` the offset, items[1..] coordinates
  List,   ///< of a call
  Sink    ///< _
};

struct Operand {
  OperandKind kind = OperandKind::Sink;
  bool negated = false;
  uint32_t reg = 0;
  /// Integer and float bits, or the offset from a variable or address.
  uint64_t value = 0;
  const Variable *variable = nullptr;
  std::string_view name;
  std::vector<Operand> items;
};

struct Statement {
  uint32_t line = 0, scope = 0;
  bool hasGuard = false, guardNegated = false;
  uint32_t guard = 0;
  /// The opcode with all modifiers, as written.
  std::string_view opcode;
  std::vector<Operand> operands;
};

struct RegisterInfo {
  std::string name;
  Type type;
};

struct Function {
  std::string name;
  bool isKernel = false, hasBody = false;
  uint32_t line = 0;
  uint32_t requiredBlock[3] = {0, 0, 0}, maxThreads = 0;
  std::vector<std::unique_ptr<Variable>> results, parameters, locals;
  std::vector<RegisterInfo> registers;
  std::vector<Statement> body;
  /// Parent of each scope; scope 0 is the body.
  std::vector<uint32_t> scopes;
  /// Label and scope to the index of the statement after it.
  std::map<std::pair<std::string_view, uint32_t>, size_t> labels;
  /// `.branchtargets` lists.
  std::map<std::pair<std::string_view, uint32_t>, std::vector<std::string_view>>
      tables;
};

struct Source {
  std::string text;
  std::vector<size_t> lineStarts;
  std::vector<std::unique_ptr<Variable>> variables;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;

  /// The text of a line without its indentation; lines count from 1.
  std::string getLine(uint32_t line) const;
};

/// Throws SyntaxError.
std::unique_ptr<Source> parseSource(std::string_view text);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_SYNTAX_H
