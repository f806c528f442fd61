//===- Schedule.h - Learning rates over time --------------------*- C++ -*-===//
// The schedule of train.json, keyed on applied steps.
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_SCHEDULE_H
#define AMP_RUNTIME_SCHEDULE_H

#include "amp/Runtime/Json.h"

namespace amp::runtime {

/// A factor for the learning rate as a function of the number of applied steps:
/// `warmup` steps that rise linearly, then what `kind` says.
class Schedule {
public:
  /// The "schedule" of a configuration; constant when there is none. Unknown
  /// keys and values out of range are refused.
  static Schedule parse(const JsonCursor &config);

  double getFactor(int64_t appliedSteps) const;
  bool isConstant() const { return kind == Kind::Constant && warmup == 0; }

private:
  enum class Kind { Constant, Linear, Cosine, Step };
  Kind kind = Kind::Constant;
  /// Steps of the rise, and the step at which linear and cosine end.
  int64_t warmup = 0, total = 0;
  /// Where linear and cosine end.
  double endFactor = 0;
  /// Of Step: the factor shrinks by gamma every so many steps.
  int64_t stepSize = 1;
  double gamma = 0.1;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_SCHEDULE_H
