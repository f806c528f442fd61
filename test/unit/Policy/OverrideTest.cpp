//===- OverrideTest.cpp - allow and deny ----------------------------------===//
//
// The user's lists win over the table, and their mistakes are named.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/Policy/Policy.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace amp;

static Policy balanced() { return cantFail(Policy::load("balanced")); }

TEST(Override, AllowNarrowsInBothTypesAndSaysSo) {
  Policy policy = balanced();
  ASSERT_FALSE(bool(policy.allow("Softmax")));
  for (HalfType type : {HalfType::F16, HalfType::BF16}) {
    Row row = *policy.lookup("Softmax", type);
    EXPECT_EQ(row.opClass, OpClass::Narrow);
    EXPECT_EQ(row.origin, "--allow");
    EXPECT_EQ(row.note, "Allowed by the user.");
  }
  EXPECT_EQ(policy.lookup("LogSoftmax", HalfType::F16)->opClass, OpClass::Wide);
}

TEST(Override, DenyWidensAndDropsCases) {
  Policy policy = balanced();
  ASSERT_FALSE(policy.lookup("ScatterND", HalfType::F16)->cases.empty());
  ASSERT_FALSE(bool(policy.deny("ScatterND")));
  Row row = *policy.lookup("ScatterND", HalfType::F16);
  EXPECT_EQ(row.opClass, OpClass::Wide);
  EXPECT_EQ(row.origin, "--deny");
  EXPECT_TRUE(row.cases.empty());
}

TEST(Override, TheSameOrderTwiceIsHarmless) {
  Policy policy = balanced();
  EXPECT_FALSE(bool(policy.deny("MatMul")));
  EXPECT_FALSE(bool(policy.deny("MatMul")));
}

TEST(Override, BothWaysIsAnOverlap) {
  Policy policy = balanced();
  ASSERT_FALSE(bool(policy.allow("Softmax")));
  EXPECT_EQ(toString(policy.deny("Softmax")),
            "operator 'Softmax' is both allowed and denied; remove it from one "
            "of the two");
  EXPECT_EQ(policy.lookup("Softmax", HalfType::F16)->opClass, OpClass::Narrow);
}

TEST(Override, UnknownOperatorNamesTheNearest) {
  Policy policy = balanced();
  EXPECT_EQ(toString(policy.allow("Matmul")),
            "cannot allow 'Matmul': unknown operator; "
            "did you mean 'MatMul'?");
  EXPECT_EQ(toString(policy.deny("Frobnicate")),
            "cannot deny 'Frobnicate': unknown operator");
}

TEST(Override, OperatorWithoutPrecisionIsRefusedWithTheReason) {
  Policy policy = balanced();
  EXPECT_EQ(toString(policy.allow("And")),
            "cannot allow 'And': there is no precision to decide (Boolean "
            "logic: no float operand to decide about.); "
            "remove it from the list");
}
