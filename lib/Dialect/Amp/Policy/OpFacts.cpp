//===- OpFacts.cpp - Facts about operators that no schema tells -----------===//
//
// Reads data/op-facts.json, whose `_doc` says what each key means.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/OpFacts.h"

#include "Builtins.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace amp {

bool OpFact::isFixedSlot(unsigned operand) const {
  return is_contained(fixedSlots, operand);
}
bool OpFact::isTiedSlot(unsigned operand) const {
  return is_contained(tiedSlots, operand);
}

/// Reads one optional string that must be one of a few words.
template <typename T>
static Error readWord(const json::Object &object, StringRef key,
                      StringRef where, ArrayRef<std::pair<StringRef, T>> words,
                      T &result) {
  if (!object.get(key))
    return Error::success();
  Expected<std::string> text = requireString(object, key, where);
  if (!text)
    return text.takeError();
  SmallVector<StringRef> known;
  for (const auto &[word, value] : words) {
    if (word == *text) {
      result = value;
      return Error::success();
    }
    known.push_back(word);
  }
  return makeError(where + ": unknown " + key + " '" + *text +
                   "'; write one of " + join(known, ", "));
}

static Error readSlots(const json::Object &object, StringRef key,
                       StringRef where, SmallVector<unsigned> &result) {
  Expected<std::vector<int64_t>> slots = readIntegers(object, key, where);
  if (!slots)
    return slots.takeError();
  result.assign(slots->begin(), slots->end());
  return Error::success();
}

static Error readSlot(const json::Object &object, StringRef key,
                      StringRef where, unsigned &result) {
  const json::Value *value = object.get(key);
  if (!value)
    return Error::success();
  std::optional<int64_t> slot = value->getAsInteger();
  if (!slot || *slot < 0)
    return makeError(where + ": '" + key + "' must be the index of an operand");
  result = *slot;
  return Error::success();
}

static Error readText(const json::Object &object, StringRef key,
                      StringRef where, std::string &result) {
  if (!object.get(key))
    return Error::success();
  return requireString(object, key, where).moveInto(result);
}

static Error readFlag(const json::Object &object, StringRef key,
                      StringRef where, bool &result) {
  const json::Value *value = object.get(key);
  if (!value)
    return Error::success();
  std::optional<bool> flag = value->getAsBoolean();
  if (!flag)
    return makeError(where + ": '" + key + "' must be true or false");
  result = *flag;
  return Error::success();
}

static Error parseFact(const json::Object &object, StringRef where,
                       OpFact &fact) {
  static constexpr std::pair<StringRef, ValueRange> ranges[] = {
      {"keeps", ValueRange::Keeps},
      {"bounded", ValueRange::Bounded},
      {"expands", ValueRange::Expands}};
  static constexpr std::pair<StringRef, GuardRole> guards[] = {
      {"holder", GuardRole::Holder}, {"user", GuardRole::User}};
  if (Error error =
          checkKeys(object,
                    {"primary", "fixed_slots", "tied_slots", "dtype_attr",
                     "result_follows", "shape_only", "range", "guard",
                     "guarded_slot", "float32_inside"},
                    where))
    return error;
  if (Error error = readSlot(object, "primary", where, fact.primary))
    return error;
  if (Error error = readSlots(object, "fixed_slots", where, fact.fixedSlots))
    return error;
  if (Error error = readSlots(object, "tied_slots", where, fact.tiedSlots))
    return error;
  if (Error error = readText(object, "dtype_attr", where, fact.dtypeAttr))
    return error;
  if (Error error =
          readFlag(object, "result_follows", where, fact.resultFollows))
    return error;
  if (Error error = readFlag(object, "shape_only", where, fact.shapeOnly))
    return error;
  if (Error error =
          readWord<ValueRange>(object, "range", where, ranges, fact.range))
    return error;
  if (Error error =
          readWord<GuardRole>(object, "guard", where, guards, fact.guard))
    return error;
  if (Error error = readSlot(object, "guarded_slot", where, fact.guardedSlot))
    return error;
  return readText(object, "float32_inside", where, fact.float32Inside);
}

Expected<OpFacts> OpFacts::parse(StringRef text, StringRef file) {
  Expected<json::Object> object = parseObject(text, file);
  if (!object)
    return object.takeError();
  if (Error error = checkKeys(*object, {"_doc", "ops"}, file))
    return std::move(error);
  const json::Object *ops = object->getObject("ops");
  if (!ops)
    return makeError(file +
                     ": 'ops' is missing or not an object; add \"ops\": {...}");
  OpFacts result;
  for (const auto &[op, value] : *ops) {
    std::string where = (file + ": '" + StringRef(op) + "'").str();
    const json::Object *fact = value.getAsObject();
    if (!fact)
      return makeError(where + ": expected an object");
    if (Error error = parseFact(*fact, where, result.facts[StringRef(op)]))
      return std::move(error);
  }
  return result;
}

OpFacts OpFacts::builtin() {
  return cantFail(parse(builtinOpFactsText(), "data/op-facts.json"));
}

const OpFact &OpFacts::lookup(StringRef op) const {
  auto it = facts.find(op);
  return it == facts.end() ? defaultFact : it->second;
}

std::vector<StringRef> OpFacts::ops() const {
  std::vector<StringRef> result(facts.keys().begin(), facts.keys().end());
  llvm::sort(result);
  return result;
}

} // namespace amp
