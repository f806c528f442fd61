//===- Lexer.h - Tokens of PTX ----------------------------------*- C++ -*-===//
// Words (identifiers, opcodes with all their modifiers, registers, directives),
// numbers, strings and single characters.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_LEXER_H
#define AMP_PTXEMULATOR_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>

namespace amp::ptx {

/// Thrown while a module is read; `Module::parse` turns it into its error.
struct SyntaxError {
  uint32_t line;
  std::string message;
};

enum class TokenKind { End, Word, Integer, Float32, Float64, String, Symbol };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;
  uint32_t line = 1;
  /// Of a number: its bits (floats as their 32 or 64 bits).
  uint64_t bits = 0;
};

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) { advance(); }

  const Token &peek() const { return token; }
  Token take();
  /// Whether the next token is this character; takes it if so.
  bool consume(char symbol);
  bool is(char symbol) const;
  bool isWord(std::string_view word) const;
  bool consumeWord(std::string_view word);
  void expect(char symbol);
  Token expectWord(const char *what);
  uint64_t expectInteger(const char *what);
  /// Takes everything to the end of the line.
  void skipLine();
  [[noreturn]] void fail(const std::string &message) const;

private:
  void skipSpace();
  void advance();
  void lexWord();
  void lexNumber();

  std::string_view text;
  size_t position = 0;
  uint32_t line = 1;
  Token token;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_LEXER_H
