//===- TorchCheckpoint.cpp - Checkpoints of training scripts --------------===//
// torch.optim numbers parameters in the order it was given them; here they have
// names.
//===----------------------------------------------------------------------===//

#include "TorchCheckpoint.h"
#include "amp/Runtime/Checkpoint.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace amp::runtime;
using namespace amp::runtime::torch;

static constexpr const char *fingerprintKey = "fingerprint";
/// What scripts call the part that holds the model.
static constexpr const char *modelKeys[] = {"model", "model_state_dict",
                                            "state_dict"};
/// What wrappers of modules put before all names.
static constexpr std::string_view wrappers[] = {"module.", "_orig_mod."};
/// Settings that a checkpoint must share with the step, in both spellings.
static constexpr const char *settings[] = {"momentum", "dampening", "nesterov",
                                           "maximize", "eps",       "amsgrad"};

static bool isOptimizer(const TorchValue &value) {
  return value.isDictWith({stateKey, groupsKey});
}

static bool isScaler(const TorchValue &value) {
  return value.isDictWith({scaleKey, trackerKey});
}

static bool holdsTensors(const TorchValue &value) {
  if (value.kind == TorchValue::Tensor)
    return true;
  return value.kind == TorchValue::Dict && !isOptimizer(value) &&
         std::any_of(value.items.begin(), value.items.end(), holdsTensors);
}

static const TorchValue *findPart(const TorchValue &root,
                                  bool (*isPart)(const TorchValue &)) {
  for (size_t i = 0; i < root.items.size(); ++i)
    if (root.keys[i] != ownKey && isPart(root.items[i]))
      return &root.items[i];
  return nullptr;
}

/// The dictionary of the model's tensors; null when it is `root` itself.
static const TorchValue *findModel(const TorchValue &root) {
  for (const char *key : modelKeys)
    if (const TorchValue *value = root.find(key); value && holdsTensors(*value))
      return value;
  return nullptr;
}

bool amp::runtime::isTorchCheckpoint(const TorchValue &root) {
  return findModel(root) || findPart(root, isOptimizer) ||
         findPart(root, isScaler);
}

/// Whether two numbers are the same setting: both were parsed from text.
static bool isSame(double a, double b) {
  return std::fabs(a - b) <= 1e-12 * std::max(std::fabs(a), std::fabs(b));
}

double torch::getSetting(const Json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end() || found->is_null())
    return 0;
  return found->is_boolean()  ? found->get<bool>()
         : found->is_number() ? found->get<double>()
                              : NAN;
}

namespace {
/// A parameter as torch.optim has it.
struct Slot {
  std::string name;
  const TorchValue *group;
  /// Its state; null before the first step.
  const TorchValue *state;
};

class CheckpointReader {
public:
  CheckpointReader(const TorchValue &root, const Session &session,
                   std::string file)
      : root(root), session(session), manifest(session.getManifest()),
        file(std::move(file)) {}

  TensorFile read(bool weightsOnly);

private:
  [[noreturn]] void reject(const std::string &what) const {
    fail(AMP_MISMATCH, "checkpoint " + quote(file) + ": " + what);
  }
  void readModel();
  void stripWrappers(std::vector<Array> &arrays) const;
  void dropAliases(std::vector<Array> &arrays);
  void readOwn();
  void readOptimizer(const TorchValue &optimizer);
  std::vector<std::string> nameParameters(const TorchValue &optimizer) const;
  std::vector<Slot> getSlots(const TorchValue &optimizer) const;
  const Json *getOwnGroup(const std::string &parameter) const;
  void compare(const std::string &what, double theirs, double ours);
  void compareKind(const Slot &slot) const;
  void compareSettings(const Slot &slot);
  void takeRate(const Slot &slot);
  void takeState(const Slot &slot);
  void takeStep(const Slot &slot, double steps);
  void readScaler(const TorchValue &scaler);
  void fillRest();
  const TensorInfo *find(const std::string &name) const;
  void add(const TensorInfo &tensor, double value);
  void add(std::string key, DType type, Shape shape, double value);

  const TorchValue &root;
  const Session &session;
  const Manifest &manifest;
  std::string file;
  TensorFile result;
  std::set<std::string> done;
  /// Names of all tensors of the model in their order, and of those among them
  /// that the step trains.
  std::vector<std::string> all, trained;
  std::map<std::string, double> rates;
  std::optional<double> steps;
  NameList differing;
};
} // namespace

const TensorInfo *CheckpointReader::find(const std::string &name) const {
  std::optional<size_t> id = manifest.findTensor(name);
  return id ? &session.getTensor(*id) : nullptr;
}

void CheckpointReader::add(std::string key, DType type, Shape shape,
                           double value) {
  char element[sizeof(double)], *data;
  Array one{key,           DType::F64, {}, reinterpret_cast<char *>(&value),
            sizeof(value), nullptr};
  convert(one, type, element);
  Array array = makeArray(key, type, std::move(shape), &data);
  for (size_t i = 0; i < array.bytes; i += getSize(type))
    std::memcpy(data + i, element, getSize(type));
  done.insert(key);
  result.arrays.push_back(std::move(array));
}

void CheckpointReader::add(const TensorInfo &tensor, double value) {
  add(getCheckpointKey(tensor), tensor.dtype, tensor.shape, value);
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

void CheckpointReader::stripWrappers(std::vector<Array> &arrays) const {
  for (std::string_view wrapper : wrappers) {
    bool wraps = !arrays.empty();
    for (const Array &array : arrays)
      wraps &= array.name.compare(0, wrapper.size(), wrapper) == 0 &&
               !find(array.name);
    if (wraps)
      for (Array &array : arrays)
        array.name.erase(0, wrapper.size());
  }
}

/// A tied tensor is there under each of its names; the step knows one.
void CheckpointReader::dropAliases(std::vector<Array> &arrays) {
  std::map<const char *, std::string> known;
  for (const Array &array : arrays)
    if (find(array.name))
      known.emplace(array.data, array.name);
  auto isAlias = [&](const Array &array) {
    auto found = known.find(array.data);
    return !find(array.name) && found != known.end() &&
           find(found->second)->bytes == array.bytes;
  };
  arrays.erase(std::remove_if(arrays.begin(), arrays.end(), isAlias),
               arrays.end());
}

void CheckpointReader::readModel() {
  const TorchValue *model = findModel(root);
  if (!model)
    reject("holds no model's tensors under " + quote(modelKeys[0]) + ", " +
           quote(modelKeys[1]) + " or " + quote(modelKeys[2]));
  std::vector<Array> arrays = listTensors(*model, file);
  stripWrappers(arrays);
  dropAliases(arrays);
  for (Array &array : arrays) {
    const TensorInfo *tensor = find(array.name);
    bool isBuffer = endsWith(array.name, ".num_batches_tracked") ||
                    (tensor && tensor->role == Role::Buffer);
    if (!isBuffer)
      all.push_back(array.name);
    if (tensor && tensor->role == Role::Parameter)
      trained.push_back(array.name);
    if (endsWith(array.name, ".num_batches_tracked") && !tensor)
      continue;
    array.name = "model." + array.name;
    done.insert(array.name);
    result.arrays.push_back(std::move(array));
  }
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

/// Names by number: those the optimizer was given, else the model's order.
std::vector<std::string>
CheckpointReader::nameParameters(const TorchValue &optimizer) const {
  const TorchValue &groups = *optimizer.find(groupsKey);
  std::vector<std::string> names;
  size_t count = 0;
  for (const TorchValue &group : groups.items) {
    const TorchValue *given = group.find("param_names"),
                     *numbers = group.find("params");
    if (!numbers || numbers->kind != TorchValue::List)
      reject("a parameter group of the optimizer has no 'params'");
    count += numbers->items.size();
    if (given && given->items.size() == numbers->items.size())
      for (const TorchValue &name : given->items)
        names.push_back(name.text);
  }
  if (names.size() == count)
    return names;
  if (groups.items.size() == 1 && count == all.size())
    return all;
  if (groups.items.size() == 1 && count == trained.size())
    return trained;
  reject("the optimizer's state is of " + std::to_string(count) +
         " parameters in " + std::to_string(groups.items.size()) +
         " groups, and nothing says which of the model's " +
         std::to_string(all.size()) + " they are (the step trains " +
         std::to_string(trained.size()) +
         "): build the optimizer with model.named_parameters(), then its "
         "state_dict has their names");
}

std::vector<Slot>
CheckpointReader::getSlots(const TorchValue &optimizer) const {
  std::vector<std::string> names = nameParameters(optimizer);
  for (std::string_view wrapper : wrappers)
    for (std::string &name : names)
      if (!find(name) && name.compare(0, wrapper.size(), wrapper) == 0)
        name.erase(0, wrapper.size());
  const TorchValue &state = *optimizer.find(stateKey);
  std::vector<Slot> slots;
  for (const TorchValue &group : optimizer.find(groupsKey)->items)
    for (const TorchValue &number : group.find("params")->items) {
      const std::string &name = names[slots.size()];
      const TorchValue *own = state.find(std::to_string(number.integer));
      slots.push_back({name, &group, own});
    }
  return slots;
}

/// The group of the artifact that a parameter is in; null for the rest.
const Json *CheckpointReader::getOwnGroup(const std::string &parameter) const {
  auto groups = manifest.optimizer.find("groups");
  if (groups == manifest.optimizer.end() || !groups->is_array())
    return nullptr;
  for (const Json &group : *groups) {
    auto names = group.find("parameters");
    if (names != group.end() && names->is_array() &&
        std::find(names->begin(), names->end(), parameter) != names->end())
      return &group;
  }
  return nullptr;
}

void CheckpointReader::compare(const std::string &what, double theirs,
                               double ours) {
  if (!isSame(theirs, ours))
    differing.add(what + " " + print(Json(theirs)) + " instead of " +
                  print(Json(ours)));
}

/// SGD alone has a dampening, Adam and its like have betas; what tells Adam
/// from AdamW is a flag of newer files.
void CheckpointReader::compareKind(const Slot &slot) const {
  std::string kind = manifest.optimizer.value("kind", "");
  const TorchValue *decoupled = slot.group->find("decoupled_weight_decay");
  bool isSgd = slot.group->find("dampening"),
       isAdam = slot.group->find("betas");
  if (kind == "sgd" ? !isSgd : !isAdam)
    reject("the optimizer's state is not that of " + quote(kind) +
           ", which the step was compiled with");
  if (decoupled && (kind == "adam" || kind == "adamw") &&
      (decoupled->integer != 0) != (kind == "adamw"))
    reject(std::string("the optimizer is ") +
           (kind == "adam" ? "AdamW" : "Adam") +
           ", but the step was compiled with " + quote(kind));
}

void CheckpointReader::compareSettings(const Slot &slot) {
  compareKind(slot);
  auto number = [&](const char *key) {
    const TorchValue *value = slot.group->find(key);
    return value ? value->getNumber() : std::nullopt;
  };
  for (const char *key : settings)
    if (std::optional<double> theirs = number(key))
      compare(key, *theirs, getSetting(manifest.optimizer, key));
  const TorchValue *betas = slot.group->find("betas");
  auto own = manifest.optimizer.find("betas");
  for (size_t i = 0;
       betas && own != manifest.optimizer.end() && own->is_array() &&
       i < own->size() && i < betas->items.size();
       ++i)
    compare("betas[" + std::to_string(i) + "]",
            betas->items[i].getNumber().value_or(NAN),
            (*own)[i].is_number() ? (*own)[i].get<double>() : NAN);
  const Json *group = getOwnGroup(slot.name);
  bool hasOwn = group && group->contains("weight_decay");
  if (std::optional<double> theirs = number("weight_decay"))
    compare("weight_decay of " + slot.name, *theirs,
            getSetting(hasOwn ? *group : manifest.optimizer, "weight_decay"));
}

/// The rate before any schedule goes to the parameter's hyper-parameter.
void CheckpointReader::takeRate(const Slot &slot) {
  const TorchValue *value = slot.group->find("initial_lr");
  if (!value)
    value = slot.group->find("lr");
  std::optional<double> rate = value ? value->getNumber() : std::nullopt;
  const Json *group = getOwnGroup(slot.name);
  bool hasOwn = group && group->contains("lr") && group->contains("name") &&
                (*group)["name"].is_string();
  std::string name = names::lr;
  if (hasOwn)
    name += "." + (*group)["name"].get<std::string>();
  if (!rate)
    return;
  auto [known, isNew] = rates.emplace(name, *rate);
  if (!isNew && !isSame(known->second, *rate))
    reject("parameters that the step trains with the rate " + quote(name) +
           " have two in the file, " + print(Json(known->second)) + " and " +
           print(Json(*rate)) + ": make them a group with an lr in train.json");
}

void CheckpointReader::takeStep(const Slot &slot, double count) {
  if (steps && *steps != count)
    reject("the optimizer has counted " + print(Json(*steps)) +
           " steps of some parameters and " + print(Json(count)) + " of " +
           quote(slot.name) + "; a compiled step has one count for all");
  steps = count;
}

void CheckpointReader::takeState(const Slot &slot) {
  if (!slot.state)
    return;
  for (size_t i = 0; i < slot.state->items.size(); ++i) {
    const std::string &key = slot.state->keys[i];
    const TorchValue &value = slot.state->items[i];
    if (key == "step") {
      if (std::optional<double> count = value.getNumber())
        takeStep(slot, *count);
      continue;
    }
    if (value.kind != TorchValue::Tensor)
      continue; // momentum_buffer is None before the first step
    Array array = value.tensor;
    array.name = "optimizer." + key + "." + slot.name;
    if (!done.insert(array.name).second)
      reject(quote(slot.name) + " has the state " + quote(key) + " twice");
    result.arrays.push_back(std::move(array));
  }
}

void CheckpointReader::readOptimizer(const TorchValue &optimizer) {
  bool isFresh = optimizer.find(stateKey)->items.empty();
  for (const Slot &slot : getSlots(optimizer)) {
    const TensorInfo *parameter = find(slot.name);
    // Frozen parameters are constants of the step.
    if (!parameter || parameter->role != Role::Parameter)
      continue;
    compareSettings(slot);
    takeRate(slot);
    takeState(slot);
  }
  if (!differing.empty())
    reject(
        "the optimizer has other settings than the step was compiled with: " +
        differing.str() + "; compile the step with those");
  for (const TensorInfo &tensor : manifest.tensors)
    if (isFresh && tensor.role == Role::OptimizerState &&
        !isAccumulated(tensor) && !done.count(getCheckpointKey(tensor)))
      add(tensor, 0);
  for (const auto &[name, rate] : rates)
    if (find(name))
      add(getCheckpointKey(*find(name)), DType::F64, {}, rate);
  // SGD keeps no count, but starts its momentum at the first step.
  if (!steps)
    steps = isFresh ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// The scaler, and the rest
//===----------------------------------------------------------------------===//

void CheckpointReader::readScaler(const TorchValue &scaler) {
  for (const char *key : scalerSettings)
    if (const TorchValue *value = scaler.find(key))
      compare(key, value->getNumber().value_or(NAN),
              getSetting(manifest.scaler, key));
  if (!differing.empty())
    reject("the scaler has other settings than the step was compiled with: " +
           differing.str() + "; compile the step with those");
  auto take = [&](const char *key, const char *name) {
    std::optional<double> value = scaler.find(key)->getNumber();
    const TensorInfo *tensor = find(name);
    if (!value)
      reject("the scaler's " + quote(key) + " is no number");
    if (!tensor)
      reject("has a scaler, but the step was compiled without loss scaling");
    add(*tensor, *value);
  };
  take(scaleKey, names::scale);
  take(trackerKey, "scaler.growth_tracker");
}

/// What this runtime wrote beside PyTorch's parts.
void CheckpointReader::readOwn() {
  const TorchValue *own = root.find(ownKey);
  if (!own) {
    result.metadata[fingerprintKey] = manifest.fingerprint;
    return;
  }
  if (const TorchValue *metadata = own->find(metadataKey))
    for (size_t i = 0; i < metadata->items.size(); ++i)
      result.metadata[metadata->keys[i]] = metadata->items[i].text;
  for (size_t i = 0; i < own->items.size(); ++i) {
    if (own->items[i].kind != TorchValue::Tensor ||
        !done.insert(own->keys[i]).second)
      continue;
    result.arrays.push_back(own->items[i].tensor);
    result.arrays.back().name = own->keys[i];
  }
}

/// What PyTorch does not count starts anew; a scaler it lacks, too.
void CheckpointReader::fillRest() {
  if (root.find(ownKey))
    return;
  double applied = steps.value_or(0);
  for (const TensorInfo &tensor : manifest.tensors) {
    if (done.count(getCheckpointKey(tensor)))
      continue;
    if (tensor.name == names::applied)
      add(tensor, applied);
    else if (tensor.name == names::iteration)
      add(tensor, applied * static_cast<double>(manifest.accumulate));
    else if (tensor.role == Role::Counter || isAccumulated(tensor))
      add(tensor, 0);
    else if (tensor.role == Role::Hyper)
      add(getCheckpointKey(tensor), DType::F64, {}, tensor.initValue);
    else if (tensor.name == "scaler.hysteresis_left")
      add(tensor, std::max(1.0, getSetting(manifest.scaler, "hysteresis")));
  }
}

TensorFile CheckpointReader::read(bool weightsOnly) {
  readModel();
  if (weightsOnly)
    return std::move(result);
  if (const TorchValue *optimizer = findPart(root, isOptimizer))
    readOptimizer(*optimizer);
  if (const TorchValue *scaler = findPart(root, isScaler))
    readScaler(*scaler);
  readOwn();
  fillRest();
  return std::move(result);
}

TensorFile amp::runtime::readTorchCheckpoint(const TorchValue &root,
                                             const Session &session,
                                             const std::string &file,
                                             bool weightsOnly) {
  return CheckpointReader(root, session, file).read(weightsOnly);
}
