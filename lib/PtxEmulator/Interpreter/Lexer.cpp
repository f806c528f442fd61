//===- Lexer.cpp - Tokens of PTX ------------------------------------------===//
// One token of look-ahead over text that need not end in a null byte.
//===----------------------------------------------------------------------===//

#include "Lexer.h"
#include <cctype>
#include <cstdlib>
#include <cstring>

using namespace amp::ptx;

static bool startsWord(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

static bool continuesWord(char c) {
  return startsWord(c) || std::isdigit(static_cast<unsigned char>(c));
}

void Lexer::fail(const std::string &message) const {
  throw SyntaxError{token.line, message};
}

void Lexer::skipSpace() {
  while (position < text.size()) {
    char c = text[position];
    if (c == '\n')
      ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++position;
    } else if (text.compare(position, 2, "//") == 0) {
      while (position < text.size() && text[position] != '\n')
        ++position;
    } else if (text.compare(position, 2, "/*") == 0) {
      size_t end = text.find("*/", position + 2);
      if (end == std::string_view::npos)
        throw SyntaxError{line, "comment has no end"};
      for (; position < end + 2; ++position)
        line += text[position] == '\n';
    } else {
      return;
    }
  }
}

void Lexer::lexWord() {
  size_t end = position + 1;
  while (end < text.size()) {
    if (continuesWord(text[end]))
      ++end;
    else if (text.compare(end, 2, "::") == 0)
      end += 2;
    else
      break;
  }
  token.kind = TokenKind::Word;
  token.text = text.substr(position, end - position);
  position = end;
}

void Lexer::lexNumber() {
  size_t end = position;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) ||
          text[end] == '.' || text[end] == '_' ||
          ((text[end] == '-' || text[end] == '+') &&
           (text[end - 1] == 'e' || text[end - 1] == 'E') &&
           text.compare(position, 2, "0x") != 0 &&
           text.compare(position, 2, "0f") != 0 &&
           text.compare(position, 2, "0d") != 0)))
    ++end;
  token.text = text.substr(position, end - position);
  position = end;
  std::string digits(token.text);
  char *rest = nullptr;
  char second =
      digits.size() > 1 ? static_cast<char>(std::tolower(digits[1])) : 0;
  if (digits[0] == '0' && (second == 'f' || second == 'd')) {
    token.kind = second == 'f' ? TokenKind::Float32 : TokenKind::Float64;
    token.bits = std::strtoull(digits.c_str() + 2, &rest, 16);
    if (digits.size() != (second == 'f' ? 10u : 18u))
      throw SyntaxError{line, "bad number '" + digits + "'"};
  } else if (digits.find('.') != std::string::npos) {
    double value = std::strtod(digits.c_str(), &rest);
    token.kind = TokenKind::Float64;
    std::memcpy(&token.bits, &value, sizeof(value));
  } else {
    token.kind = TokenKind::Integer;
    bool binary = second == 'b';
    token.bits =
        std::strtoull(digits.c_str() + (binary ? 2 : 0), &rest, binary ? 2 : 0);
    if (*rest == 'U')
      ++rest;
  }
  if (*rest)
    throw SyntaxError{line, "bad number '" + digits + "'"};
}

void Lexer::advance() {
  skipSpace();
  token = Token();
  token.line = line;
  if (position >= text.size())
    return;
  char c = text[position];
  if (std::isdigit(static_cast<unsigned char>(c)))
    return lexNumber();
  if (startsWord(c))
    return lexWord();
  if (c == '"') {
    size_t end = text.find('"', position + 1);
    if (end == std::string_view::npos)
      fail("string has no end");
    token.kind = TokenKind::String;
    token.text = text.substr(position + 1, end - position - 1);
    position = end + 1;
    return;
  }
  token.kind = TokenKind::Symbol;
  token.text = text.substr(position++, 1);
}

Token Lexer::take() {
  Token taken = token;
  advance();
  return taken;
}

bool Lexer::is(char symbol) const {
  return token.kind == TokenKind::Symbol && token.text[0] == symbol;
}

bool Lexer::consume(char symbol) {
  if (!is(symbol))
    return false;
  advance();
  return true;
}

bool Lexer::isWord(std::string_view word) const {
  return token.kind == TokenKind::Word && token.text == word;
}

bool Lexer::consumeWord(std::string_view word) {
  if (!isWord(word))
    return false;
  advance();
  return true;
}

void Lexer::expect(char symbol) {
  if (!consume(symbol))
    fail(std::string("expected '") + symbol + "', but got '" +
         std::string(token.text) + "'");
}

Token Lexer::expectWord(const char *what) {
  if (token.kind != TokenKind::Word)
    fail(std::string("expected ") + what + ", but got '" +
         std::string(token.text) + "'");
  return take();
}

uint64_t Lexer::expectInteger(const char *what) {
  if (token.kind != TokenKind::Integer)
    fail(std::string("expected ") + what + ", but got '" +
         std::string(token.text) + "'");
  return take().bits;
}

void Lexer::skipLine() {
  uint32_t start = token.line;
  while (token.kind != TokenKind::End && token.line == start)
    advance();
}
