//===- Json.cpp - JSON of the user ----------------------------------------===//
//
// Looks at the nesting before LLVM's recursive parser does.
//
//===----------------------------------------------------------------------===//

#include "amp/Support/Json.h"

static constexpr unsigned deepest = 100;

/// Deepest nesting of brackets outside of strings.
static unsigned getDepth(llvm::StringRef text) {
  unsigned depth = 0, most = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      most = std::max(most, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return most;
}

llvm::Expected<llvm::json::Value> amp::parseJson(llvm::StringRef text) {
  if (getDepth(text) > deepest)
    return llvm::createStringError("nested deeper than " +
                                   llvm::Twine(deepest) + " levels");
  return llvm::json::parse(text);
}
