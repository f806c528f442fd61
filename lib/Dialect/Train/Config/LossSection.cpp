//===- LossSection.cpp - The loss of train.json ---------------------------===//
//
// An output's name, a loss of named values, or a weighted sum of such.
//
//===----------------------------------------------------------------------===//

#include "Sections.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace amp::train;

using Kind = LossTerm::Kind;

static constexpr StringLiteral names[] = {"softmax_cross_entropy", "mse", "l1",
                                          "huber", "bce_with_logits"};
static constexpr Kind kinds[] = {Kind::SoftmaxCrossEntropy, Kind::Mse, Kind::L1,
                                 Kind::Huber, Kind::BceWithLogits};

static std::optional<Kind> kindOf(StringRef name) {
  const auto *found = find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return kinds[found - names];
}

static void readFields(FirstError &error, const json::Value &value,
                       LossTerm &term) {
  SmallVector<StringRef> known{"logits", "labels", "reduction"};
  if (term.kind == Kind::SoftmaxCrossEntropy)
    known.append({"ignore_index", "label_smoothing", "class_axis"});
  if (term.kind == Kind::Huber)
    known.push_back("delta");
  ObjectReader reader(error, value, term.path, known);
  reader.require("logits");
  reader.require("labels");
  reader.read("logits", term.logits);
  reader.read("labels", term.labels);
  term.sums = reader.readWord("reduction", {"mean", "sum"}, 0) == 1;
  int64_t ignored = 0;
  reader.read("ignore_index", ignored, INT64_MIN, INT64_MAX);
  if (reader.has("ignore_index"))
    term.ignoreIndex = ignored;
  reader.read("label_smoothing", term.labelSmoothing, Range{0, 1});
  reader.read("class_axis", term.classAxis, INT8_MIN, INT8_MAX);
  reader.read("delta", term.delta, Range::positive());
}

/// One loss; in a sum it may have a weight beside it.
static void readTerm(FirstError &error, const json::Value &value,
                     StringRef path, bool weighted, LossTerm &term) {
  term.path = path;
  if (std::optional<StringRef> name = value.getAsString()) {
    term.logits = name->str();
    if (name->empty())
      error.add(path, "expected the name of an output, but got \"\"");
    return;
  }
  SmallVector<StringRef> known(std::begin(names), std::end(names));
  if (weighted)
    known.append({"output", "weight"});
  else
    known.push_back("sum");
  ObjectReader reader(error, value, path, known);
  reader.read("weight", term.weight, Range::any());
  const json::Object *object = value.getAsObject();
  if (!object)
    return;
  if (object->size() - reader.has("weight") != 1)
    return error.add(path, "expected exactly one of " + join(known, ", "));
  if (weighted && reader.has("output"))
    return reader.read("output", term.logits);
  for (StringRef name : names)
    if (const json::Value *fields = reader.get(name)) {
      term.kind = *kindOf(name);
      term.path = reader.pathOf(name);
      readFields(error, *fields, term);
    }
}

void amp::train::readLoss(FirstError &error, const json::Value &value,
                          std::vector<LossTerm> &terms) {
  const json::Object *object = value.getAsObject();
  const json::Value *sum = object ? object->get("sum") : nullptr;
  if (!sum) {
    readTerm(error, value, "loss", /*weighted=*/false, terms.emplace_back());
    return;
  }
  if (object->size() != 1)
    return error.add("loss", "expected 'sum' to stand alone");
  const json::Array *array = sum->getAsArray();
  if (!array || array->empty())
    return error.add("loss.sum",
                     "expected an array of losses, but got " + showJson(*sum));
  for (auto [index, entry] : enumerate(*array))
    readTerm(error, entry, ("loss.sum[" + Twine(index) + "]").str(),
             /*weighted=*/true, terms.emplace_back());
}
