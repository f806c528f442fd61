//===- Train.cpp - amp-run train ------------------------------------------===//
// Epochs over the data, with a log and checkpoints that resume exactly.
//===----------------------------------------------------------------------===//

#include "Progress.h"
#include "amp/Runtime/DataParallel.h"
#include "amp/Runtime/Failure.h"
#include <cmath>
#include <csignal>
#include <cstring>

using namespace amp::run;
using namespace amp::runtime;

namespace {
/// Where a run is; all of it is in the checkpoint.
struct Position {
  int64_t epoch = 0, batch = 0, steps = 0, seed = 0, shuffled = 1, rows = 0;

  /// Calls `visit` with every field and its key.
  template <typename Visit> void forEach(Visit visit) {
    visit(extras::epoch, epoch);
    visit(extras::batch, batch);
    visit(extras::steps, steps);
    visit(extras::rows, rows);
    visit(extras::shuffled, shuffled);
    visit(extras::dataSeed, seed);
  }
};

/// A call of the entry, as it has to be made again to be looked into: its
/// batch, and the values that it has changed since.
struct MicroStep {
  int64_t epoch, batch;
  std::map<size_t, std::string> state;
};

class Trainer {
public:
  Trainer(const Options &options, Collectives *ranks);
  int run();

private:
  void share(Collectives &ranks);
  bool shouldStop();
  void restore(Extras &extras);
  bool isDone() const;
  struct Outcome {
    double loss, seconds;
  };
  void step();
  int64_t countMicroSteps() const;
  Outcome runMicroSteps();
  int64_t countEpochs() const;
  void advance();
  void arrange();
  std::string findCulprit() const;
  MicroStep keepMicroStep() const;
  void putBack(const MicroStep &step);
  std::string traceMicroStep(const MicroStep &step);
  std::string findOrigin();
  double getLearningRate() const;
  void save();
  void finish();

  const Options &options;
  std::unique_ptr<Session> session;
  /// Null where there is one rank alone.
  std::unique_ptr<DataParallel> parallel;
  std::unique_ptr<Dataset> data;
  Position position;
  int64_t batches = 0;
  /// Those of the last update, where the artifact can look into them.
  std::vector<MicroStep> window;
  std::unique_ptr<StepLog> log;
  /// Null on ranks that are silent.
  std::unique_ptr<Progress> progress;
  std::vector<StepRow> rows;
};
} // namespace

static volatile std::sig_atomic_t stopSignal = 0;

static void requestStop(int signal) {
  // A second one ends the process at once.
  std::signal(signal, SIG_DFL);
  stopSignal = signal;
}

/// Fails when a file that is written at the end could not be.
static void checkWritable(const std::string &path) {
  if (!path.empty())
    AtomicWriter probe(path);
}

Trainer::Trainer(const Options &options, Collectives *ranks)
    : options(options) {
  checkWritable(options.save);
  checkWritable(options.plot);
  Extras extras;
  session = openSession(options, &extras);
  if (options.lr)
    session->setHyper(names::lr, *options.lr, /*follow=*/true);
  data = std::make_unique<Dataset>(
      *session, names::trainStep, options.data,
      [&](const std::string &text) { say(options, text); });
  restore(extras);
  if (ranks)
    share(*ranks);
  batches = data->countBatches(options.lastBatch);
  if (batches == 0)
    fail(AMP_MISMATCH, "the data has " + std::to_string(data->getRows()) +
                           " rows, a batch takes " +
                           std::to_string(data->getBatchRows()) +
                           "; --last-batch wrap fills it up");
  int64_t rest = data->getRows() % data->getBatchRows();
  if (rest != 0)
    say(options,
        std::to_string(data->getRows()) + " rows in batches of " +
            std::to_string(data->getBatchRows()) + ": the last " +
            std::to_string(rest) +
            (options.lastBatch == LastBatch::Drop
                 ? " are left out of each epoch (--last-batch drop)"
                 : " are filled up from the first rows (--last-batch wrap)"));
  log = std::make_unique<StepLog>(options.log, position.steps);
  rows = log->getEarlier();
  if (!ranks || ranks->getRank() == 0)
    progress = std::make_unique<Progress>(options, *session,
                                          options.steps.value_or(0));
}

/// Makes this one of several ranks.
void Trainer::share(Collectives &ranks) {
  std::vector<SharedFact> facts;
  position.forEach(
      [&](const char *key, int64_t value) { facts.push_back({key, value}); });
  facts.push_back({"number of epochs", options.epochs.value_or(-1)});
  facts.push_back({"number of steps", options.steps.value_or(-1)});
  parallel = std::make_unique<DataParallel>(*session, ranks, facts);
  data->share(ranks.getRank(), ranks.getSize());
  say(options, std::to_string(ranks.getSize()) + " ranks, " +
                   std::to_string(data->getBatchRows()) + " rows a batch");
}

/// A signal reaches one rank before the others; all stop after the same step.
bool Trainer::shouldStop() {
  bool signalled = stopSignal != 0;
  return parallel ? parallel->any(signalled) : signalled;
}

void Trainer::restore(Extras &extras) {
  position.seed = options.seed.value_or(0);
  position.shuffled = !options.noShuffle;
  position.rows = data->getRows();
  position.steps =
      session->getStats().iteration / session->getManifest().accumulate;
  if (extras.empty())
    return;
  Position found = position;
  found.forEach([&](const char *key, int64_t &value) {
    auto item = extras.find(key);
    if (item != extras.end())
      value = item->second;
  });
  std::string where = "checkpoint " + quote(options.resume) + ": ";
  if (found.epoch < 0 || found.batch < 0 || found.steps < 0)
    fail(AMP_BAD_FILE, where + "has a negative position");
  if (found.rows != position.rows)
    fail(AMP_MISMATCH, where + "was made with " + std::to_string(found.rows) +
                           " rows of data, there are " +
                           std::to_string(position.rows) +
                           " now: it cannot go on where it was");
  if (options.seed && *options.seed != found.seed)
    fail(AMP_MISMATCH, where + "shuffles with seed " +
                           std::to_string(found.seed) +
                           ", but --seed says otherwise");
  if (options.noShuffle && found.shuffled)
    fail(AMP_MISMATCH, where + "shuffles, but --no-shuffle was given");
  position = found;
}

bool Trainer::isDone() const {
  if (options.steps)
    return position.steps >= *options.steps;
  // A window that would reach past the last epoch is left for a later run.
  int64_t left =
      (options.epochs.value_or(1) - position.epoch) * batches - position.batch;
  return left < countMicroSteps();
}

/// Puts the data in the order of the current epoch.
void Trainer::arrange() {
  if (position.shuffled)
    data->shuffle(static_cast<uint64_t>(position.seed),
                  static_cast<uint64_t>(position.epoch));
}

/// Goes to the next batch, and to the next epoch after the last one.
void Trainer::advance() {
  if (++position.batch < batches)
    return;
  position.batch = 0;
  ++position.epoch;
  arrange();
}

/// Calls of the entry that the next update takes: with accumulation a window of
/// them, less those a checkpoint has from the window it was saved in.
int64_t Trainer::countMicroSteps() const {
  int64_t window = session->getManifest().accumulate;
  int64_t calls = session->getStats().iteration;
  return window - (calls > 0 ? calls % window : 0);
}

/// All micro-batches of one update; the mean of their losses, and the time the
/// entry took.
Trainer::Outcome Trainer::runMicroSteps() {
  using Clock = std::chrono::steady_clock;
  int64_t count = countMicroSteps();
  Outcome outcome = {0, 0};
  bool traces =
      !parallel && session->getManifest().findEntry(names::locateNonfinite);
  window.clear();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<Binding> batch = data->getBatch(position.batch);
    if (traces)
      window.push_back(keepMicroStep());
    Clock::time_point start = Clock::now();
    if (parallel)
      parallel->step(batch);
    else
      session->run(names::trainStep, batch, {});
    outcome.seconds +=
        std::chrono::duration<double>(Clock::now() - start).count();
    outcome.loss += session->getStats().loss / static_cast<double>(count);
    advance();
  }
  return outcome;
}

static bool isFinite(const TensorInfo &tensor, const char *data) {
  Array array{tensor.name, tensor.dtype, tensor.shape,
              data,        tensor.bytes, nullptr};
  std::vector<float> wide(tensor.bytes / getSize(tensor.dtype));
  convert(array, DType::F32, reinterpret_cast<char *>(wide.data()));
  for (float value : wide)
    if (!std::isfinite(value))
      return false;
  return true;
}

/// The first parameter whose gradient is not finite: by the gradients that the
/// entry gives, or by its flags "found_inf.<parameter>".
std::string Trainer::findCulprit() const {
  constexpr std::string_view flagPrefix = "found_inf.";
  const EntryInfo *entry = session->getManifest().findEntry(
      parallel ? names::trainGradients : names::trainStep);
  for (size_t id : entry->tensors) {
    const TensorInfo &tensor = session->getTensor(id);
    const char *data = session->read(id);
    if (tensor.role == Role::Gradient && isFloat(tensor.dtype) && data &&
        !isFinite(tensor, data))
      return tensor.of.empty() ? tensor.name : tensor.of;
    if (tensor.role == Role::Metric &&
        tensor.name.compare(0, flagPrefix.size(), flagPrefix) == 0 &&
        session->getScalar(tensor.name).value_or(0) != 0)
      return tensor.name.substr(flagPrefix.size());
  }
  return "";
}

MicroStep Trainer::keepMicroStep() const {
  MicroStep step{position.epoch, position.batch, {}};
  for (const char *name : {names::scale, names::iteration})
    if (std::optional<size_t> id = session->getManifest().findTensor(name))
      step.state[*id] =
          std::string(session->read(*id), session->getTensor(*id).bytes);
  return step;
}

void Trainer::putBack(const MicroStep &step) {
  for (const auto &[id, bytes] : step.state)
    session->update(id, [&bytes = bytes](char *data) {
      std::memcpy(data, bytes.data(), bytes.size());
    });
}

/// The first value that is not finite in a micro step that is made again.
std::string Trainer::traceMicroStep(const MicroStep &step) {
  const EntryInfo &entry =
      *session->getManifest().findEntry(names::locateNonfinite);
  if (position.shuffled)
    data->shuffle(static_cast<uint64_t>(position.seed),
                  static_cast<uint64_t>(step.epoch));
  putBack(step);
  std::vector<Binding> batch;
  for (Binding &binding : data->getBatch(step.batch))
    for (size_t id : entry.tensors)
      if (session->getTensor(id).name == binding.name)
        batch.push_back(std::move(binding));
  session->run(entry.name, batch, {});
  // "nonfinite.<number>.<what makes it>"
  constexpr std::string_view prefix = "nonfinite.";
  for (size_t id : entry.tensors) {
    const std::string &name = session->getTensor(id).name;
    if (name.compare(0, prefix.size(), prefix) == 0 &&
        session->getScalar(name).value_or(0) != 0)
      return name.substr(name.find('.', prefix.size()) + 1);
  }
  return "";
}

/// What made the first value that was not finite in the steps of a window that
/// was skipped: parameters are still those it ran with.
std::string Trainer::findOrigin() {
  if (window.empty())
    return "";
  MicroStep now = keepMicroStep();
  std::string origin;
  for (size_t i = 0; i < window.size() && origin.empty(); ++i)
    origin = traceMicroStep(window[i]);
  putBack(now);
  arrange();
  return origin;
}

double Trainer::getLearningRate() const {
  for (const auto &item : session->getHypers()) {
    const std::string &name = session->getTensor(item.first).name;
    if (name == names::lr || name.compare(0, 3, "lr.") == 0)
      return session->getHyper(name);
  }
  return NAN;
}

void Trainer::step() {
  int64_t skippedBefore = session->getStats().skipped;
  StepRow row;
  row.epoch = position.epoch + 1;
  Outcome outcome = runMicroSteps();
  amp_stats stats = session->getStats();
  row.step = ++position.steps;
  row.loss = outcome.loss;
  // Without loss scaling the loss is multiplied by one.
  row.scale = std::isnan(stats.scale) ? 1 : stats.scale;
  row.skipped = stats.found_inf || stats.skipped > skippedBefore;
  row.gradNorm = stats.grad_norm;
  row.lr = getLearningRate();
  row.applied = stats.applied;
  if (row.skipped) {
    row.culprit = findCulprit();
    row.origin = findOrigin();
  }
  row.seconds = outcome.seconds;
  log->add(row);
  if (progress)
    progress->show(row, countEpochs());
  if (!options.plot.empty())
    rows.push_back(row);
}

/// Epochs until the goal.
int64_t Trainer::countEpochs() const {
  int64_t window = session->getManifest().accumulate;
  return options.steps ? (*options.steps * window + batches - 1) / batches
                       : options.epochs.value_or(1);
}

void Trainer::save() {
  if (options.save.empty())
    return;
  Extras extras;
  position.forEach(
      [&](const char *key, int64_t value) { extras[key] = value; });
  // A run that is killed and resumed from here must not lack rows.
  log->flush();
  saveCheckpoint(*session, options.save, 0, extras);
}

void Trainer::finish() {
  if (progress)
    progress->finish();
  if (parallel)
    parallel->checkReplicas();
  save();
  log->finish();
  if (!options.plot.empty())
    writeCurves(options.plot, rows);
}

int Trainer::run() {
  int64_t window = session->getManifest().accumulate;
  if (isDone() && position.steps == 0 && batches < window)
    fail(AMP_MISMATCH, "an update takes " + std::to_string(window) +
                           " batches, the epochs have " +
                           std::to_string(batches) + " each and end before");
  if (isDone())
    say(options, "nothing to do: " + std::to_string(position.steps) +
                     " steps and " + std::to_string(position.epoch) +
                     " epochs were done before");
  arrange();
  std::signal(SIGINT, requestStop);
  std::signal(SIGTERM, requestStop);
  bool stopped = false;
  while (!isDone() && !(stopped = shouldStop())) {
    step();
    if (options.saveEvery && position.steps % *options.saveEvery == 0)
      save();
  }
  finish();
  if (!stopped)
    return 0;
  say(options, "stopped by a signal after step " +
                   std::to_string(position.steps) +
                   (options.save.empty() ? "; nothing was saved (no --save)"
                                         : "; saved to " + options.save));
  return 128 + (stopSignal ? stopSignal : SIGTERM);
}

int amp::run::trainRank(const Options &options, Collectives *ranks) {
  return Trainer(options, ranks).run();
}
