//===- Json.cpp - JSON from files -----------------------------------------===//
// Strict parsing, and accessors that say where what is missing or wrong.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Json.h"
#include "amp/Runtime/Failure.h"
#include <set>

using namespace amp::runtime;

namespace {
/// Builds nothing: finds what the library's own parser would let pass.
class StrictCheck : public nlohmann::json_sax<Json> {
public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string &) override { return true; }
  bool string(std::string &) override { return true; }
  bool binary(Json::binary_t &) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string &name) override {
    if (keys.back().insert(name).second)
      return true;
    problem = "key " + quote(name) + " occurs twice";
    return false;
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::json::exception &) override {
    problem = "is no JSON (near byte " + std::to_string(position) + ")";
    return false;
  }
  std::string problem;

private:
  static constexpr size_t deepest = 100;
  bool open() {
    keys.emplace_back();
    if (keys.size() <= deepest)
      return true;
    problem = "is nested deeper than " + std::to_string(deepest) + " levels";
    return false;
  }
  bool close() {
    keys.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys;
};
} // namespace

Json amp::runtime::parseJson(std::string_view text, const std::string &file) {
  StrictCheck check;
  if (!Json::sax_parse(text.begin(), text.end(), &check))
    fail(AMP_BAD_FILE, file + ": " + check.problem);
  return Json::parse(text.begin(), text.end());
}

std::string amp::runtime::print(const Json &value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void JsonCursor::reject(const std::string &what) const {
  fail(AMP_BAD_FILE, file + ": " + (path.empty() ? "" : path + ": ") + what);
}

JsonCursor JsonCursor::get(const char *key) const {
  const Json &object = getObject();
  auto found = object.find(key);
  if (found == object.end())
    reject("key " + quote(key) + " is missing");
  return JsonCursor(*found, file, path.empty() ? key : path + "." + key);
}

bool JsonCursor::has(const char *key) const {
  return getObject().contains(key);
}

JsonCursor JsonCursor::at(size_t index) const {
  return JsonCursor(getArray()[index], file,
                    path + "[" + std::to_string(index) + "]");
}

const Json &JsonCursor::getObject() const {
  if (!value.is_object())
    reject("expected an object, but got " + std::string(value.type_name()));
  return value;
}

const Json &JsonCursor::getArray() const {
  if (!value.is_array())
    reject("expected a list, but got " + std::string(value.type_name()));
  return value;
}

std::string JsonCursor::getString() const {
  if (!value.is_string())
    reject("expected a string, but got " + std::string(value.type_name()));
  return value.get<std::string>();
}

bool JsonCursor::getBool() const {
  if (!value.is_boolean())
    reject("expected true or false, but got " + std::string(value.type_name()));
  return value.get<bool>();
}

double JsonCursor::getNumber() const {
  if (!value.is_number())
    reject("expected a number, but got " + std::string(value.type_name()));
  return value.get<double>();
}

int64_t JsonCursor::getInteger(int64_t low, int64_t high) const {
  if (!value.is_number_integer())
    reject("expected an integer, but got " +
           (value.is_number() ? print(value) : value.type_name()));
  bool huge = value.is_number_unsigned() &&
              value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (huge || value.get<int64_t>() < low || value.get<int64_t>() > high)
    reject("expected an integer from " + std::to_string(low) + " to " +
           std::to_string(high) + ", but got " + print(value));
  return value.get<int64_t>();
}
