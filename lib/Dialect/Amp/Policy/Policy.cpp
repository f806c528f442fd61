//===- Policy.cpp - Autocast policy tables --------------------------------===//
//
// Lookups, cases and the user's overrides. Reading is in PolicyParser.cpp.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/Policy.h"

#include "Builtins.h"
#include "PolicyParser.h"
#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace amp {

StringRef stringifyOpClass(OpClass opClass) {
  switch (opClass) {
  case OpClass::Narrow:
    return "narrow";
  case OpClass::Wide:
    return "wide";
  case OpClass::Promote:
    return "promote";
  case OpClass::Follow:
    return "follow";
  case OpClass::Move:
    return "move";
  case OpClass::Never:
    return "never";
  }
  llvm_unreachable("covered switch");
}

std::optional<OpClass> symbolizeOpClass(StringRef word) {
  return StringSwitch<std::optional<OpClass>>(word)
      .Case("narrow", OpClass::Narrow)
      .Case("wide", OpClass::Wide)
      .Case("promote", OpClass::Promote)
      .Case("follow", OpClass::Follow)
      .Case("move", OpClass::Move)
      .Case("never", OpClass::Never)
      .Default(std::nullopt);
}

StringRef stringifyHalfType(HalfType type) {
  return type == HalfType::F16 ? "f16" : "bf16";
}

StringRef stringifyPlacement(Placement placement) {
  return placement == Placement::ProgramOrder ? "program-order"
                                              : "fewest-casts";
}

std::optional<Placement> symbolizePlacement(StringRef word) {
  return StringSwitch<std::optional<Placement>>(word)
      .Case("program-order", Placement::ProgramOrder)
      .Case("fewest-casts", Placement::FewestCasts)
      .Default(std::nullopt);
}

bool RowCase::matches(const OpView &op) const {
  if (!attribute.empty()) {
    std::optional<std::string> text =
        op.attribute ? op.attribute(attribute) : std::nullopt;
    if (!text || (!values.empty() && !is_contained(values, *text)))
      return false;
  }
  if (!ranks.empty() && (!op.rank || !is_contained(ranks, *op.rank)))
    return false;
  return !weakOperand || (op.isWeakOperand && op.isWeakOperand(*weakOperand));
}

OpClass Row::classFor(const OpView &op) const {
  for (const RowCase &rowCase : cases)
    if (rowCase.matches(op))
      return rowCase.opClass;
  return opClass;
}

Expected<Policy> Policy::load(StringRef nameOrPath) {
  return PolicyParser().load(nameOrPath);
}

std::vector<PolicyInfo> Policy::builtins() {
  std::vector<PolicyInfo> result;
  for (const EmbeddedFile &file : builtinPolicies()) {
    json::Object object = cantFail(parseObject(file.text, file.name));
    if (!object.getBoolean("abstract").value_or(false))
      result.push_back(
          {file.name, object.getString("description").value_or("").str()});
  }
  return result;
}

std::optional<Row> Policy::lookup(StringRef op, HalfType type) const {
  auto it = rows.find(op);
  if (it == rows.end())
    return std::nullopt;
  const Entry &entry = it->second;
  return Row{type == HalfType::F16 ? entry.f16 : entry.bf16, entry.note,
             entry.origin, entry.cases};
}

std::vector<StringRef> Policy::ops() const {
  std::vector<StringRef> result(rows.keys().begin(), rows.keys().end());
  llvm::sort(result);
  return result;
}

Error Policy::override(StringRef op, OpClass opClass) {
  StringRef verb = opClass == OpClass::Narrow ? "allow" : "deny";
  auto it = rows.find(op);
  if (it == rows.end()) {
    // A file of the user need not have a row for every operator.
    std::vector<std::string> known = PolicyParser::knownOperators();
    SmallVector<StringRef> words(known.begin(), known.end());
    if (!llvm::binary_search(words, op))
      return makeError("cannot " + verb + " '" + op + "': unknown operator" +
                       didYouMean(op, words));
    it = rows.try_emplace(op).first;
    it->second.f16 = it->second.bf16 = opClass;
  }
  Entry &entry = it->second;
  if (OpFacts::builtin().lookup(op).shapeOnly)
    return makeError("cannot " + verb + " '" + op +
                     "': it reads a shape and no floats, so that there is no "
                     "precision to decide; remove it from the list");
  if (entry.isOverride && entry.f16 != opClass)
    return makeError(
        "operator '" + op +
        "' is both allowed and denied; remove it from one of the two");
  if (!entry.isOverride && entry.f16 == OpClass::Never &&
      entry.bf16 == OpClass::Never)
    return makeError("cannot " + verb + " '" + op +
                     "': there is no precision to decide (" + entry.note +
                     "); remove it from the list");
  entry = Entry{opClass,
                opClass,
                opClass == OpClass::Narrow ? "Allowed by the user."
                                           : "Denied by the user.",
                ("--" + verb).str(),
                {},
                /*isOverride=*/true};
  return Error::success();
}

} // namespace amp
