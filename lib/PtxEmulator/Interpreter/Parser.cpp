//===- Parser.cpp - Declarations of a PTX module --------------------------===//
// Variables with initialisers, functions with parameters and directives.
//===----------------------------------------------------------------------===//

#include "Parser.h"

using namespace amp::ptx;

static constexpr uint64_t maxVariableBytes = uint64_t(1) << 32;

std::string Source::getLine(uint32_t line) const {
  if (line == 0 || line > lineStarts.size())
    return "";
  size_t begin = lineStarts[line - 1];
  size_t end = text.find('\n', begin);
  std::string found = text.substr(begin, end - begin);
  begin = found.find_first_not_of(" \t\r");
  end = found.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : found.substr(begin, end + 1 - begin);
}

std::unique_ptr<Source> amp::ptx::parseSource(std::string_view text) {
  auto source = std::make_unique<Source>();
  source->text = std::string(text.substr(0, text.find('\0')));
  source->lineStarts.push_back(0);
  for (size_t i = 0; i < source->text.size(); ++i)
    if (source->text[i] == '\n')
      source->lineStarts.push_back(i + 1);
  Parser(*source).parse();
  return source;
}

void Parser::parse() {
  if (!lexer.isWord(".version"))
    lexer.fail("PTX starts with .version, but got '" +
               std::string(lexer.peek().text.substr(0, 20)) + "'");
  while (lexer.peek().kind != TokenKind::End)
    parseTopLevel();
}

/// Debug information: everything in its braces.
void Parser::skipSection() {
  lexer.take();
  lexer.take();
  lexer.expect('{');
  while (lexer.peek().kind != TokenKind::End && !lexer.consume('}'))
    lexer.take();
}

void Parser::parseTopLevel() {
  static constexpr std::string_view ignoredLines[] = {
      ".version", ".target", ".address_size", ".file", ".loc", ".alias"};
  for (std::string_view word : ignoredLines)
    if (lexer.isWord(word))
      return lexer.skipLine();
  if (lexer.isWord(".section"))
    return skipSection();
  bool isExtern = false;
  while (true) {
    if (lexer.consumeWord(".extern"))
      isExtern = true;
    else if (!lexer.consumeWord(".visible") && !lexer.consumeWord(".weak") &&
             !lexer.consumeWord(".common"))
      break;
  }
  if (lexer.consumeWord(".entry"))
    return parseFunction(true);
  if (lexer.consumeWord(".func"))
    return parseFunction(false);
  static constexpr std::pair<std::string_view, Space> spaces[] = {
      {".global", Space::Global},
      {".const", Space::Const},
      {".shared", Space::Shared}};
  for (auto [word, space] : spaces)
    if (lexer.consumeWord(word)) {
      for (auto &variable : parseVariables(space)) {
        variable->isExtern = isExtern;
        source.variables.push_back(std::move(variable));
      }
      return;
    }
  lexer.fail("unknown directive '" + std::string(lexer.peek().text) + "'");
}

std::vector<std::unique_ptr<Variable>> Parser::parseVariables(Space space) {
  std::vector<std::unique_ptr<Variable>> variables;
  variables.push_back(parseVariable(space));
  while (lexer.consume(',')) {
    auto next = std::make_unique<Variable>();
    next->space = space;
    next->type = variables[0]->type;
    next->alignment = variables[0]->alignment;
    next->name = std::string(lexer.expectWord("a name").text);
    next->bytes = getBytes(next->type) * parseArrayLength(*next);
    parseInitialiser(*next);
    checkSize(*next);
    variables.push_back(std::move(next));
  }
  lexer.expect(';');
  return variables;
}

/// .align 4 .b8 name[16] = {...}, without what ends it.
std::unique_ptr<Variable> Parser::parseVariable(Space space) {
  auto variable = std::make_unique<Variable>();
  variable->space = space;
  uint32_t vector = 1, alignment = 0;
  while (lexer.peek().kind == TokenKind::Word && lexer.peek().text[0] == '.') {
    std::string_view word = lexer.take().text.substr(1);
    if (word == "align")
      alignment = static_cast<uint32_t>(lexer.expectInteger("an alignment"));
    else if (word == "v2" || word == "v4")
      vector = word[1] - '0';
    else if (word == "attribute") {
      while (!lexer.consume(')') && lexer.peek().kind != TokenKind::End)
        lexer.take();
    } else if (parseType(word) != Type::None)
      variable->type = parseType(word);
    else if (word != "ptr" && word != "global" && word != "shared" &&
             word != "const" && word != "local" && word != "param")
      lexer.fail("unknown attribute '." + std::string(word) + "'");
  }
  uint32_t bytes = getBytes(variable->type);
  if (!bytes)
    lexer.fail("variable has no type with a size");
  variable->name = std::string(lexer.expectWord("a name").text);
  variable->alignment = std::max(alignment, bytes * vector);
  if (space == Space::Param && alignment && bytes > 1)
    variable->alignment = bytes; // .ptr .align speaks of what it points to
  if (variable->alignment & (variable->alignment - 1))
    lexer.fail("alignment is no power of two");
  variable->bytes = bytes * vector * parseArrayLength(*variable);
  parseInitialiser(*variable);
  checkSize(*variable);
  return variable;
}

void Parser::checkSize(const Variable &variable) {
  if (variable.bytes > maxVariableBytes)
    lexer.fail("variable '" + variable.name + "' is too large");
}

/// Elements; of an array without a length, 0.
uint64_t Parser::parseArrayLength(Variable &variable) {
  uint64_t length = 1;
  while (lexer.consume('[')) {
    if (lexer.consume(']'))
      return 0;
    uint64_t extent = lexer.expectInteger("an array length");
    if (extent > maxVariableBytes || length * extent > maxVariableBytes)
      lexer.fail("variable '" + variable.name + "' is too large");
    length *= extent;
    lexer.expect(']');
  }
  return length;
}

void Parser::parseInitialiser(Variable &variable) {
  if (!lexer.consume('='))
    return;
  uint32_t braces = 0;
  do {
    while (lexer.consume('{'))
      ++braces;
    if (!braces || !lexer.is('}'))
      parseInitialiserValue(variable);
    while (braces && lexer.consume('}'))
      --braces;
  } while (lexer.consume(',') && braces);
  if (braces)
    lexer.fail("initialiser of '" + variable.name + "' has no end");
  uint64_t bytes = variable.values.size() * getBytes(variable.type);
  if (variable.bytes == 0)
    variable.bytes = bytes;
  if (bytes > variable.bytes)
    lexer.fail("initialiser of '" + variable.name + "' is too long");
}

void Parser::parseInitialiserValue(Variable &variable) {
  Initialiser value{0, ""};
  bool negative = lexer.consume('-');
  if (lexer.peek().kind == TokenKind::Word) {
    bool generic = lexer.isWord("generic");
    if (generic) {
      lexer.take();
      lexer.expect('(');
    }
    value.symbol = std::string(lexer.expectWord("a variable").text);
    if (generic)
      lexer.expect(')');
    if (lexer.consume('+'))
      value.bits = lexer.expectInteger("an offset");
  } else {
    Token token = lexer.take();
    if (token.kind != TokenKind::Integer && token.kind != TokenKind::Float32 &&
        token.kind != TokenKind::Float64)
      lexer.fail("bad initialiser of '" + variable.name + "'");
    value.bits =
        negative && token.kind == TokenKind::Integer ? -token.bits : token.bits;
  }
  variable.values.push_back(std::move(value));
}

std::vector<std::unique_ptr<Variable>> Parser::parseParameters() {
  std::vector<std::unique_ptr<Variable>> parameters;
  if (!lexer.consume('(') || lexer.consume(')'))
    return parameters;
  uint64_t offset = 0;
  do {
    if (!lexer.consumeWord(".param"))
      lexer.fail("only parameters in .param space are known");
    auto parameter = parseVariable(Space::Param);
    uint64_t mask = parameter->alignment - 1;
    offset = (offset + mask) & ~mask;
    parameter->offset = offset;
    offset += parameter->bytes;
    if (offset > (1u << 20))
      lexer.fail("too many bytes of parameters");
    parameters.push_back(std::move(parameter));
  } while (lexer.consume(','));
  lexer.expect(')');
  return parameters;
}

void Parser::parseDirectives(Function &into) {
  while (lexer.peek().kind == TokenKind::Word) {
    Token token = lexer.take();
    bool required = token.text == ".reqntid";
    if (required || token.text == ".maxntid") {
      uint32_t extents[3] = {1, 1, 1};
      int rank = 0;
      do {
        if (rank == 3)
          lexer.fail("a block has at most three extents");
        extents[rank++] =
            static_cast<uint32_t>(lexer.expectInteger("a block extent"));
      } while (lexer.consume(','));
      uint64_t threads = uint64_t(extents[0]) * extents[1] * extents[2];
      if (threads == 0 || threads > 1024)
        lexer.fail("a block has 1 to 1024 threads");
      into.maxThreads = static_cast<uint32_t>(threads);
      if (required)
        std::copy(extents, extents + 3, into.requiredBlock);
    } else if (token.text == ".minnctapersm" || token.text == ".maxnreg" ||
               token.text == ".maxclusterrank") {
      lexer.expectInteger("a number");
    } else if (token.text == ".pragma") {
      lexer.take();
      lexer.consume(';');
    } else if (token.text == ".reqnctapercluster") {
      do
        if (lexer.expectInteger("a cluster extent") != 1)
          lexer.fail("only clusters of one block are emulated");
      while (lexer.consume(','));
    } else if (token.text != ".noreturn" && token.text != ".explicitcluster" &&
               token.text != ".blocksareclusters") {
      lexer.fail("unknown directive '" + std::string(token.text) + "'");
    }
  }
}

void Parser::parseFunction(bool isKernel) {
  auto made = std::make_unique<Function>();
  made->isKernel = isKernel;
  made->line = lexer.peek().line;
  if (!isKernel)
    made->results = parseParameters();
  made->name = std::string(lexer.expectWord("a function name").text);
  made->parameters = parseParameters();
  parseDirectives(*made);
  if (!lexer.consume(';')) {
    made->hasBody = true;
    parseBody(*made);
  }
  addFunction(std::move(made));
}

/// A definition replaces declarations before it, and is not replaced.
void Parser::addFunction(std::unique_ptr<Function> made) {
  auto &slot = source.functions[made->name];
  if (slot && slot->hasBody && made->hasBody)
    throw SyntaxError{made->line, "'" + made->name + "' is defined twice"};
  if (!slot || made->hasBody)
    slot = std::move(made);
}
