//===- Json.h - JSON from files ---------------------------------*- C++ -*-===//
// Strict parsing, and accessors that say where what is missing or wrong.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_JSON_H
#define AMP_RUNTIME_JSON_H

#include "nlohmann/json.hpp"
#include <string>
#include <string_view>

namespace amp::runtime {

using Json = nlohmann::ordered_json;

/// Parses the whole text; duplicate keys and nesting deeper than 100 levels are
/// refused. `file` is for messages.
Json parseJson(std::string_view text, const std::string &file);

/// A value inside a file, with its path ("tensors[3].shape") for messages.
class JsonCursor {
public:
  JsonCursor(const Json &value, std::string file, std::string path = "")
      : value(value), file(std::move(file)), path(std::move(path)) {}

  /// A key that must be there; `find` gives null when it is not.
  JsonCursor get(const char *key) const;
  bool has(const char *key) const;
  JsonCursor at(size_t index) const;
  size_t size() const { return value.size(); }

  const Json &getObject() const;
  const Json &getArray() const;
  std::string getString() const;
  bool getBool() const;
  double getNumber() const;
  /// An integer between `low` and `high`.
  int64_t getInteger(int64_t low, int64_t high) const;
  const Json &raw() const { return value; }

  /// Fails with the file, the path and `what` ("expected a string").
  [[noreturn]] void reject(const std::string &what) const;

private:
  const Json &value;
  std::string file, path;
};

/// One line of JSON; text that is no UTF-8 is replaced.
std::string print(const Json &value, int indent = -1);

} // namespace amp::runtime

#endif // AMP_RUNTIME_JSON_H
