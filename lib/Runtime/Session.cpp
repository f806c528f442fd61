//===- Session.cpp - A step that is loaded and has state ------------------===//
// Opening, state, hyper-parameters. Running is in SessionRun.cpp.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Session.h"
#include "amp/Runtime/Failure.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace amp::runtime;

Session::Session(const std::string &path, const amp_options &options)
    : artifact(path), options(options),
      schedule(
          Schedule::parse(JsonCursor(artifact.manifest.config, "train.json"))) {
  artifact.loadCode(code);
  for (const EntryInfo &info : getManifest().entries) {
    Entry entry{&info, code.find(info), {}, {}};
    entry.tensors.resize(info.tensors.size());
    for (size_t id : info.tensors)
      if (isFed(getTensor(id).role))
        entry.fed.push_back(getTensor(id).name);
    entries.push_back(std::move(entry));
  }
  allocateState();
  fillState(/*isFresh=*/true);
  // Only now, when the initial values are no longer mapped.
  allocateWorkspace();
  for (size_t id = 0; id < memory.size(); ++id) {
    if (getTensor(id).role != Role::Hyper)
      continue;
    initialHypers[id] = *getScalar(getTensor(id).name);
    hypers[id] = {initialHypers[id], /*fixed=*/false};
  }
  setThreads(options.threads);
}

void Session::allocateState() {
  size_t count = getManifest().tensors.size();
  blocks.resize(count);
  memory.resize(count, nullptr);
  size_t total = 0;
  for (size_t id = 0; id < count; ++id) {
    if (!isState(getTensor(id).role))
      continue;
    total += std::min(getTensor(id).bytes, SIZE_MAX - total);
    if (!options.allocate && exceedsMachine(total))
      fail(AMP_OUT_OF_MEMORY,
           "there is no memory for tensor " + quote(getTensor(id).name) +
               " and those before it (" + std::to_string(total) + " bytes)");
    getOwn(id);
  }
}

/// The tensor's block, made when it is first needed.
char *Session::getOwn(size_t id) {
  if (memory[id])
    return memory[id];
  const TensorInfo &tensor = getTensor(id);
  blocks[id] = Block(tensor.bytes, options, "tensor " + quote(tensor.name));
  return memory[id] = blocks[id].get();
}

void Session::allocateWorkspace() {
  size_t most = 0;
  for (const EntryInfo &entry : getManifest().entries)
    most = std::max(most, entry.workspace);
  workspace = Block(most, options, "the workspace");
}

static void fillValue(const TensorInfo &tensor, char *data, bool isFresh) {
  double value = tensor.initValue;
  Array one{tensor.name,   DType::F64, {}, reinterpret_cast<char *>(&value),
            sizeof(value), nullptr};
  char element[sizeof(double)] = {};
  convert(one, tensor.dtype, element);
  size_t size = getSize(tensor.dtype);
  // Zero is what memory begins with: pages that nothing wrote stay untouched.
  if (tensor.initValue == 0 && !std::signbit(tensor.initValue) && isFresh)
    return;
  for (size_t i = 0; i < tensor.bytes; i += size)
    std::memcpy(data + i, element, size);
}

void Session::fillState(bool isFresh) {
  TensorFile init = artifact.readInit();
  std::map<std::string_view, const Array *> arrays;
  for (const Array &array : init.arrays)
    arrays[array.name] = &array;
  for (size_t id = 0; id < memory.size(); ++id) {
    const TensorInfo &tensor = getTensor(id);
    if (!isState(tensor.role))
      continue;
    if (tensor.initKey.empty())
      fillValue(tensor, memory[id], isFresh);
    else if (tensor.bytes)
      std::memcpy(memory[id], arrays.at(tensor.initKey)->data, tensor.bytes);
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
  if (!id || !memory[*id] || !getTensor(*id).isScalar())
    return std::nullopt;
  const TensorInfo &tensor = getTensor(*id);
  Array array{tensor.name, tensor.dtype, {},
              memory[*id], tensor.bytes, nullptr};
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
  if (target && !isAligned(target))
    fail(AMP_INVALID_ARGUMENT, "memory for " + quote(name) +
                                   " is not aligned to " +
                                   std::to_string(memoryAlignment) + " bytes");
  if (target && bytes < tensor.bytes)
    fail(AMP_INVALID_ARGUMENT, "memory for " + quote(name) + " has " +
                                   std::to_string(bytes) + " bytes, but " +
                                   tensor.describe() + " takes " +
                                   std::to_string(tensor.bytes));
  Block own;
  if (!target && memory[id] != blocks[id].get())
    own = Block(tensor.bytes, options, "tensor " + quote(name));
  char *next = target      ? static_cast<char *>(target)
               : own.get() ? own.get()
                           : memory[id];
  if (next != memory[id])
    std::memmove(next, memory[id], tensor.bytes);
  if (next != memory[id])
    blocks[id] = std::move(own);
  memory[id] = next;
}

void Session::setThreads(unsigned threads) {
  pool.reset(new ThreadPool(threads));
}

static bool isLearningRate(const std::string &name) {
  return name == names::lr || name.compare(0, 3, "lr.") == 0;
}

void Session::storeHyper(size_t id) {
  const Hyper &hyper = hypers.at(id);
  bool scheduled = !hyper.fixed && isLearningRate(getTensor(id).name);
  double steps = getScalar(names::applied).value_or(0);
  double factor =
      scheduled ? schedule.getFactor(static_cast<int64_t>(steps)) : 1;
  float value = static_cast<float>(hyper.base * factor);
  std::memcpy(memory[id], &value, sizeof(value));
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
