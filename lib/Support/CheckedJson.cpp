//===- CheckedJson.cpp - Checked reading of JSON
//----------------------------===//
//
// Errors that name the place, unknown keys, and the nearest known word.
//
//===----------------------------------------------------------------------===//

#include "amp/Support/CheckedJson.h"
#include "amp/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include <algorithm>

using namespace llvm;

namespace amp {

Error makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

std::string didYouMean(StringRef word, ArrayRef<StringRef> known) {
  // A third of the word may differ: "Matmull" is MatMul, "Foo" is nothing.
  unsigned limit = word.size() / 3 + 1;
  StringRef best;
  for (StringRef candidate : known) {
    unsigned distance = word.edit_distance_insensitive(
        candidate, /*AllowReplacements=*/true, limit);
    if (distance >= limit)
      continue;
    limit = distance;
    best = candidate;
    if (distance == 0)
      break;
  }
  return best.empty() ? std::string()
                      : ("; did you mean '" + best + "'?").str();
}

Error checkKeys(const json::Object &object, ArrayRef<StringRef> known,
                StringRef where) {
  // Sorted, so that the same file always gives the same message.
  std::vector<StringRef> unknown;
  for (const auto &[key, value] : object)
    if (!is_contained(known, StringRef(key)))
      unknown.push_back(key);
  if (unknown.empty())
    return Error::success();
  StringRef key = *std::min_element(unknown.begin(), unknown.end());
  std::string hint = didYouMean(key, known);
  if (hint.empty())
    hint = "; known keys are " + join(known, ", ");
  return makeError(where + ": unknown key '" + key + "'" + hint);
}

Expected<json::Object> parseObject(StringRef text, StringRef where) {
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return makeError(where +
                     ": not valid JSON: " + toString(value.takeError()));
  if (json::Object *object = value->getAsObject())
    return std::move(*object);
  return makeError(where + ": expected a JSON object, starting with '{'");
}

Expected<std::string> requireString(const json::Object &object, StringRef key,
                                    StringRef where) {
  if (std::optional<StringRef> text = object.getString(key))
    return text->str();
  if (object.get(key))
    return makeError(where + ": '" + key + "' must be a string");
  return makeError(where + ": '" + key + "' is missing, add it as a string");
}

Expected<std::vector<int64_t>> readIntegers(const json::Object &object,
                                            StringRef key, StringRef where) {
  std::vector<int64_t> result;
  const json::Value *value = object.get(key);
  if (!value)
    return result;
  const json::Array *array = value->getAsArray();
  if (!array || array->empty())
    return makeError(where + ": '" + key + "' must be a list of integers");
  for (const json::Value &element : *array) {
    std::optional<int64_t> integer = element.getAsInteger();
    if (!integer || *integer < 0)
      return makeError(where + ": '" + key +
                       "' must hold integers of 0 or more");
    result.push_back(*integer);
  }
  return result;
}

} // namespace amp
