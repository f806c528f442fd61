//===- TrainingConfig.cpp - What train.json says --------------------------===//
//
// The sections that are short, and what holds between sections.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "Sections.h"
#include "amp/Support/CheckedJson.h"
#include "amp/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace llvm;
using namespace amp;
using namespace amp::train;

bool TrainingConfig::scalesLoss() const {
  return lossScale.enabled.value_or(autocast && autocast->dtype == "f16");
}

bool TrainingConfig::skipsSteps() const {
  return skipNonfiniteGradients.value_or(scalesLoss()) ||
         nonfiniteLoss != NonfiniteLoss::Continue;
}

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

static void readAutocast(FirstError &error, const json::Value &value,
                         std::optional<AutocastConfig> &target) {
  ObjectReader reader(error, value, "autocast",
                      {"dtype", "policy", "enabled", "allow", "deny", "pin",
                       "pin_slot", "lossy_constants", "half_weight_gradients"});
  AutocastConfig autocast;
  bool enabled = true;
  reader.read("enabled", enabled);
  autocast.dtype =
      reader.readWord("dtype", {"f16", "bf16"}, 0) ? "bf16" : "f16";
  reader.read("policy", autocast.policy);
  reader.read("allow", autocast.allow);
  reader.read("deny", autocast.deny);
  reader.read("pin", autocast.pin);
  reader.read("pin_slot", autocast.pinSlot);
  StringRef lossy[] = {"wide", "clamp", "convert"};
  if (unsigned word = reader.readWord("lossy_constants", lossy, 3); word < 3)
    autocast.lossyConstants = lossy[word];
  bool half = false;
  reader.read("half_weight_gradients", half);
  if (reader.has("half_weight_gradients"))
    autocast.halfWeightGradients = half;
  if (enabled)
    target = autocast;
}

static void readLossScale(FirstError &error, const json::Value &value,
                          LossScaleConfig &scale) {
  ObjectReader reader(error, value, "loss_scale",
                      {"enabled", "init_scale", "growth_factor",
                       "backoff_factor", "growth_interval", "min_scale",
                       "max_scale", "hysteresis"});
  const json::Value *enabled = reader.get("enabled");
  if (enabled && enabled->getAsString() != "auto") {
    scale.enabled = true;
    if (std::optional<bool> flag = enabled->getAsBoolean())
      scale.enabled = *flag;
    else
      reader.fail("enabled", "expected true, false or \"auto\", but got " +
                                 showJson(*enabled));
  }
  double largest = std::ldexp(1, 126);
  reader.read("init_scale", scale.initScale, Range{0, largest, false});
  reader.read("growth_factor", scale.growthFactor, Range{1, largest, false});
  reader.read("backoff_factor", scale.backoffFactor, Range{0, 1, false, false});
  reader.read("growth_interval", scale.growthInterval, 1, INT32_MAX);
  reader.read("hysteresis", scale.hysteresis, 1, INT32_MAX);
  reader.read("min_scale", scale.minScale, Range{0, largest, false});
  reader.read("max_scale", scale.maxScale, Range{0, largest, false});
  if (scale.minScale && scale.initScale < *scale.minScale)
    reader.fail("min_scale", "is above 'init_scale'");
  if (scale.maxScale && scale.initScale > *scale.maxScale)
    reader.fail("max_scale", "is below 'init_scale'");
}

static void readSchedule(FirstError &error, const json::Value &value,
                         ScheduleConfig &schedule) {
  StringRef kinds[] = {"constant", "linear", "cosine", "step"};
  ObjectReader reader(error, value, "schedule",
                      {"kind", "warmup_steps", "total_steps", "end_factor",
                       "step_size", "gamma"});
  reader.require("kind");
  schedule.kind = kinds[reader.readWord("kind", kinds, 0)];
  auto allow = [&](StringRef key, bool allowed, bool required) {
    if (!allowed && reader.has(key))
      reader.fail(key, "a schedule of kind '" + schedule.kind + "' has none");
    if (required)
      reader.require(key);
  };
  bool declines = schedule.kind == "linear" || schedule.kind == "cosine";
  bool steps = schedule.kind == "step";
  allow("total_steps", declines, declines);
  allow("end_factor", declines, false);
  allow("step_size", steps, steps);
  allow("gamma", steps, false);
  reader.read("warmup_steps", schedule.warmupSteps, 0, INT32_MAX);
  reader.read("total_steps", schedule.totalSteps, 1, INT32_MAX);
  reader.read("step_size", schedule.stepSize, 1, INT32_MAX);
  reader.read("end_factor", schedule.endFactor, Range{0, 1});
  reader.read("gamma", schedule.gamma, Range{0, 1});
  if (declines && schedule.totalSteps <= schedule.warmupSteps)
    reader.fail("total_steps", "must be more than 'warmup_steps'");
}

static void readClip(FirstError &error, const json::Value &value,
                     TrainingConfig &config) {
  ObjectReader reader(error, value, "clip", {"norm", "value"});
  reader.read("norm", config.clipNorm, Range::positive());
  reader.read("value", config.clipValue, Range::positive());
}

/// "keep", "drop", or the names of those to keep.
static void readOutputs(ObjectReader &reader, TrainingConfig &config) {
  const json::Value *value = reader.get("outputs");
  if (!value || value->getAsString() == "keep")
    return;
  config.outputs.emplace();
  if (value->getAsArray())
    reader.read("outputs", *config.outputs);
  else if (value->getAsString() != "drop")
    reader.fail("outputs", "expected \"keep\", \"drop\" or an array of names, "
                           "but got " +
                               showJson(*value));
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static void readTopLevel(FirstError &error, ObjectReader &reader,
                         TrainingConfig &config) {
  reader.require("loss");
  reader.require("optimizer");
  if (const json::Value *value = reader.get("loss"))
    readLoss(error, *value, config.loss);
  if (const json::Value *value = reader.get("optimizer"))
    readOptimizer(error, *value, config.optimizer);
  if (const json::Value *value = reader.get("autocast"))
    readAutocast(error, *value, config.autocast);
  if (const json::Value *value = reader.get("loss_scale"))
    readLossScale(error, *value, config.lossScale);
  if (const json::Value *value = reader.get("clip"))
    readClip(error, *value, config);
  if (const json::Value *value = reader.get("schedule"))
    readSchedule(error, *value, config.schedule);
  reader.readRegexes("trainable", config.trainable);
  reader.readRegexes("frozen", config.frozen);
  reader.read("accumulate", config.accumulate, 1, 1 << 20);
  reader.read("dropout_seed", config.dropoutSeed, 0, INT64_MAX);
  reader.read("guard_buffers", config.guardBuffers);
  reader.read("gradient_flags", config.gradientFlags);
  readOutputs(reader, config);
  config.nonfiniteLoss = static_cast<NonfiniteLoss>(
      reader.readWord("nonfinite_loss", {"continue", "skip", "error"}, 0));
  unsigned word = reader.readWord("nonfinite_gradients", {"apply", "skip"}, 2);
  if (word < 2)
    config.skipNonfiniteGradients = word == 1;
  if (config.guardBuffers && config.accumulate > 1)
    reader.fail("guard_buffers", "cannot be true with 'accumulate' above 1: "
                                 "buffers change in every micro step");
  if (word == 0 && config.scalesLoss())
    reader.fail("nonfinite_gradients",
                "loss scaling skips steps with non-finite gradients: disable "
                "'loss_scale' to apply them");
}

/// Lines that begin with // become empty, so that positions in messages stay.
static std::string dropComments(StringRef text) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef &line : lines)
    if (line.ltrim().starts_with("//"))
      line = "";
  return join(lines, "\n");
}

Expected<TrainingConfig> TrainingConfig::parse(StringRef commented,
                                               StringRef where) {
  std::string text = dropComments(commented);
  Expected<json::Value> value = parseJson(text);
  if (!value)
    return makeError(where +
                     ": not valid JSON: " + toString(value.takeError()));
  FirstError error(where);
  ObjectReader reader(error, *value, "",
                      {"loss", "optimizer", "autocast", "loss_scale", "clip",
                       "schedule", "trainable", "frozen", "accumulate",
                       "dropout_seed", "guard_buffers", "gradient_flags", "outputs",
                       "nonfinite_loss", "nonfinite_gradients"});
  TrainingConfig config;
  config.source = text;
  if (!error.any())
    readTopLevel(error, reader, config);
  if (Error failed = error.take())
    return failed;
  return config;
}

Expected<TrainingConfig> TrainingConfig::load(StringRef pathOrText) {
  if (pathOrText.ltrim().starts_with("{"))
    return parse(pathOrText, "training configuration");
  auto buffer = MemoryBuffer::getFile(pathOrText, /*IsText=*/true);
  if (!buffer)
    return makeError("cannot read the training configuration '" + pathOrText +
                     "': " + buffer.getError().message());
  return parse((*buffer)->getBuffer(), pathOrText);
}
