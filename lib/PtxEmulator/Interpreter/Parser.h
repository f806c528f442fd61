//===- Parser.h - PTX text to statements ------------------------*- C++ -*-===//
// Declarations in Parser.cpp, bodies in ParseBody.cpp.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_PARSER_H
#define AMP_PTXEMULATOR_PARSER_H

#include "Lexer.h"
#include "Syntax.h"
#include <unordered_map>

namespace amp::ptx {

class Parser {
public:
  explicit Parser(Source &source) : source(source), lexer(source.text) {}
  void parse();

private:
  /// Names a block of a body declares.
  struct Scope {
    struct Range {
      uint32_t first, count;
      Type type;
    };
    uint32_t id;
    std::unordered_map<std::string_view, uint32_t> registers;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, const Variable *> variables;
  };

  // Parser.cpp
  void parseTopLevel();
  void skipSection();
  void parseFunction(bool isKernel);
  std::vector<std::unique_ptr<Variable>> parseParameters();
  void parseDirectives(Function &function);
  void addFunction(std::unique_ptr<Function> function);
  std::unique_ptr<Variable> parseVariable(Space space);
  uint64_t parseArrayLength(Variable &variable);
  void parseInitialiser(Variable &variable);
  void parseInitialiserValue(Variable &variable);
  void checkSize(const Variable &variable);
  std::vector<std::unique_ptr<Variable>> parseVariables(Space space);

  // ParseBody.cpp
  void parseBody(Function &into);
  void parseScope(uint32_t parent);
  void parseItem(Scope &scope);
  void parseDirective(Scope &scope);
  void parseRegisters(Scope &scope);
  void parseLabel(std::string_view name, uint32_t scope);
  void parseStatement(uint32_t scope);
  Operand parseOperand();
  Operand parseName();
  Operand parseNumber(bool negative);
  Operand parseMemory();
  Operand parseSequence(OperandKind kind, char close);
  bool findRegister(std::string_view name, uint32_t &reg);
  const Variable *findVariable(std::string_view name);

  Source &source;
  Lexer lexer;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t depth = 0;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_PARSER_H
