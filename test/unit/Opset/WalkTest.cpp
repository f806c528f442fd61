//===- WalkTest.cpp - Every step between versions of every operator
//--------===//
// Holds the table of steps against the schemas: what has no row must only
// widen.
//===----------------------------------------------------------------------===//

#include "../../../lib/Onnx/Opset/Steps.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <map>
#include <onnx/defs/schema.h>

using namespace amp::onnx_opset;
using onnx::OpSchema;
using Formals = std::vector<OpSchema::FormalParameter>;

/// All schemas of the default domain: op -> version -> schema.
static std::map<std::string, std::map<int, OpSchema>> getHistory() {
  std::map<std::string, std::map<int, OpSchema>> history;
  for (const OpSchema &schema :
       onnx::OpSchemaRegistry::get_all_schemas_with_history())
    if (schema.domain().empty())
      history[schema.Name()].emplace(schema.since_version(), schema);
  return history;
}

static std::string getDefault(const OpSchema::Attribute &attr) {
  return attr.default_value.SerializeAsString();
}

/// What keeps a node of the older schema from being one of the newer with the
/// same meaning, as far as schemas tell.
static std::vector<std::string> findAttributeChanges(const OpSchema &older,
                                                     const OpSchema &newer) {
  std::vector<std::string> changes;
  for (const auto &[name, attr] : older.attributes()) {
    auto found = newer.attributes().find(name);
    if (found == newer.attributes().end()) {
      changes.push_back("attribute '" + name + "' went");
      continue;
    }
    if (found->second.type != attr.type)
      changes.push_back("attribute '" + name + "' changed its type");
    if (getDefault(found->second) != getDefault(attr))
      changes.push_back("attribute '" + name + "' changed its default");
    if (found->second.required && !attr.required)
      changes.push_back("attribute '" + name + "' became required");
  }
  for (const auto &[name, attr] : newer.attributes())
    if (attr.required && !older.attributes().count(name))
      changes.push_back("attribute '" + name + "' came and is required");
  return changes;
}

static std::vector<std::string> findValueChanges(llvm::StringRef kind,
                                                 const Formals &older,
                                                 const Formals &newer) {
  std::vector<std::string> changes;
  for (size_t i = 0; i != older.size(); ++i) {
    std::string where = kind.str() + " " + std::to_string(i);
    if (i >= newer.size()) {
      changes.push_back(where + " went");
      continue;
    }
    if (!llvm::all_of(older[i].GetTypes(), [&](onnx::DataType type) {
          return newer[i].GetTypes().count(type);
        }))
      changes.push_back(where + " lost types");
    if (newer[i].GetOption() < older[i].GetOption())
      changes.push_back(where + " became required");
    if (older[i].GetOption() != newer[i].GetOption() &&
        newer[i].GetOption() == OpSchema::Variadic)
      changes.push_back(where + " became variadic");
  }
  for (size_t i = older.size(); i < newer.size(); ++i)
    if (newer[i].GetOption() == OpSchema::Single)
      changes.push_back(kind.str() + " " + std::to_string(i) +
                        " came and is required");
  return changes;
}

static std::vector<std::string> findChanges(const OpSchema &older,
                                            const OpSchema &newer) {
  std::vector<std::string> changes = findAttributeChanges(older, newer);
  llvm::append_range(changes,
                     findValueChanges("input", older.inputs(), newer.inputs()));
  llvm::append_range(
      changes, findValueChanges("output", older.outputs(), newer.outputs()));
  if (newer.min_input() > older.min_input() ||
      newer.max_input() < older.max_input())
    changes.push_back("the number of inputs is narrower");
  if (newer.min_output() > older.min_output() ||
      newer.max_output() < older.max_output())
    changes.push_back("the number of outputs is narrower");
  if (newer.Deprecated())
    changes.push_back("deprecated");
  return changes;
}

/// The row for a step of `op` to version `to`, by the older name.
static const Step *findRow(llvm::StringRef op, int to) {
  for (const Step *step : getStepsFrom(op))
    if (step->to == to)
      return step;
  return nullptr;
}

/// An attribute or an input that came may mean something else than the older
/// version did when it is absent: a row says that somebody looked.
static std::vector<std::string> findAdditions(const OpSchema &older,
                                              const OpSchema &newer) {
  std::vector<std::string> additions;
  for (const auto &[name, attr] : newer.attributes())
    if (!older.attributes().count(name))
      additions.push_back("attribute '" + name + "' came");
  if (newer.inputs().size() > older.inputs().size())
    additions.push_back("an input came");
  if (newer.outputs().size() > older.outputs().size())
    additions.push_back("an output came");
  return additions;
}

TEST(Walk, EveryStepHasARowOrOnlyWidens) {
  int steps = 0, rows = 0;
  for (const auto &[op, versions] : getHistory()) {
    for (auto older = versions.begin(), newer = std::next(older);
         newer != versions.end(); ++older, ++newer) {
      ++steps;
      if (findRow(op, newer->first)) {
        ++rows;
        continue;
      }
      std::vector<std::string> changes =
          findChanges(older->second, newer->second);
      llvm::append_range(changes, findAdditions(older->second, newer->second));
      for (const std::string &change : changes)
        ADD_FAILURE() << op << " " << older->first << " -> " << newer->first
                      << ": " << change;
    }
  }
  EXPECT_GE(steps, 406);
  EXPECT_EQ(rows, static_cast<int>(getSteps().size()))
      << "a row is not a step of the schemas";
}

TEST(Walk, EveryRowIsAStepOfTheSchemas) {
  auto history = getHistory();
  for (const Step &step : getSteps()) {
    SCOPED_TRACE(step.op.str() + " " + std::to_string(step.from) + " -> " +
                 std::to_string(step.to));
    const auto &versions = history[step.op.str()];
    auto newer = versions.find(step.to);
    ASSERT_NE(newer, versions.end());
    ASSERT_NE(newer, versions.begin());
    EXPECT_EQ(std::prev(newer)->first, step.from);
    EXPECT_EQ(newer->second.Deprecated(), step.op != step.newer);
    EXPECT_TRUE(step.op == step.newer ||
                history[step.newer.str()].count(step.to));
    EXPECT_FALSE(step.what.empty());
  }
}

TEST(Walk, RowsAreSortedAndUnique) {
  auto key = [](const Step &step) {
    return std::pair(llvm::StringRef(step.op), step.to);
  };
  llvm::ArrayRef<Step> steps = getSteps();
  for (size_t i = 1; i < steps.size(); ++i)
    EXPECT_LT(key(steps[i - 1]), key(steps[i]))
        << steps[i].op.str() << " " << steps[i].to;
}

TEST(Walk, AStepThatNarrowsHasARuleOrAReason) {
  // Where the schema narrows on the way up, a row without a rule would leave
  // illegal nodes behind.
  auto history = getHistory();
  for (const Step &step : getSteps()) {
    const auto &versions = history[step.op.str()];
    if (step.raise)
      continue;
    for (const std::string &change :
         findChanges(versions.at(step.from), versions.at(step.to)))
      ADD_FAILURE() << step.op.str() << " " << step.from << " -> " << step.to
                    << " has no rule to raise, and " << change;
  }
}
