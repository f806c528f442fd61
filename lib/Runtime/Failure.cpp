//===- Failure.cpp - Errors inside the runtime ----------------------------===//
// Names from files are made fit to print.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Failure.h"

using namespace amp::runtime;

std::string amp::runtime::quote(std::string_view name) {
  constexpr size_t longest = 200;
  std::string text = "'";
  for (char c : name.substr(0, longest))
    text += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  if (name.size() > longest)
    text += "...";
  return text + "'";
}

void NameList::add(std::string_view name) {
  if (count++ < most)
    text += (text.empty() ? "" : ", ") + quote(name);
}

std::string NameList::str() const {
  return count <= most
             ? text
             : text + " and " + std::to_string(count - most) + " more";
}
