//===- Explain.cpp - Policies as text -------------------------------------===//
//
// What `amp-opt --list-policies` and `amp-opt --explain=<op>` print.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/Explain.h"

#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Dialect/Amp/Policy/Policy.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace amp {

void listPolicies(raw_ostream &os) {
  for (const PolicyInfo &info : Policy::builtins())
    os << left_justify(info.name, 14) << info.description << '\n';
}

/// "mode is reflect or edge, and rank is 2, 3 or 4"
static std::string describeCondition(const RowCase &rowCase) {
  SmallVector<std::string> parts;
  if (!rowCase.attribute.empty())
    parts.push_back(rowCase.attribute +
                    (rowCase.values.empty()
                         ? std::string(" is given")
                         : " is " + join(rowCase.values, " or ")));
  if (!rowCase.ranks.empty()) {
    std::vector<std::string> ranks;
    for (int64_t rank : rowCase.ranks)
      ranks.push_back(std::to_string(rank));
    parts.push_back("rank is " + join(ranks, " or "));
  }
  if (rowCase.weakOperand)
    parts.push_back("operand " + std::to_string(*rowCase.weakOperand) +
                    " is weak");
  return join(parts, " and ");
}

static void explainRow(const Policy &policy, StringRef op, raw_ostream &os) {
  os << "  " << left_justify(policy.name(), 14);
  std::optional<Row> f16 = policy.lookup(op, HalfType::F16);
  std::optional<Row> bf16 = policy.lookup(op, HalfType::BF16);
  if (!f16 || !bf16) {
    os << "no row: stays float32\n";
    return;
  }
  std::string classes = stringifyOpClass(f16->opClass).str();
  if (f16->opClass != bf16->opClass)
    classes =
        ("f16 " + classes + ", bf16 " + stringifyOpClass(bf16->opClass)).str();
  os << left_justify(classes, 7) << "  " << f16->note << '\n';
  for (const RowCase &rowCase : f16->cases)
    os << formatv("  {0,14}{1} when {2}\n", "",
                  stringifyOpClass(rowCase.opClass),
                  describeCondition(rowCase));
}

static std::string slotList(ArrayRef<unsigned> slots) {
  return join(
      map_range(slots, [](unsigned slot) { return std::to_string(slot); }),
      ", ");
}

static void explainFacts(const OpFact &fact, raw_ostream &os) {
  if (fact.primary != 0)
    os << "  primary operand: " << fact.primary << '\n';
  if (!fact.fixedSlots.empty())
    os << "  operands that keep their type: " << slotList(fact.fixedSlots)
       << '\n';
  if (!fact.tiedSlots.empty())
    os << "  operands tied to the primary one: " << slotList(fact.tiedSlots)
       << '\n';
  if (!fact.dtypeAttr.empty())
    os << "  attribute that names the result type: " << fact.dtypeAttr << '\n';
  if (fact.resultFollows)
    os << "  without it the result has the type of operand 0\n";
  if (fact.shapeOnly)
    os << "  reads only the shape of its operand\n";
  if (fact.range != ValueRange::Keeps)
    os << "  range of the result: "
       << (fact.range == ValueRange::Bounded ? "bounded" : "expands") << '\n';
  if (fact.guard == GuardRole::Holder)
    os << "  may hold the constant that keeps a division from zero\n";
  if (fact.guard == GuardRole::User)
    os << "  operand that a tiny constant may protect: " << fact.guardedSlot
       << '\n';
  if (!fact.float32Inside.empty())
    os << "  float32 inside: " << fact.float32Inside << '\n';
}

Error explainOp(StringRef op, raw_ostream &os, ArrayRef<const Policy *> more) {
  std::vector<Policy> policies;
  for (const PolicyInfo &info : Policy::builtins())
    policies.push_back(cantFail(Policy::load(info.name)));
  if (!policies.front().lookup(op, HalfType::F16))
    return makeError("unknown operator '" + op + "'" +
                     didYouMean(op, policies.front().ops()));
  os << op << '\n';
  for (const Policy &policy : policies)
    explainRow(policy, op, os);
  for (const Policy *policy : more)
    explainRow(*policy, op, os);
  explainFacts(OpFacts::builtin().lookup(op), os);
  return Error::success();
}

} // namespace amp
