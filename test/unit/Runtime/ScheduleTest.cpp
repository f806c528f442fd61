//===- ScheduleTest.cpp - Learning rates over time ------------------------===//
// Factors at the joints of each kind.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Schedule.h"
#include "amp/Runtime/Failure.h"
#include "gtest/gtest.h"

using namespace amp::runtime;

static Schedule parse(const char *text) {
  Json config = {{"schedule", Json::parse(text)}};
  return Schedule::parse(JsonCursor(config, "train.json"));
}

TEST(Schedule, AbsentIsConstant) {
  Json config = Json::object();
  Schedule schedule = Schedule::parse(JsonCursor(config, "train.json"));
  EXPECT_TRUE(schedule.isConstant());
  EXPECT_EQ(schedule.getFactor(1000000), 1);
}

TEST(Schedule, WarmupEndsAtOne) {
  Schedule schedule = parse(R"({"kind": "constant", "warmup_steps": 4})");
  EXPECT_EQ(schedule.getFactor(0), 0.25);
  EXPECT_EQ(schedule.getFactor(3), 1);
  EXPECT_EQ(schedule.getFactor(4), 1);
}

TEST(Schedule, LinearAndCosineEndWhereTheySay) {
  for (const char *kind : {"linear", "cosine"}) {
    Schedule schedule =
        parse((std::string(R"({"warmup_steps": 10, "total_steps": 30, )") +
               R"("end_factor": 0.5, "kind": ")" + kind + "\"}")
                  .c_str());
    EXPECT_DOUBLE_EQ(schedule.getFactor(9), 1);
    EXPECT_DOUBLE_EQ(schedule.getFactor(10), 1);
    EXPECT_DOUBLE_EQ(schedule.getFactor(20), 0.75);
    EXPECT_DOUBLE_EQ(schedule.getFactor(30), 0.5);
    EXPECT_DOUBLE_EQ(schedule.getFactor(1000), 0.5);
  }
}

TEST(Schedule, StepCountsFromTheEndOfWarmup) {
  Schedule schedule = parse(
      R"({"kind": "step", "step_size": 3, "gamma": 0.5, "warmup_steps": 2})");
  EXPECT_EQ(schedule.getFactor(4), 1);
  EXPECT_EQ(schedule.getFactor(5), 0.5);
  EXPECT_EQ(schedule.getFactor(8), 0.25);
}

TEST(Schedule, UnknownKeysAreRefused) {
  EXPECT_THROW(parse(R"({"kind": "constant", "warmup": 2})"), Failure);
  EXPECT_THROW(parse(R"({"kind": "linear", "step_size": 2})"), Failure);
  EXPECT_THROW(parse(R"([])"), Failure);
}
