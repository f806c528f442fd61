//===- Progress.h - What training tells of itself ---------------*- C++ -*-===//
// The log, the progress line, warnings, and the curves at the end.
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMPRUN_PROGRESS_H
#define AMP_TOOLS_AMPRUN_PROGRESS_H

#include "Commands.h"
#include <chrono>
#include <cstdio>
#include <vector>

namespace amp::run {

/// One step as it is logged.
struct StepRow {
  int64_t step, epoch;
  double loss, scale;
  bool skipped;
  double gradNorm, lr, seconds;
  int64_t applied;
  /// The first gradient that was not finite, where the artifact shows it.
  std::string culprit;
  /// What made the first value that was not finite, where it can be traced.
  std::string origin;
};

/// The file of --log. A resumed run keeps the rows up to the step it resumes
/// from, so that the file is that of a run that was never stopped.
class StepLog {
public:
  StepLog(const std::string &path, int64_t resumedStep);
  ~StepLog();
  StepLog(const StepLog &) = delete;
  StepLog &operator=(const StepLog &) = delete;

  void add(const StepRow &row);
  /// Hands all rows to the system; happens by itself a few times a second.
  void flush();
  /// Fails when something could not be written.
  void finish();
  /// Rows of the part of the run before it was resumed.
  const std::vector<StepRow> &getEarlier() const { return earlier; }

private:
  void keepEarlier(int64_t resumedStep);
  using Clock = std::chrono::steady_clock;
  std::string path;
  std::FILE *file = nullptr;
  std::vector<StepRow> earlier;
  Clock::time_point lastFlush;
};

class Progress {
public:
  Progress(const Options &options, const runtime::Session &session,
           int64_t totalSteps);
  void show(const StepRow &row, int64_t totalEpochs);
  /// Ends the line and says what was reached.
  void finish();

private:
  using Clock = std::chrono::steady_clock;
  void warnOfScale(const StepRow &row);
  void printLine();

  const Options &options;
  int64_t totalSteps;
  double floor;
  bool isTerminal, saidFloor = false, saidCollapse = false, saidLoss = false;
  int64_t steps = 0, skipped = 0, consecutive = 0;
  Clock::time_point start, lastPrint;
  StepRow last = {};
  int64_t lastEpochs = 0;
};

/// Writes loss and scale over steps as an SVG picture, or as a page (.html).
void writeCurves(const std::string &path, const std::vector<StepRow> &rows);

} // namespace amp::run

#endif // AMP_TOOLS_AMPRUN_PROGRESS_H
