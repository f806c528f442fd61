//===- OpFactsTest.cpp - Facts about operators ----------------------------===//
//
// The built-in facts agree with the pinned schemas; mistakes in a facts file
// are named.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "Schemas.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace amp;

TEST(OpFacts, NameOnlyOperatorsSlotsAndAttributesThatExist) {
  auto schemas = test::readSchemas();
  OpFacts facts = OpFacts::builtin();
  ASSERT_GT(facts.ops().size(), 50u);
  for (StringRef op : facts.ops()) {
    ASSERT_TRUE(schemas.count(op.str())) << op.str();
    const test::Schema &schema = schemas[op.str()];
    const OpFact &fact = facts.lookup(op);
    if (!schema.inputs.empty()) {
      EXPECT_LT(fact.primary, schema.inputs.size()) << op.str();
      EXPECT_LT(fact.guardedSlot, schema.inputs.size()) << op.str();
    }
    if (!fact.dtypeAttr.empty())
      EXPECT_TRUE(is_contained(schema.attributes, fact.dtypeAttr)) << op.str();
  }
}

TEST(OpFacts, FixAndTieOnlySlotsThatTheSchemaWouldLetChange) {
  auto schemas = test::readSchemas();
  OpFacts facts = OpFacts::builtin();
  for (StringRef op : facts.ops()) {
    const OpFact &fact = facts.lookup(op);
    SmallVector<unsigned> slots(fact.fixedSlots);
    append_range(slots, fact.tiedSlots);
    for (unsigned slot : slots) {
      ASSERT_LT(slot, schemas[op.str()].inputs.size()) << op.str();
      EXPECT_TRUE(schemas[op.str()].inputs[slot].allows("tensor(float16)"))
          << op.str() << " " << slot;
    }
    EXPECT_FALSE(fact.isFixedSlot(fact.primary)) << op.str();
  }
}

TEST(OpFacts, TellWhatPassesAsk) {
  OpFacts facts = OpFacts::builtin();
  EXPECT_TRUE(facts.lookup("BatchNormalization").isFixedSlot(4));
  EXPECT_FALSE(facts.lookup("BatchNormalization").isFixedSlot(0));
  EXPECT_TRUE(facts.lookup("Dropout").isFixedSlot(1));
  EXPECT_TRUE(facts.lookup("RMSNormalization").isTiedSlot(1));
  EXPECT_EQ(facts.lookup("OneHot").primary, 2u);
  EXPECT_EQ(facts.lookup("Cast").dtypeAttr, "to");
  EXPECT_EQ(facts.lookup("Softmax").range, ValueRange::Bounded);
  EXPECT_EQ(facts.lookup("Add").guard, GuardRole::Holder);
  EXPECT_EQ(facts.lookup("Div").guard, GuardRole::User);
  EXPECT_EQ(facts.lookup("Div").guardedSlot, 1u);
  EXPECT_NE(facts.lookup("LayerNormalization").float32Inside, "");
}

TEST(OpFacts, HaveDefaultsForOperatorsNotNamed) {
  OpFacts facts = OpFacts::builtin();
  const OpFact &fact = facts.lookup("Relu");
  EXPECT_EQ(fact.primary, 0u);
  EXPECT_TRUE(fact.fixedSlots.empty());
  EXPECT_TRUE(fact.dtypeAttr.empty());
  EXPECT_EQ(fact.range, ValueRange::Keeps);
  EXPECT_EQ(fact.guard, GuardRole::None);
}

static std::string factsError(StringRef text) {
  Expected<OpFacts> facts = OpFacts::parse(text, "facts.json");
  return facts ? std::string() : toString(facts.takeError());
}

TEST(OpFacts, MistakesAreNamed) {
  EXPECT_EQ(factsError(R"({"ops": {"Softmax": {"rnge": "bounded"}}})"),
            "facts.json: 'Softmax': unknown key 'rnge'; did you mean 'range'?");
  EXPECT_EQ(factsError(R"({"ops": {"Softmax": {"range": "small"}}})"),
            "facts.json: 'Softmax': unknown range 'small'; write one of keeps, "
            "bounded, expands");
  EXPECT_EQ(factsError(R"({"ops": {"Resize": {"fixed_slots": 1}}})"),
            "facts.json: 'Resize': 'fixed_slots' must be a list of integers");
  EXPECT_EQ(
      factsError(R"({"ops": {"Resize": {"fixed_slots": [-1]}}})"),
      "facts.json: 'Resize': 'fixed_slots' must hold integers of 0 or more");
  EXPECT_EQ(factsError(R"({"ops": {"OneHot": {"primary": "values"}}})"),
            "facts.json: 'OneHot': 'primary' must be the index of an operand");
  EXPECT_EQ(factsError(R"({"ops": {"Cast": {"dtype_attr": 3}}})"),
            "facts.json: 'Cast': 'dtype_attr' must be a string");
  EXPECT_EQ(factsError(R"({"ops": {"Cast": "to"}})"),
            "facts.json: 'Cast': expected an object");
  EXPECT_EQ(
      factsError("{}"),
      "facts.json: 'ops' is missing or not an object; add \"ops\": {...}");
}
