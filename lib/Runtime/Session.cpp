//===- Session.cpp - A step that is loaded and has state ------------------===//
// Opening, state, hyper-parameters. Running is in SessionRun.cpp.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Session.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Memory.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace amp::runtime;

Session::Session(const std::string &path, const amp_options &options)
    : artifact(path), options(options),
      schedule(
          Schedule::parse(JsonCursor(artifact.manifest.config, "train.json"))),
      engine(createEngine(artifact, this->options)) {
  engine->allocateState();
  fillState(/*isFresh=*/true);
  engine->prepare();
  for (size_t id = 0; id < getManifest().tensors.size(); ++id) {
    if (getTensor(id).role != Role::Hyper)
      continue;
    initialHypers[id] = *getScalar(getTensor(id).name);
    hypers[id] = {initialHypers[id], /*fixed=*/false};
  }
  setThreads(options.threads);
}

/// Whether the tensor begins with what memory begins with: pages that nothing
/// wrote stay untouched.
static bool isZero(const TensorInfo &tensor) {
  return tensor.initValue == 0 && !std::signbit(tensor.initValue);
}

static void fillValue(const TensorInfo &tensor, char *data) {
  double value = tensor.initValue;
  Array one{tensor.name,   DType::F64, {}, reinterpret_cast<char *>(&value),
            sizeof(value), nullptr};
  char element[sizeof(double)] = {};
  convert(one, tensor.dtype, element);
  size_t size = getSize(tensor.dtype);
  for (size_t i = 0; i < tensor.bytes; i += size)
    std::memcpy(data + i, element, size);
}

void Session::fillState(bool isFresh) {
  TensorFile init = artifact.readInit();
  std::map<std::string_view, const Array *> arrays;
  for (const Array &array : init.arrays)
    arrays[array.name] = &array;
  for (size_t id = 0; id < getManifest().tensors.size(); ++id) {
    const TensorInfo &tensor = getTensor(id);
    bool hasKey = !tensor.initKey.empty();
    if (!isState(tensor.role) || tensor.bytes == 0 ||
        (isFresh && !hasKey && isZero(tensor)))
      continue;
    update(id, [&](char *value) {
      if (hasKey)
        std::memcpy(value, arrays.at(tensor.initKey)->data, tensor.bytes);
      else
        fillValue(tensor, value);
    });
  }
}

void Session::reset() {
  fillState(/*isFresh=*/false);
  for (auto &[id, hyper] : hypers)
    hyper = {initialHypers[id], /*fixed=*/false};
}

size_t Session::getTensorId(const std::string &name) const {
  if (std::optional<size_t> id = getManifest().findTensor(name))
    return *id;
  fail(AMP_NOT_FOUND, "the artifact has no tensor " + quote(name));
}

std::optional<double> Session::getScalar(std::string_view name) const {
  std::optional<size_t> id = getManifest().findTensor(name);
  if (!id || !getTensor(*id).isScalar())
    return std::nullopt;
  const char *data = read(*id);
  if (!data)
    return std::nullopt;
  const TensorInfo &tensor = getTensor(*id);
  Array array{tensor.name, tensor.dtype, {}, data, tensor.bytes, nullptr};
  double value;
  convert(array, DType::F64, reinterpret_cast<char *>(&value));
  return value;
}

void Session::bind(const std::string &name, void *target, size_t bytes) {
  size_t id = getTensorId(name);
  const TensorInfo &tensor = getTensor(id);
  if (!isState(tensor.role))
    fail(AMP_INVALID_ARGUMENT, quote(name) + " is no state (role " +
                                   getName(tensor.role) +
                                   "): pass its memory to the run");
  // Devices have their own rules.
  if (target && isOnHost() && !isAligned(target))
    fail(AMP_INVALID_ARGUMENT, "memory for " + quote(name) +
                                   " is not aligned to " +
                                   std::to_string(memoryAlignment) + " bytes");
  if (target && bytes < tensor.bytes)
    fail(AMP_INVALID_ARGUMENT, "memory for " + quote(name) + " has " +
                                   std::to_string(bytes) + " bytes, but " +
                                   tensor.describe() + " takes " +
                                   std::to_string(tensor.bytes));
  engine->bind(id, target);
}

static bool isLearningRate(const std::string &name) {
  return name == names::lr || name.compare(0, 3, "lr.") == 0;
}

void Session::storeHyper(size_t id) {
  const Hyper &hyper = hypers.at(id);
  bool scheduled = !hyper.fixed && isLearningRate(getTensor(id).name);
  double factor = 1;
  // Reading the counter may mean waiting for the step before.
  if (scheduled && !schedule.isConstant())
    factor = schedule.getFactor(
        static_cast<int64_t>(getScalar(names::applied).value_or(0)));
  float value = static_cast<float>(hyper.base * factor);
  update(id, [&](char *target) { std::memcpy(target, &value, sizeof(value)); });
}

void Session::applySchedule() {
  for (const auto &item : hypers)
    storeHyper(item.first);
}

static size_t getHyperId(const Session &session, const std::string &name) {
  size_t id = session.getTensorId(name);
  if (session.getHypers().count(id))
    return id;
  NameList have;
  for (const auto &item : session.getHypers())
    have.add(session.getTensor(item.first).name);
  fail(AMP_NOT_FOUND, quote(name) + " is no hyper-parameter; there are " +
                          (have.empty() ? "none" : have.str()));
}

void Session::setHyper(const std::string &name, double value, bool follow) {
  size_t id = getHyperId(*this, name);
  if (!std::isfinite(value))
    fail(AMP_INVALID_ARGUMENT,
         "the value for " + quote(name) + " is not finite");
  hypers[id] = {value, !follow};
  storeHyper(id);
}

double Session::getHyper(const std::string &name) const {
  getHyperId(*this, name);
  return *getScalar(name);
}

void Session::followSchedule() {
  for (auto &[id, hyper] : hypers)
    hyper = {initialHypers.at(id), /*fixed=*/false};
  applySchedule();
}

void Session::restoreHyper(size_t id, const Hyper &hyper) {
  hypers.at(id) = hyper;
  storeHyper(id);
}

amp_stats Session::getStats() const {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  amp_stats stats = {};
  stats.loss = none;
  // The first loss is the one that is trained on.
  for (const TensorInfo &tensor : getManifest().tensors)
    if (tensor.role == Role::Loss) {
      stats.loss = getScalar(tensor.name).value_or(none);
      break;
    }
  auto count = [&](const char *name) {
    return static_cast<int64_t>(getScalar(name).value_or(0));
  };
  stats.grad_norm = getScalar(names::gradNorm).value_or(none);
  stats.scale = getScalar(names::scale).value_or(none);
  stats.found_inf = getScalar(names::foundInf).value_or(0) != 0;
  stats.applied = count(names::applied);
  stats.skipped = count(names::skipped);
  stats.iteration = count(names::iteration);
  return stats;
}
