//===- ObjectReader.cpp - Reads the keys of one JSON object ---------------===//
//
// Types, ranges and spellings.
//
//===----------------------------------------------------------------------===//

#include "ObjectReader.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace amp::train;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static std::string showNumber(double value) {
  std::string text;
  raw_string_ostream(text) << json::Value(value);
  return text;
}

std::string amp::train::showJson(const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

//===----------------------------------------------------------------------===//
// Range
//===----------------------------------------------------------------------===//

Range Range::positive() { return {0, infinity, /*withLeast=*/false, true}; }
Range Range::notNegative() { return {0, infinity}; }
Range Range::any() { return {-infinity, infinity}; }
Range Range::fraction() { return {0, 1, true, /*withMost=*/false}; }

bool Range::contains(double value) const {
  return std::isfinite(value) && (withLeast ? value >= least : value > least) &&
         (withMost ? value <= most : value < most);
}

std::string Range::describe() const {
  std::string text;
  if (std::isfinite(least))
    text = (withLeast ? " of at least " : " above ") + showNumber(least);
  if (std::isfinite(most))
    text += (text.empty() ? "" : " and") +
            std::string(withMost ? " at most " : " below ") + showNumber(most);
  return text;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void FirstError::add(StringRef path, const Twine &text) {
  if (!any())
    message =
        (where + ": " + (path.empty() ? "" : "'" + path + "': ") + text).str();
}

Error FirstError::take() const {
  return any() ? makeError(message) : Error::success();
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

ObjectReader::ObjectReader(FirstError &error, const json::Value &value,
                           StringRef path, ArrayRef<StringRef> known)
    : error(error), object(value.getAsObject()), path(path) {
  if (!object) {
    error.add(path, "expected an object, but got " + showJson(value));
    return;
  }
  // Sorted, so that the same file always gives the same message.
  std::vector<StringRef> unknown;
  for (const auto &[key, field] : *object)
    if (!is_contained(known, StringRef(key)))
      unknown.push_back(key);
  if (unknown.empty())
    return;
  StringRef key = *min_element(unknown);
  std::string hint = didYouMean(key, known);
  error.add(pathOf(key), "unknown key" + (hint.empty() ? "; known keys are " +
                                                             join(known, ", ")
                                                       : hint));
}

bool ObjectReader::has(StringRef key) const { return get(key); }

const json::Value *ObjectReader::get(StringRef key) const {
  return object ? object->get(key) : nullptr;
}

std::string ObjectReader::pathOf(StringRef key) const {
  return path.empty() ? key.str() : path + "." + key.str();
}

void ObjectReader::fail(StringRef key, const Twine &message) {
  error.add(pathOf(key), message);
}

void ObjectReader::require(StringRef key) {
  if (object && !has(key))
    fail(key, "is missing");
}

void ObjectReader::read(StringRef key, double &target, Range range) {
  const json::Value *value = get(key);
  if (!value)
    return;
  std::optional<double> number = value->getAsNumber();
  if (!number || !range.contains(*number))
    return fail(key, "expected a number" + range.describe() + ", but got " +
                         showJson(*value));
  target = *number;
}

void ObjectReader::read(StringRef key, std::optional<double> &target,
                        Range range) {
  double number = 0;
  read(key, number, range);
  if (has(key))
    target = number;
}

void ObjectReader::read(StringRef key, int64_t &target, int64_t least,
                        int64_t most) {
  const json::Value *value = get(key);
  if (!value)
    return;
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number < least || *number > most)
    return fail(key, formatv("expected an integer from {0} to {1}, but got {2}",
                             least, most, showJson(*value)));
  target = *number;
}

void ObjectReader::read(StringRef key, bool &target) {
  const json::Value *value = get(key);
  if (!value)
    return;
  if (std::optional<bool> flag = value->getAsBoolean())
    target = *flag;
  else
    fail(key, "expected true or false, but got " + showJson(*value));
}

void ObjectReader::read(StringRef key, std::string &target) {
  const json::Value *value = get(key);
  if (!value)
    return;
  std::optional<StringRef> text = value->getAsString();
  if (!text || text->empty())
    return fail(key, "expected a string, but got " + showJson(*value));
  target = text->str();
}

unsigned ObjectReader::readWord(StringRef key, ArrayRef<StringRef> words,
                                unsigned otherwise) {
  const json::Value *value = get(key);
  if (!value)
    return otherwise;
  std::optional<StringRef> text = value->getAsString();
  for (auto [index, word] : enumerate(words))
    if (text && *text == word)
      return index;
  fail(key, "expected one of " + join(words, ", ") + ", but got " +
                showJson(*value));
  return otherwise;
}

void ObjectReader::read(StringRef key, std::vector<std::string> &target) {
  const json::Value *value = get(key);
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array)
    return fail(key,
                "expected an array of strings, but got " + showJson(*value));
  for (auto [index, entry] : enumerate(*array)) {
    std::optional<StringRef> text = entry.getAsString();
    if (!text || text->empty())
      return fail((key + "[" + Twine(index) + "]").str(),
                  "expected a string, but got " + showJson(entry));
    target.push_back(text->str());
  }
}

void ObjectReader::readRegexes(StringRef key,
                               std::vector<std::string> &target) {
  read(key, target);
  for (auto [index, regex] : enumerate(target))
    checkRegex((key + "[" + Twine(index) + "]").str(), regex);
}

void ObjectReader::checkRegex(StringRef key, StringRef regex) {
  std::string reason;
  if (!Regex(regex).isValid(reason))
    fail(key, "'" + regex + "' is no regular expression: " + reason);
}
