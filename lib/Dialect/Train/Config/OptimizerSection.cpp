//===- OptimizerSection.cpp - The optimizer of train.json -----------------===//
//
// PyTorch's names and defaults.
//
//===----------------------------------------------------------------------===//

#include "Sections.h"
#include "amp/Support/CheckedJson.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace amp::train;

using Kind = OptimizerConfig::Kind;

namespace {

struct KindEntry {
  StringLiteral name;
  Kind kind;
};

constexpr KindEntry kindEntries[] = {{"sgd", Kind::Sgd},
                                     {"adam", Kind::Adam},
                                     {"adamw", Kind::AdamW},
                                     {"lion", Kind::Lion},
                                     {"lamb", Kind::Lamb}};

} // namespace

const ParameterGroup *OptimizerConfig::findGroup(StringRef parameter) const {
  for (const ParameterGroup &group : groups)
    if (Regex("^(" + group.match + ")$").match(parameter))
      return &group;
  return nullptr;
}

/// Defaults: torch.optim's; Lion's and LAMB's are those of their papers.
static void setDefaults(OptimizerConfig &optimizer) {
  switch (optimizer.kind) {
  case Kind::Sgd:
    return;
  case Kind::Adam:
    optimizer.lr = 1e-3;
    return;
  case Kind::AdamW:
    optimizer.lr = 1e-3;
    optimizer.weightDecay = 0.01;
    return;
  case Kind::Lion:
    optimizer.lr = 1e-4;
    optimizer.beta2 = 0.99;
    return;
  case Kind::Lamb:
    optimizer.lr = 1e-3;
    optimizer.eps = 1e-6;
    return;
  }
}

static SmallVector<StringRef> knownKeys(Kind kind) {
  SmallVector<StringRef> keys{"lr", "weight_decay", "maximize", "groups"};
  if (kind == Kind::Sgd)
    keys.append({"momentum", "dampening", "nesterov"});
  else
    keys.push_back("betas");
  if (kind == Kind::Adam || kind == Kind::AdamW)
    keys.append({"eps", "amsgrad"});
  if (kind == Kind::Lamb)
    keys.push_back("eps");
  return keys;
}

static void readBetas(ObjectReader &reader, OptimizerConfig &optimizer) {
  const json::Value *value = reader.get("betas");
  if (!value)
    return;
  const json::Array *pair = value->getAsArray();
  if (!pair || pair->size() != 2)
    return reader.fail("betas",
                       "expected two numbers, but got " + showJson(*value));
  double *targets[] = {&optimizer.beta1, &optimizer.beta2};
  for (auto [index, entry] : enumerate(*pair)) {
    std::optional<double> number = entry.getAsNumber();
    if (!number || !Range::fraction().contains(*number))
      return reader.fail(("betas[" + Twine(index) + "]").str(),
                         "expected a number" + Range::fraction().describe() +
                             ", but got " + showJson(entry));
    *targets[index] = *number;
  }
}

static void readGroups(FirstError &error, ObjectReader &reader,
                       OptimizerConfig &optimizer) {
  const json::Value *value = reader.get("groups");
  if (!value)
    return;
  const json::Array *array = value->getAsArray();
  if (!array)
    return reader.fail("groups",
                       "expected an array, but got " + showJson(*value));
  StringSet<> names;
  for (auto [index, entry] : enumerate(*array)) {
    std::string path =
        reader.pathOf("groups") + "[" + std::to_string(index) + "]";
    ObjectReader fields(error, entry, path,
                        {"name", "match", "lr", "weight_decay"});
    ParameterGroup &group = optimizer.groups.emplace_back();
    group.name = "group" + std::to_string(index);
    fields.require("match");
    fields.read("match", group.match);
    fields.checkRegex("match", group.match);
    fields.read("name", group.name);
    fields.read("lr", group.lr, Range::notNegative());
    fields.read("weight_decay", group.weightDecay, Range::notNegative());
    if (!names.insert(group.name).second)
      fields.fail("name", "there is another group '" + group.name + "'");
  }
}

static void readFields(FirstError &error, const json::Value &value,
                       StringRef path, OptimizerConfig &optimizer) {
  ObjectReader reader(error, value, path, knownKeys(optimizer.kind));
  if (optimizer.kind == Kind::Sgd)
    reader.require("lr");
  reader.read("lr", optimizer.lr, Range::notNegative());
  reader.read("weight_decay", optimizer.weightDecay, Range::notNegative());
  reader.read("maximize", optimizer.maximize);
  reader.read("momentum", optimizer.momentum, Range::notNegative());
  reader.read("dampening", optimizer.dampening, Range::any());
  reader.read("nesterov", optimizer.nesterov);
  reader.read("eps", optimizer.eps, Range::notNegative());
  reader.read("amsgrad", optimizer.amsgrad);
  readBetas(reader, optimizer);
  readGroups(error, reader, optimizer);
  if (optimizer.nesterov &&
      (optimizer.momentum == 0 || optimizer.dampening != 0))
    reader.fail("nesterov", "needs a momentum and no dampening");
}

void amp::train::readOptimizer(FirstError &error, const json::Value &value,
                               OptimizerConfig &optimizer) {
  SmallVector<StringRef> known;
  for (const KindEntry &entry : kindEntries)
    known.push_back(entry.name);
  ObjectReader reader(error, value, "optimizer", known);
  const json::Object *object = value.getAsObject();
  if (!object)
    return;
  if (object->size() != 1)
    return error.add("optimizer",
                     "expected exactly one of " + join(known, ", "));
  for (const KindEntry &entry : kindEntries)
    if (const json::Value *fields = reader.get(entry.name)) {
      optimizer.kind = entry.kind;
      setDefaults(optimizer);
      readFields(error, *fields, reader.pathOf(entry.name), optimizer);
    }
}
