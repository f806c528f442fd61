//===- Progress.cpp - What training tells of itself -----------------------===//
// JSON lines for programs, one line that changes for people.
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "amp/Runtime/Failure.h"
#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

/// Skipped steps in a row that are no longer a scale finding its level.
static constexpr int64_t manySkips = 10;
/// A loss scale below this does nothing that training in f32 would not.
static constexpr double smallScale = 1.0;

/// How long a row of the log may stay unwritten.
static constexpr std::chrono::milliseconds flushInterval(200);

static Json toJson(const StepRow &row) {
  Json json = {{"step", row.step},       {"epoch", row.epoch},
               {"loss", row.loss},       {"scale", row.scale},
               {"skipped", row.skipped}, {"grad_norm", row.gradNorm},
               {"lr", row.lr},           {"applied", row.applied},
               {"seconds", row.seconds}};
  if (!row.culprit.empty())
    json["first_non_finite"] = row.culprit;
  if (!row.origin.empty())
    json["first_non_finite_op"] = row.origin;
  return json;
}

static StepRow fromJson(const Json &json, const std::string &path) {
  JsonCursor cursor(json, path);
  auto number = [&](const char *key) {
    JsonCursor value = cursor.get(key);
    return value.raw().is_null() ? NAN : value.getNumber();
  };
  StepRow row = {};
  row.step = cursor.get("step").getInteger(0, INT64_MAX);
  row.loss = number("loss");
  row.scale = number("scale");
  row.skipped = cursor.get("skipped").getBool();
  if (cursor.has("first_non_finite"))
    row.culprit = cursor.get("first_non_finite").getString();
  if (cursor.has("first_non_finite_op"))
    row.origin = cursor.get("first_non_finite_op").getString();
  return row;
}

[[noreturn]] static void failToWrite(const std::string &path) {
  fail(AMP_IO, "cannot write " + quote(path) + ": " + std::strerror(errno));
}

StepLog::StepLog(const std::string &path, int64_t resumedStep) : path(path) {
  if (path.empty())
    return;
  if (resumedStep > 0)
    keepEarlier(resumedStep);
  file = std::fopen(path.c_str(), resumedStep > 0 ? "a" : "w");
  if (!file)
    failToWrite(path);
}

void StepLog::keepEarlier(int64_t resumedStep) {
  if (::access(path.c_str(), F_OK) != 0)
    return;
  Bytes bytes = mapFile(path);
  std::string_view left = bytes.view;
  std::string kept;
  while (!left.empty()) {
    size_t end = left.find('\n');
    // A line that a killed run did not finish is no row.
    if (end == std::string_view::npos)
      break;
    std::string_view line = left.substr(0, end);
    left.remove_prefix(end + 1);
    StepRow row = fromJson(parseJson(line, path), path);
    if (row.step > resumedStep)
      break;
    earlier.push_back(row);
    kept.append(line).append("\n");
  }
  AtomicWriter out(path);
  out.write(kept);
  out.commit();
}

StepLog::~StepLog() {
  if (file)
    std::fclose(file);
}

void StepLog::add(const StepRow &row) {
  if (!file)
    return;
  std::string line = print(toJson(row)) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file) != line.size())
    failToWrite(path);
  if (Clock::now() - lastFlush > flushInterval)
    flush();
}

void StepLog::flush() {
  lastFlush = Clock::now();
  if (file && std::fflush(file) != 0)
    failToWrite(path);
}

void StepLog::finish() {
  if (!file)
    return;
  std::FILE *closing = file;
  file = nullptr;
  bool flushed = std::fflush(closing) == 0;
  int error = errno;
  bool closed = std::fclose(closing) == 0;
  if (!flushed)
    errno = error;
  if (!flushed || !closed)
    failToWrite(path);
}

Progress::Progress(const Options &options, const Session &session,
                   int64_t totalSteps)
    : options(options), totalSteps(totalSteps),
      isTerminal(::isatty(STDERR_FILENO)), start(Clock::now()),
      lastPrint(start) {
  const Json &scaler = session.getManifest().scaler;
  floor = scaler.contains("min_scale") && scaler["min_scale"].is_number()
              ? scaler["min_scale"].get<double>()
              : 0;
}

void Progress::warnOfScale(const StepRow &row) {
  consecutive = row.skipped ? consecutive + 1 : 0;
  std::string where = "step " + std::to_string(row.step) + ": ";
  if (!row.culprit.empty() && consecutive <= 1)
    warn(where + "skipped; the first gradient that is not finite is that of " +
         quote(row.culprit) +
         (row.origin.empty() ? "" : ", and it begins in " + row.origin));
  if (!std::isfinite(row.loss) && !saidLoss) {
    warn(where + "the loss is not finite; a smaller loss scale does not help "
                 "with that: look at the data and the learning rate");
    saidLoss = true;
  }
  if (row.skipped && floor > 0 && row.scale <= floor && !saidFloor) {
    warn(where + "the loss scale is at its floor (" + print(Json(floor)) +
         ") and gradients are still not finite");
    saidFloor = true;
  }
  bool collapsed = row.skipped && row.scale < smallScale;
  if ((consecutive == manySkips || collapsed) && !saidCollapse) {
    warn(where + "the loss scale collapses (now " + print(Json(row.scale)) +
         ", " + std::to_string(consecutive) +
         " steps skipped in a row): the gradients are not finite for another "
         "reason than the scale");
    saidCollapse = true;
  }
}

void Progress::printLine() {
  double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::string total = totalSteps > 0 ? "/" + std::to_string(totalSteps) : "";
  std::fprintf(stderr,
               "%sstep %lld%s  epoch %lld/%lld  loss %.6g  scale %g  skipped "
               "%lld  %.1f step/s%s",
               isTerminal ? "\r" : "", static_cast<long long>(last.step),
               total.c_str(), static_cast<long long>(last.epoch),
               static_cast<long long>(lastEpochs), last.loss, last.scale,
               static_cast<long long>(skipped),
               seconds > 0 ? static_cast<double>(steps) / seconds : 0.0,
               isTerminal ? "\x1b[K" : "\n");
}

void Progress::show(const StepRow &row, int64_t totalEpochs) {
  ++steps;
  skipped += row.skipped;
  last = row;
  lastEpochs = totalEpochs;
  warnOfScale(row);
  double since =
      std::chrono::duration<double>(Clock::now() - lastPrint).count();
  if (options.quiet || since < (isTerminal ? 0.1 : 2.0))
    return;
  lastPrint = Clock::now();
  printLine();
}

void Progress::finish() {
  if (options.quiet || steps == 0)
    return;
  printLine();
  if (isTerminal)
    std::fputc('\n', stderr);
}
