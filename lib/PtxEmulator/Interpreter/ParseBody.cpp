//===- ParseBody.cpp - Bodies of PTX functions ----------------------------===//
// Scopes with registers and variables; labels; statements with operands.
//===----------------------------------------------------------------------===//

#include "Parser.h"
#include <algorithm>
#include <cctype>

using namespace amp::ptx;

static constexpr uint32_t maxRegisters = 1 << 20, maxDepth = 64;

void Parser::parseBody(Function &into) {
  function = &into;
  lexer.expect('{');
  parseScope(0);
  function = nullptr;
}

void Parser::parseScope(uint32_t parent) {
  if (scopes.size() == maxDepth)
    lexer.fail("blocks are nested too deep");
  uint32_t id = static_cast<uint32_t>(function->scopes.size());
  function->scopes.push_back(parent);
  scopes.emplace_back();
  scopes.back().id = id;
  while (!lexer.consume('}')) {
    if (lexer.peek().kind == TokenKind::End)
      lexer.fail("body of '" + function->name + "' has no end");
    if (lexer.consume('{'))
      parseScope(id);
    else
      parseItem(scopes.back());
  }
  scopes.pop_back();
}

void Parser::parseItem(Scope &scope) {
  if (lexer.consume(';'))
    return;
  if (lexer.is('@'))
    return parseStatement(scope.id);
  if (lexer.peek().kind != TokenKind::Word)
    lexer.fail("expected an instruction, but got '" +
               std::string(lexer.peek().text) + "'");
  if (lexer.peek().text[0] == '.')
    return parseDirective(scope);
  parseStatement(scope.id);
}

void Parser::parseDirective(Scope &scope) {
  if (lexer.consumeWord(".reg"))
    return parseRegisters(scope);
  if (lexer.isWord(".loc"))
    return lexer.skipLine();
  if (lexer.consumeWord(".pragma")) {
    while (lexer.peek().kind == TokenKind::String || lexer.is(','))
      lexer.take();
    return lexer.expect(';');
  }
  static constexpr std::pair<std::string_view, Space> spaces[] = {
      {".local", Space::Local},
      {".param", Space::Param},
      {".shared", Space::Shared},
      {".global", Space::Global},
      {".const", Space::Const}};
  for (auto [word, space] : spaces)
    if (lexer.consumeWord(word)) {
      for (auto &variable : parseVariables(space)) {
        Variable *added = variable.get();
        if (space == Space::Local || space == Space::Param)
          function->locals.push_back(std::move(variable));
        else
          source.variables.push_back(std::move(variable));
        scope.variables[added->name] = added;
      }
      return;
    }
  lexer.fail("unknown directive '" + std::string(lexer.peek().text) + "'");
}

void Parser::parseRegisters(Scope &scope) {
  Token word = lexer.expectWord("a type");
  Type type = parseType(word.text.substr(1));
  if (type == Type::None)
    lexer.fail("unknown register type '" + std::string(word.text) + "'");
  do {
    std::string_view name = lexer.expectWord("a register").text;
    uint32_t first = static_cast<uint32_t>(function->registers.size());
    uint64_t count = 1;
    bool isRange = lexer.consume('<');
    if (isRange) {
      count = lexer.expectInteger("a number of registers");
      lexer.expect('>');
    }
    if (count > maxRegisters || first + count > maxRegisters)
      lexer.fail("too many registers");
    for (uint64_t i = 0; i < count; ++i)
      function->registers.push_back(
          {isRange ? std::string(name) + std::to_string(i) : std::string(name),
           type});
    if (isRange)
      scope.ranges[name] = {first, static_cast<uint32_t>(count), type};
    else
      scope.registers[name] = first;
  } while (lexer.consume(','));
  lexer.expect(';');
}

/// After "name:"; `.branchtargets` may follow, or a prototype.
void Parser::parseLabel(std::string_view name, uint32_t scope) {
  if (lexer.consumeWord(".branchtargets")) {
    auto &table = function->tables[{name, scope}];
    do
      table.push_back(lexer.expectWord("a label").text);
    while (lexer.consume(','));
    return lexer.expect(';');
  }
  if (lexer.isWord(".callprototype") || lexer.isWord(".calltargets")) {
    while (lexer.peek().kind != TokenKind::End && !lexer.consume(';'))
      lexer.take();
    return;
  }
  if (!function->labels.insert({{name, scope}, function->body.size()}).second)
    lexer.fail("label '" + std::string(name) + "' is defined twice");
}

void Parser::parseStatement(uint32_t scope) {
  Statement statement;
  statement.line = lexer.peek().line;
  statement.scope = scope;
  if (lexer.consume('@')) {
    statement.hasGuard = true;
    statement.guardNegated = lexer.consume('!');
    std::string_view name = lexer.expectWord("a predicate").text;
    if (!findRegister(name, statement.guard) ||
        function->registers[statement.guard].type != Type::Pred)
      lexer.fail("unknown predicate '" + std::string(name) + "'");
  }
  statement.opcode = lexer.expectWord("an opcode").text;
  if (!statement.hasGuard && lexer.consume(':'))
    return parseLabel(statement.opcode, scope);
  if (!lexer.is(';')) {
    do {
      statement.operands.push_back(parseOperand());
      if (lexer.consume('|')) // two destinations: value and predicate
        statement.operands.push_back(parseOperand());
    } while (lexer.consume(','));
  }
  lexer.expect(';');
  function->body.push_back(std::move(statement));
}

Operand Parser::parseSequence(OperandKind kind, char close) {
  if (++depth > maxDepth)
    lexer.fail("operands are nested too deep");
  Operand operand;
  operand.kind = kind;
  if (!lexer.consume(close)) {
    do
      operand.items.push_back(parseOperand());
    while (lexer.consume(','));
    lexer.expect(close);
  }
  --depth;
  return operand;
}

Operand Parser::parseOperand() {
  if (lexer.consume('{'))
    return parseSequence(OperandKind::Vector, '}');
  if (lexer.consume('('))
    return parseSequence(OperandKind::List, ')');
  if (lexer.consume('['))
    return parseMemory();
  bool negated = lexer.consume('!');
  bool negative = !negated && lexer.consume('-');
  Operand operand;
  if (lexer.peek().kind == TokenKind::Word && !negative)
    operand = parseName();
  else
    operand = parseNumber(negative);
  operand.negated = negated;
  return operand;
}

Operand Parser::parseNumber(bool negative) {
  Token token = lexer.take();
  Operand operand;
  operand.value = token.bits;
  switch (token.kind) {
  case TokenKind::Integer:
    operand.kind = OperandKind::Integer;
    operand.value = negative ? -token.bits : token.bits;
    return operand;
  case TokenKind::Float32:
    operand.kind = OperandKind::Float32;
    operand.value ^= negative ? uint64_t(1) << 31 : 0;
    return operand;
  case TokenKind::Float64:
    operand.kind = OperandKind::Float64;
    operand.value ^= negative ? uint64_t(1) << 63 : 0;
    return operand;
  default:
    lexer.fail("expected an operand, but got '" + std::string(token.text) +
               "'");
  }
}

/// A register, special register, variable with offset, or label.
Operand Parser::parseName() {
  Operand operand;
  operand.name = lexer.take().text;
  if (operand.name == "_")
    return operand;
  if (operand.name == "WARP_SZ") {
    operand.kind = OperandKind::Integer;
    operand.value = 32;
  } else if (findRegister(operand.name, operand.reg)) {
    operand.kind = OperandKind::Register;
  } else if (const Variable *variable = findVariable(operand.name)) {
    operand.kind = OperandKind::Variable;
    operand.variable = variable;
    // Inside [...] the sign belongs to the address.
    if (depth == 0 && lexer.consume('+'))
      operand.value = lexer.expectInteger("an offset");
  } else if (operand.name[0] == '%') {
    operand.kind = OperandKind::Special;
  } else {
    operand.kind = OperandKind::Symbol;
  }
  return operand;
}

/// [base], [base+offset], [map, {coordinates}]; the bracket is taken.
Operand Parser::parseMemory() {
  if (++depth > maxDepth)
    lexer.fail("operands are nested too deep");
  Operand operand;
  operand.kind = OperandKind::Memory;
  operand.items.push_back(parseOperand());
  Operand &base = operand.items[0];
  if (base.kind == OperandKind::Integer)
    operand.value = base.value;
  while (lexer.is('+') || lexer.is('-')) {
    bool negative = lexer.consume('-');
    if (!negative) {
      lexer.take();
      negative = lexer.consume('-');
    }
    uint64_t offset = lexer.expectInteger("an offset");
    operand.value += negative ? -offset : offset;
  }
  while (lexer.consume(','))
    operand.items.push_back(parseOperand());
  lexer.expect(']');
  --depth;
  return operand;
}

bool Parser::findRegister(std::string_view name, uint32_t &reg) {
  size_t digits = name.size();
  while (digits > 0 &&
         std::isdigit(static_cast<unsigned char>(name[digits - 1])))
    --digits;
  std::string_view prefix = name.substr(0, digits);
  uint64_t number = 0;
  for (char c : name.substr(digits).substr(0, 9))
    number = number * 10 + (c - '0');
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    if (auto it = scope->registers.find(name); it != scope->registers.end()) {
      reg = it->second;
      return true;
    }
    auto it = scope->ranges.find(prefix);
    if (it != scope->ranges.end() && digits < name.size() &&
        number < it->second.count) {
      reg = it->second.first + static_cast<uint32_t>(number);
      return true;
    }
  }
  return false;
}

const Variable *Parser::findVariable(std::string_view name) {
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
    if (auto it = scope->variables.find(name); it != scope->variables.end())
      return it->second;
  for (auto *list : {&function->parameters, &function->results})
    for (const auto &variable : *list)
      if (variable->name == name)
        return variable.get();
  for (auto it = source.variables.rbegin(); it != source.variables.rend(); ++it)
    if ((*it)->name == name)
      return it->get();
  return nullptr;
}
