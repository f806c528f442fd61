//===- PolicyTableTest.cpp - The built-in tables --------------------------===//
//
// Every operator has a row that its schema can honour; rows say what the
// policies promise.
//
//===----------------------------------------------------------------------===//

#include "Schemas.h"
#include "amp/Dialect/Amp/Policy/Explain.h"
#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Dialect/Amp/Policy/Policy.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace amp;

static constexpr HalfType halfTypes[] = {HalfType::F16, HalfType::BF16};

static Policy builtin(StringRef name) { return cantFail(Policy::load(name)); }

/// Class of an op about which nothing more is known.
static OpClass classOf(const Policy &policy, StringRef op,
                       HalfType type = HalfType::F16) {
  std::optional<Row> row = policy.lookup(op, type);
  EXPECT_TRUE(row) << op.str();
  return row ? row->opClass : OpClass::Never;
}

TEST(PolicyTables, AreTheFourOfTheDesignWithBalancedFirst) {
  std::vector<std::string> names;
  for (const PolicyInfo &info : Policy::builtins()) {
    names.push_back(info.name);
    EXPECT_FALSE(info.description.empty()) << info.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"balanced", "contractions",
                                             "torch-cuda", "torch-cpu"}));
}

TEST(PolicyTables, HaveExactlyTheOperatorsOfThePinnedSchemas) {
  std::vector<StringRef> expected;
  auto schemas = test::readSchemas();
  for (const auto &[name, schema] : schemas)
    expected.push_back(name);
  ASSERT_EQ(expected.size(), 198u);
  for (const PolicyInfo &info : Policy::builtins())
    EXPECT_EQ(builtin(info.name).ops(), expected) << info.name;
}

TEST(PolicyTables, GiveEveryRowItsOwnReason) {
  for (const PolicyInfo &info : Policy::builtins()) {
    Policy policy = builtin(info.name);
    StringMap<StringRef> reasons;
    for (StringRef op : policy.ops()) {
      StringRef note = policy.lookup(op, HalfType::F16)->note;
      EXPECT_TRUE(note.ends_with(".") && note.size() > 10)
          << info.name << " " << op.str();
      auto [it, isNew] = reasons.try_emplace(note, op);
      EXPECT_TRUE(isNew) << info.name << ": " << op.str()
                         << " has the reason of " << it->second.str();
    }
  }
}

/// Whether the data operand of an operator may have the half type.
static bool dataMayBe(const test::Schema &schema, StringRef op, HalfType type) {
  unsigned primary = OpFacts::builtin().lookup(op).primary;
  return primary < schema.inputs.size() &&
         schema.inputs[primary].allows(
             type == HalfType::F16 ? "tensor(float16)" : "tensor(bfloat16)");
}

TEST(PolicyTables, NarrowNothingThatTheSchemaKeepsOutOfTheType) {
  auto schemas = test::readSchemas();
  for (const PolicyInfo &info : Policy::builtins()) {
    Policy policy = builtin(info.name);
    for (StringRef op : policy.ops())
      for (HalfType type : halfTypes) {
        OpClass opClass = classOf(policy, op, type);
        if (opClass != OpClass::Wide && opClass != OpClass::Never)
          EXPECT_TRUE(dataMayBe(schemas[op.str()], op, type))
              << info.name << ": " << op.str() << " is "
              << stringifyOpClass(opClass).str() << " in "
              << stringifyHalfType(type).str();
      }
  }
}

TEST(PolicyTables, LeaveOperatorsWithoutAFloatOperandAlone) {
  for (const auto &[op, schema] : test::readSchemas()) {
    if (any_of(schema.inputs,
               [](const auto &input) { return input.allows("tensor(float)"); }))
      continue;
    for (const PolicyInfo &info : Policy::builtins())
      EXPECT_EQ(classOf(builtin(info.name), op), OpClass::Never)
          << info.name << " " << op;
  }
}

TEST(PolicyTables, NameOnlyAttributesAndOperandsThatExistInCases) {
  auto schemas = test::readSchemas();
  unsigned numCases = 0;
  for (const PolicyInfo &info : Policy::builtins()) {
    Policy policy = builtin(info.name);
    for (StringRef op : policy.ops())
      for (const RowCase &rowCase : policy.lookup(op, HalfType::F16)->cases) {
        const test::Schema &schema = schemas[op.str()];
        ++numCases;
        if (!rowCase.attribute.empty())
          EXPECT_TRUE(is_contained(schema.attributes, rowCase.attribute))
              << op.str();
        if (rowCase.weakOperand)
          EXPECT_LT(*rowCase.weakOperand, schema.inputs.size()) << op.str();
      }
  }
  EXPECT_GT(numCases, 10u);
}

TEST(PolicyTables, PlaceTorchPoliciesInProgramOrderAndOthersForFewestCasts) {
  EXPECT_EQ(builtin("balanced").placement(), Placement::FewestCasts);
  EXPECT_EQ(builtin("contractions").placement(), Placement::FewestCasts);
  EXPECT_EQ(builtin("torch-cuda").placement(), Placement::ProgramOrder);
  EXPECT_EQ(builtin("torch-cpu").placement(), Placement::ProgramOrder);
}

TEST(PolicyTables, BalancedKeepsLossesAndLongSumsWideAndSpecifiedNormsNarrow) {
  Policy policy = builtin("balanced");
  for (HalfType type : halfTypes) {
    for (StringRef op :
         {"MatMul", "Gemm", "Conv", "ConvTranspose", "Attention", "LSTM"})
      EXPECT_EQ(classOf(policy, op, type), OpClass::Narrow) << op.str();
    for (StringRef op : {"Softmax", "LogSoftmax", "SoftmaxCrossEntropyLoss",
                         "Exp", "Log", "Pow", "ReduceSum", "ReduceMean",
                         "CumSum", "InstanceNormalization", "Sin", "Range"})
      EXPECT_EQ(classOf(policy, op, type), OpClass::Wide) << op.str();
    for (StringRef op : {"LayerNormalization", "RMSNormalization",
                         "GroupNormalization", "BatchNormalization"})
      EXPECT_EQ(classOf(policy, op, type), OpClass::Follow) << op.str();
  }
  EXPECT_EQ(classOf(policy, "Reciprocal", HalfType::F16), OpClass::Wide);
  EXPECT_EQ(classOf(policy, "Reciprocal", HalfType::BF16), OpClass::Follow);
}

TEST(PolicyTables,
     ContractionsNarrowsWhatBalancedNarrowsAndWidensOtherArithmetic) {
  Policy balanced = builtin("balanced"), contractions = builtin("contractions");
  for (StringRef op : contractions.ops())
    EXPECT_EQ(classOf(contractions, op) == OpClass::Narrow,
              classOf(balanced, op) == OpClass::Narrow)
        << op.str();
  for (StringRef op :
       {"Add", "Mul", "Sigmoid", "LayerNormalization", "AveragePool"})
    EXPECT_EQ(classOf(contractions, op), OpClass::Wide) << op.str();
  EXPECT_EQ(classOf(contractions, "Transpose"), OpClass::Move);
}

TEST(PolicyTables, TorchPoliciesDifferWhereTheListsDo) {
  Policy cuda = builtin("torch-cuda"), cpu = builtin("torch-cpu");
  for (StringRef op :
       {"Softmax", "LayerNormalization", "Exp", "ReduceSum", "Resize"}) {
    EXPECT_EQ(classOf(cuda, op), OpClass::Wide) << op.str();
    EXPECT_EQ(classOf(cpu, op), OpClass::Follow) << op.str();
  }
  EXPECT_EQ(classOf(cuda, "GridSample"), OpClass::Promote);
  EXPECT_EQ(classOf(cpu, "GridSample"), OpClass::Wide);
  EXPECT_EQ(classOf(cuda, "ReduceProd"), OpClass::Wide);
  EXPECT_EQ(classOf(cpu, "ReduceProd"), OpClass::Wide);
}

TEST(PolicyTables, CaseOfAttributeAndRankNeedsBoth) {
  Policy policy = builtin("torch-cpu");
  Row pad = *policy.lookup("Pad", HalfType::BF16);
  auto classOfPad = [&](StringRef mode, int64_t rank) {
    auto attribute = [&](StringRef name) -> std::optional<std::string> {
      return name == "mode" && !mode.empty() ? std::optional(mode.str())
                                             : std::nullopt;
    };
    return pad.classFor({rank, attribute, nullptr});
  };
  EXPECT_EQ(classOfPad("", 4), OpClass::Move);
  EXPECT_EQ(classOfPad("constant", 4), OpClass::Move);
  EXPECT_EQ(classOfPad("reflect", 4), OpClass::Wide);
  EXPECT_EQ(classOfPad("reflect", 5), OpClass::Move);
  EXPECT_EQ(classOfPad("edge", 5), OpClass::Wide);
}

TEST(PolicyTables, CaseOfAGivenAttributeIgnoresItsValue) {
  Policy policy = builtin("torch-cuda");
  Row bernoulli = *policy.lookup("Bernoulli", HalfType::F16);
  auto given = [](StringRef name) -> std::optional<std::string> { return "1"; };
  auto absent = [](StringRef name) -> std::optional<std::string> {
    return std::nullopt;
  };
  EXPECT_EQ(bernoulli.classFor({2, given, nullptr}), OpClass::Never);
  EXPECT_EQ(bernoulli.classFor({2, absent, nullptr}), OpClass::Follow);
}

TEST(PolicyTables, CaseOfAWeakOperandLooksAtThatOperand) {
  Policy policy = builtin("torch-cuda");
  Row div = *policy.lookup("Div", HalfType::F16);
  auto isFirst = [](unsigned operand) { return operand == 0; };
  auto isSecond = [](unsigned operand) { return operand == 1; };
  EXPECT_EQ(div.classFor({2, nullptr, isFirst}), OpClass::Wide);
  EXPECT_EQ(div.classFor({2, nullptr, isSecond}), OpClass::Promote);
  EXPECT_EQ(div.classFor({}), OpClass::Promote);
}

TEST(Explain, ListsEveryPolicyWithItsDescription) {
  std::string text;
  raw_string_ostream os(text);
  listPolicies(os);
  for (const PolicyInfo &info : Policy::builtins()) {
    EXPECT_NE(text.find(info.name), std::string::npos) << text;
    EXPECT_NE(text.find(info.description), std::string::npos) << text;
  }
}

TEST(Explain, GivesClassReasonCasesAndFacts) {
  std::string text;
  raw_string_ostream os(text);
  ASSERT_FALSE(bool(explainOp("Reciprocal", os)));
  EXPECT_NE(text.find("balanced      f16 wide, bf16 follow  Small operands"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("torch-cpu     follow   reciprocal"), std::string::npos)
      << text;
  EXPECT_NE(text.find("range of the result: expands"), std::string::npos)
      << text;
  ASSERT_FALSE(bool(explainOp("Pad", os)));
  EXPECT_NE(text.find("wide when mode is reflect and rank is 2 or 3 or 4"),
            std::string::npos)
      << text;
}

TEST(Explain, AddsAPolicyOfTheUser) {
  Policy policy = builtin("balanced");
  ASSERT_FALSE(bool(policy.deny("MatMul")));
  std::string text;
  raw_string_ostream os(text);
  ASSERT_FALSE(bool(explainOp("MatMul", os, {&policy})));
  EXPECT_NE(text.find("balanced      wide     Denied by the user."),
            std::string::npos)
      << text;
}

TEST(Explain, NamesTheNearestOperator) {
  std::string text;
  raw_string_ostream os(text);
  EXPECT_EQ(toString(explainOp("softmx", os)),
            "unknown operator 'softmx'; did you mean 'Softmax'?");
  EXPECT_TRUE(text.empty());
}
