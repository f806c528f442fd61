//===- Schedule.cpp - Learning rates over time ----------------------------===//
// Parses the schedule of train.json and computes its factor.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Schedule.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cmath>

using namespace amp::runtime;

static int64_t getSteps(const JsonCursor &cursor, const char *key, int64_t low,
                        int64_t absent) {
  return cursor.has(key) ? cursor.get(key).getInteger(low, INT64_MAX / 2)
                         : absent;
}

static double getFraction(const JsonCursor &cursor, const char *key,
                          double absent) {
  if (!cursor.has(key))
    return absent;
  double value = cursor.get(key).getNumber();
  if (!(value >= 0 && std::isfinite(value)))
    cursor.get(key).reject("expected a number that is not negative");
  return value;
}

Schedule Schedule::parse(const JsonCursor &config) {
  Schedule schedule;
  if (!config.has("schedule"))
    return schedule;
  JsonCursor cursor = config.get("schedule");
  std::string kind = cursor.get("kind").getString();
  std::vector<std::string> keys = {"kind", "warmup_steps"};
  if (kind == "constant") {
    schedule.kind = Kind::Constant;
  } else if (kind == "linear" || kind == "cosine") {
    schedule.kind = kind == "linear" ? Kind::Linear : Kind::Cosine;
    keys.insert(keys.end(), {"total_steps", "end_factor"});
    schedule.total = cursor.get("total_steps").getInteger(1, INT64_MAX / 2);
  } else if (kind == "step") {
    schedule.kind = Kind::Step;
    keys.insert(keys.end(), {"step_size", "gamma"});
    schedule.stepSize = cursor.get("step_size").getInteger(1, INT64_MAX / 2);
  } else {
    cursor.get("kind").reject("there is no schedule " + quote(kind) +
                              "; expected constant, linear, cosine or step");
  }
  for (const auto &item : cursor.getObject().items())
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
      cursor.reject("a " + kind + " schedule has no key " + quote(item.key()));
  schedule.warmup = getSteps(cursor, "warmup_steps", 0, 0);
  schedule.endFactor = getFraction(cursor, "end_factor", 0.0);
  schedule.gamma = getFraction(cursor, "gamma", 0.1);
  if (schedule.total && schedule.total <= schedule.warmup)
    cursor.get("total_steps").reject("expected more than warmup_steps");
  return schedule;
}

double Schedule::getFactor(int64_t step) const {
  if (step < warmup)
    return static_cast<double>(step + 1) / static_cast<double>(warmup);
  constexpr double pi = 3.14159265358979323846;
  switch (kind) {
  case Kind::Constant:
    return 1;
  case Kind::Step:
    return std::pow(gamma, static_cast<double>((step - warmup) / stepSize));
  case Kind::Linear:
  case Kind::Cosine:
    break;
  }
  double done = std::min(1.0, static_cast<double>(step - warmup) /
                                  static_cast<double>(total - warmup));
  double left = kind == Kind::Linear ? 1 - done : (1 + std::cos(pi * done)) / 2;
  return endFactor + (1 - endFactor) * left;
}
