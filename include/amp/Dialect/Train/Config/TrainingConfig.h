//===- TrainingConfig.h - What train.json says ----------------------------===//
//
// The file's content, checked, with defaults filled in
// (docs/training-config.md).
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_TRAIN_CONFIG_TRAININGCONFIG_H
#define AMP_DIALECT_TRAIN_CONFIG_TRAININGCONFIG_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp::train {

/// One summand of the loss.
struct LossTerm {
  enum class Kind {
    Output, ///< a value the model computes itself, `logits` is its name
    SoftmaxCrossEntropy,
    Mse,
    L1,
    Huber,
    BceWithLogits,
  };
  Kind kind = Kind::Output;
  /// Where the term stands in the file, for messages.
  std::string path;
  std::string logits;
  std::string labels;
  /// Whether elements are summed, not averaged.
  bool sums = false;
  double weight = 1;
  // Softmax cross entropy.
  std::optional<int64_t> ignoreIndex;
  double labelSmoothing = 0;
  int64_t classAxis = 1;
  // Huber.
  double delta = 1;
};

struct AutocastConfig {
  std::string dtype = "f16";
  std::string policy = "balanced";
  std::vector<std::string> allow, deny, pin, pinSlot;
  std::string lossyConstants;
  /// Whether weight gradients are rounded to the half type, as eager frameworks
  /// do. Without a value: as the policy imitates one.
  std::optional<bool> halfWeightGradients;
};

/// PyTorch's GradScaler, with hysteresis and bounds.
struct LossScaleConfig {
  /// Without a value: on for f16, off otherwise.
  std::optional<bool> enabled;
  double initScale = 65536;
  double growthFactor = 2;
  double backoffFactor = 0.5;
  int64_t growthInterval = 2000;
  int64_t hysteresis = 1;
  std::optional<double> minScale, maxScale;
};

/// Parameters whose whole name matches `match`, with their own values.
struct ParameterGroup {
  std::string name;
  std::string match;
  std::optional<double> lr, weightDecay;
};

struct OptimizerConfig {
  enum class Kind { Sgd, Adam, AdamW, Lion, Lamb };
  Kind kind = Kind::Sgd;
  double lr = 0;
  double weightDecay = 0;
  bool maximize = false;
  // SGD.
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  // The others.
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool amsgrad = false;
  std::vector<ParameterGroup> groups;

  /// The first group that matches a parameter's name; null for the rest.
  const ParameterGroup *findGroup(llvm::StringRef parameter) const;
};

enum class NonfiniteLoss { Continue, Skip, Error };

/// The learning rate's course, which the host follows.
struct ScheduleConfig {
  std::string kind = "constant";
  int64_t totalSteps = 0, warmupSteps = 0, stepSize = 0;
  double endFactor = 0, gamma = 0.1;
};

struct TrainingConfig {
  /// The text this was read from.
  std::string source;
  std::vector<LossTerm> loss;
  /// Regular expressions that match whole names. Empty `trainable`: all that
  /// look like parameters.
  std::vector<std::string> trainable, frozen;
  std::optional<AutocastConfig> autocast;
  LossScaleConfig lossScale;
  OptimizerConfig optimizer;
  std::optional<double> clipNorm, clipValue;
  int64_t accumulate = 1;
  /// What Dropout's random numbers are made of, beside its name.
  int64_t dropoutSeed = 0;
  ScheduleConfig schedule;
  NonfiniteLoss nonfiniteLoss = NonfiniteLoss::Continue;
  /// Whether a step with a non-finite gradient is skipped. Without a value: as
  /// loss scaling is on.
  std::optional<bool> skipNonfiniteGradients;
  /// Whether the step returns a flag for each parameter's gradient.
  bool gradientFlags = true;
  /// Whether buffers keep their values in skipped steps, too.
  bool guardBuffers = false;
  /// Names of the outputs to keep; without a value all.
  std::optional<std::vector<std::string>> outputs;

  bool scalesLoss() const;
  /// Whether a step may leave the parameters as they are.
  bool skipsSteps() const;

  /// Reads JSON text; `where` opens messages.
  static llvm::Expected<TrainingConfig> parse(llvm::StringRef text,
                                              llvm::StringRef where);
  /// Reads a file, or what is JSON text itself: starts with '{'.
  static llvm::Expected<TrainingConfig> load(llvm::StringRef pathOrText);
};

} // namespace amp::train

#endif // AMP_DIALECT_TRAIN_CONFIG_TRAININGCONFIG_H
