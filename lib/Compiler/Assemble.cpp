//===- Assemble.cpp - What an artifact is made of -------------------------===//
//
// Tensors of all entries in one table; the configuration as the manifest has
// it.
//
//===----------------------------------------------------------------------===//

#include "Assemble.h"
#include "IndexBounds.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

unsigned TensorTable::getTensor(const plan::TensorInfo &info, ElementsAttr init,
                                StringRef entry) {
  auto isSame = [&](const ArtifactTensor &tensor) {
    return tensor.role == info.role && tensor.elementType == info.elementType &&
           ArrayRef(tensor.shape) == ArrayRef(info.shape) &&
           (info.role != "constant" || tensor.init == init);
  };
  std::string name = info.name;
  auto found = byName.find(name);
  // Another tensor of that name in another entry: both keep a name of theirs.
  if (found != byName.end() && !isSame(artifact.tensors[found->second])) {
    name = (entry + "." + info.name).str();
    found = byName.find(name);
  }
  if (found != byName.end())
    return found->second;
  unsigned id = artifact.tensors.size();
  artifact.tensors.push_back(
      {name, info.role, info.of, info.elementType, info.shape, init});
  byName[name] = id;
  return id;
}

ArtifactEntry &TensorTable::add(func::FuncOp function,
                                const plan::CompiledEntry &entry) {
  llvm::StringMap<ElementsAttr> initial;
  for (BlockArgument argument : function.getArguments())
    if (auto init = function.getArgAttrOfType<ElementsAttr>(
            argument.getArgNumber(), train::TrainDialect::getInitAttrName()))
      initial[onnx::getValueName(argument)] = init;
  ArtifactEntry &result = artifact.entries.emplace_back();
  result.name = entry.name;
  result.workspace = entry.workspace;
  for (const plan::TensorInfo &info : entry.tensors) {
    unsigned id = getTensor(
        info, info.data ? info.data : initial.lookup(info.name), entry.name);
    result.tensors.push_back(id);
    // Entries that share an input do the same with it.
    if ((info.role == "input" || info.role == "label") &&
        artifact.tensors[id].indices.empty())
      artifact.tensors[id].indices = getIndexBounds(function, info.name);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Target
//===----------------------------------------------------------------------===//

std::string amp::getCodeFeatures(const cpu::CpuTarget &target) {
  static constexpr StringRef arithmetic[] = {
      "bmi", "bmi2", "f16c", "fma", "gfni", "lzcnt", "movbe", "popcnt"};
  std::string text;
  for (StringRef feature : llvm::split(target.getFeatures(), ',')) {
    StringRef name = feature;
    if (!name.consume_front("+") ||
        !(name.starts_with("avx") || name.starts_with("sse") ||
          name.starts_with("ssse") || llvm::is_contained(arithmetic, name)))
      continue;
    text += (text.empty() ? "" : ",") + feature.str();
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Configuration
//===----------------------------------------------------------------------===//

/// Names of the parameters that are in a group.
static json::Array listParameters(const train::OptimizerConfig &config,
                                  const train::ParameterGroup &group,
                                  const Artifact &artifact) {
  json::Array names;
  for (const ArtifactTensor &tensor : artifact.tensors)
    if (tensor.role == "parameter" && config.findGroup(tensor.name) == &group)
      names.push_back(tensor.name);
  return names;
}

static json::Object describeOptimizer(const train::OptimizerConfig &config,
                                      const Artifact &artifact) {
  using Kind = train::OptimizerConfig::Kind;
  static constexpr StringLiteral names[] = {"sgd", "adam", "adamw", "lion",
                                            "lamb"};
  json::Object object{{"kind", names[unsigned(config.kind)]},
                      {"lr", config.lr},
                      {"weight_decay", config.weightDecay},
                      {"maximize", config.maximize}};
  if (config.kind == Kind::Sgd) {
    object["momentum"] = config.momentum;
    object["dampening"] = config.dampening;
    object["nesterov"] = config.nesterov;
  } else {
    object["betas"] = json::Array{config.beta1, config.beta2};
    object["eps"] = config.eps;
    object["amsgrad"] = config.amsgrad;
  }
  json::Array groups;
  for (const train::ParameterGroup &group : config.groups) {
    json::Object entry{{"name", group.name},
                       {"match", group.match},
                       {"parameters", listParameters(config, group, artifact)}};
    if (group.lr)
      entry["lr"] = *group.lr;
    if (group.weightDecay)
      entry["weight_decay"] = *group.weightDecay;
    groups.push_back(std::move(entry));
  }
  object["groups"] = std::move(groups);
  return object;
}

static json::Object describeScaler(const train::TrainingConfig &config) {
  const train::LossScaleConfig &scale = config.lossScale;
  json::Object object{{"enabled", config.scalesLoss()}};
  if (!config.scalesLoss())
    return object;
  object["init_scale"] = scale.initScale;
  object["growth_factor"] = scale.growthFactor;
  object["backoff_factor"] = scale.backoffFactor;
  object["growth_interval"] = scale.growthInterval;
  object["hysteresis"] = scale.hysteresis;
  if (scale.minScale)
    object["min_scale"] = *scale.minScale;
  if (scale.maxScale)
    object["max_scale"] = *scale.maxScale;
  return object;
}

void amp::describeTraining(const train::TrainingConfig &config,
                           Artifact &artifact) {
  // It was parsed before, so it is an object.
  llvm::Expected<json::Value> source = json::parse(config.source);
  artifact.config = *source->getAsObject();
  artifact.optimizer = describeOptimizer(config.optimizer, artifact);
  artifact.scaler = describeScaler(config);
  artifact.accumulate = config.accumulate;
  if (config.autocast)
    artifact.autocast = json::Object{{"dtype", config.autocast->dtype},
                                     {"policy", config.autocast->policy}};
}
