//===- TorchCheckpointWriter.cpp - State as PyTorch has it ----------------===//
// Parameters are numbered group by group, in the order of the artifact.
//===----------------------------------------------------------------------===//

#include "TorchCheckpoint.h"
#include "amp/Runtime/Checkpoint.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

using namespace amp::runtime;
using namespace amp::runtime::torch;

namespace {
class CheckpointMaker {
public:
  CheckpointMaker(const TensorFile &file, const Session &session)
      : file(file), session(session), manifest(session.getManifest()) {}

  TorchValue make();

private:
  const Array *take(const std::string &key);
  TorchValue makeModel();
  TorchValue makeOptimizer();
  TorchValue makeGroup(const Json *own, const std::vector<size_t> &numbers);
  TorchValue makeState(const std::string &parameter, double steps);
  TorchValue makeScaler();
  TorchValue makeOwn();
  double getValue(const std::string &name) const {
    return session.getScalar(name).value_or(0);
  }

  const TensorFile &file;
  const Session &session;
  const Manifest &manifest;
  std::set<std::string> taken;
  std::vector<std::string> parameters;
};
} // namespace

const Array *CheckpointMaker::take(const std::string &key) {
  for (const Array &array : file.arrays)
    if (array.name == key) {
      taken.insert(key);
      return &array;
    }
  return nullptr;
}

TorchValue CheckpointMaker::makeModel() {
  TorchValue model = TorchValue::makeDict();
  for (const TensorInfo &tensor : manifest.tensors) {
    if (!isWeight(tensor.role))
      continue;
    if (const Array *array = take(getCheckpointKey(tensor)))
      model.set(tensor.name, TorchValue::makeTensor(*array));
    if (tensor.role == Role::Parameter)
      parameters.push_back(tensor.name);
  }
  return model;
}

TorchValue CheckpointMaker::makeState(const std::string &parameter,
                                      double steps) {
  TorchValue state = TorchValue::makeDict();
  bool counts = manifest.optimizer.value("kind", "") != "sgd";
  for (const TensorInfo &tensor : manifest.tensors) {
    if (tensor.role != Role::OptimizerState || tensor.of != parameter ||
        isAccumulated(tensor))
      continue;
    std::string slot =
        tensor.name.substr(0, tensor.name.size() - parameter.size() - 1);
    if (const Array *array = take(getCheckpointKey(tensor)))
      state.set(slot, TorchValue::makeTensor(*array));
  }
  if (!counts)
    return state;
  char *data;
  Array count = makeArray("step", DType::F32, {}, &data);
  auto value = static_cast<float>(steps);
  std::memcpy(data, &value, sizeof(value));
  state.set("step", TorchValue::makeTensor(std::move(count)));
  return state;
}

/// A setting as Python has it.
static TorchValue makeSetting(const Json &value) {
  if (value.is_boolean())
    return TorchValue::makeBool(value.get<bool>());
  if (value.is_number())
    return TorchValue::makeFloat(value.get<double>());
  std::vector<TorchValue> items;
  for (const Json &item : value)
    items.push_back(makeSetting(item));
  return TorchValue::makeList(std::move(items));
}

/// Those of a group of the artifact, or of the rest (`own` is null).
TorchValue CheckpointMaker::makeGroup(const Json *own,
                                      const std::vector<size_t> &numbers) {
  TorchValue group = TorchValue::makeDict();
  bool hasRate = own && own->contains("lr");
  std::string rate = names::lr;
  if (hasRate)
    rate += "." + own->value("name", "");
  // The float32 of the step, in which a schedule is applied.
  group.set("lr", TorchValue::makeFloat(getValue(rate)));
  for (const auto &[id, hyper] : session.getHypers())
    if (session.getTensor(id).name == rate)
      group.set("initial_lr", TorchValue::makeFloat(hyper.base));
  for (const auto &item : manifest.optimizer.items()) {
    const std::string &key = item.key();
    if (key == "kind" || key == "groups" || key == "lr")
      continue;
    bool hasOwn = own && own->contains(key);
    group.set(key, makeSetting(hasOwn ? (*own)[key] : item.value()));
  }
  for (const char *key : {"foreach", "fused"})
    group.set(key, {});
  for (const char *key : {"capturable", "differentiable"})
    group.set(key, TorchValue::makeBool(false));
  if (manifest.optimizer.value("kind", "") != "sgd")
    group.set(
        "decoupled_weight_decay",
        TorchValue::makeBool(manifest.optimizer.value("kind", "") == "adamw"));
  std::vector<TorchValue> params, paramNames;
  for (size_t number : numbers) {
    params.push_back(
        TorchValue::makeInteger(static_cast<int64_t>(params.size())));
    paramNames.push_back(TorchValue::makeText(parameters[number]));
  }
  group.set("param_names", TorchValue::makeList(std::move(paramNames)));
  group.set("params", TorchValue::makeList(std::move(params)));
  return group;
}

TorchValue CheckpointMaker::makeOptimizer() {
  std::vector<std::pair<const Json *, std::vector<size_t>>> groups;
  auto own = manifest.optimizer.find("groups");
  if (own != manifest.optimizer.end() && own->is_array())
    for (const Json &group : *own)
      groups.push_back({&group, {}});
  groups.push_back({nullptr, {}});
  for (size_t number = 0; number < parameters.size(); ++number)
    for (auto &[group, numbers] : groups) {
      auto names = group ? group->find("parameters") : Json::const_iterator();
      if (group && (names == group->end() || !names->is_array() ||
                    std::find(names->begin(), names->end(),
                              parameters[number]) == names->end()))
        continue;
      numbers.push_back(number);
      break;
    }
  TorchValue states = TorchValue::makeDict();
  std::vector<TorchValue> list;
  double steps = getValue(names::applied);
  size_t next = 0;
  for (auto &[group, numbers] : groups) {
    if (numbers.empty())
      continue;
    TorchValue made = makeGroup(group, numbers);
    for (size_t i = 0; i < numbers.size(); ++i, ++next) {
      TorchValue state = makeState(parameters[numbers[i]], steps);
      // Before the first step torch.optim has no state.
      if (steps > 0)
        states.set(std::to_string(next), std::move(state));
      made.items.back().items[i] =
          TorchValue::makeInteger(static_cast<int64_t>(next));
    }
    list.push_back(std::move(made));
  }
  TorchValue optimizer = TorchValue::makeDict();
  optimizer.set(stateKey, std::move(states));
  optimizer.set(groupsKey, TorchValue::makeList(std::move(list)));
  return optimizer;
}

TorchValue CheckpointMaker::makeScaler() {
  TorchValue scaler = TorchValue::makeDict();
  if (!take("scaler.scale") || !take("scaler.growth_tracker"))
    return scaler; // as a GradScaler that is not enabled
  scaler.set(scaleKey, TorchValue::makeFloat(getValue(names::scale)));
  for (const char *key : scalerSettings) {
    double value = getSetting(manifest.scaler, key);
    scaler.set(key, value == std::floor(value) &&
                            std::strcmp(key, "growth_interval") == 0
                        ? TorchValue::makeInteger(static_cast<int64_t>(value))
                        : TorchValue::makeFloat(value));
  }
  scaler.set(trackerKey, TorchValue::makeInteger(static_cast<int64_t>(
                             getValue("scaler.growth_tracker"))));
  return scaler;
}

TorchValue CheckpointMaker::makeOwn() {
  TorchValue own = TorchValue::makeDict(), metadata = TorchValue::makeDict();
  for (const auto &[key, text] : file.metadata)
    metadata.set(key, TorchValue::makeText(text));
  own.set(metadataKey, std::move(metadata));
  for (const Array &array : file.arrays)
    if (!taken.count(array.name))
      own.set(array.name, TorchValue::makeTensor(array));
  return own;
}

TorchValue CheckpointMaker::make() {
  TorchValue root = TorchValue::makeDict();
  root.set("model", makeModel());
  root.set("optimizer", makeOptimizer());
  root.set("scaler", makeScaler());
  root.set(ownKey, makeOwn());
  return root;
}

TorchValue amp::runtime::makeTorchCheckpoint(const TensorFile &file,
                                             const Session &session) {
  return CheckpointMaker(file, session).make();
}
