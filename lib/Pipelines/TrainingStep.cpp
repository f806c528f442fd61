//===- TrainingStep.cpp - The training step pipeline ----------------------===//
//
// The only place that says in which order a step is built.
//
//===----------------------------------------------------------------------===//

#include "amp/Pipelines/TrainingStep.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Pipelines/Autocast.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

void amp::addAutocast(OpPassManager &pm, const AutocastConfig &autocast,
                      bool hasLoss, bool attachReport) {
  AutocastPipelineOptions options;
  options.dtype = autocast.dtype;
  options.policy = autocast.policy;
  options.allow = ArrayRef(autocast.allow);
  options.deny = ArrayRef(autocast.deny);
  std::vector<std::string> pins = autocast.pin;
  // Named so by train-add-loss.
  if (hasLoss)
    pins.push_back("train\\.loss\\..*=f32");
  options.pin = ArrayRef(pins);
  options.pinSlot = ArrayRef(autocast.pinSlot);
  options.lossyConstants = autocast.lossyConstants;
  options.attachReport = attachReport;
  buildAutocastPipeline(pm, options);
}

/// A policy that imitates an eager framework has the framework's backward, too:
/// its scaler sees the overflows of half weight gradients.
static DifferentiatePassOptions
getDifferentiation(const TrainingConfig &config) {
  DifferentiatePassOptions options;
  if (const std::optional<AutocastConfig> &autocast = config.autocast)
    options.halfWeightGradients = autocast->halfWeightGradients.value_or(
        isProgramOrder(autocast->policy));
  return options;
}

void amp::addLoss(OpPassManager &pm, const TrainingConfig &config,
                  ArrayRef<std::string> bind) {
  // Gradients need static shapes, batch statistics their counts. Nothing that
  // reads a weight is folded on the way.
  onnx::BindDimsPassOptions dims;
  dims.bind.assign(bind.begin(), bind.end());
  pm.addPass(onnx::createBindDimsPass(dims));
  pm.addPass(createLiftParametersPass({config.source}));
  pm.addPass(createAddLossPass({config.source}));
}

void amp::buildTrainingStepPipeline(OpPassManager &pm,
                                    const TrainingConfig &config,
                                    ArrayRef<std::string> bind,
                                    bool attachReport) {
  OpPassManager &step = pm.nest<func::FuncOp>();
  addLoss(step, config, bind);
  // Before differentiation: backward then runs in forward's precision.
  if (config.autocast)
    addAutocast(pm, *config.autocast, /*hasLoss=*/true, attachReport);
  OpPassManager &update = pm.nest<func::FuncOp>();
  update.addPass(createDifferentiatePass(getDifferentiation(config)));
  update.addPass(createScaleLossPass({config.source}));
  update.addPass(createAddOptimizerPass({config.source}));
  // What the rules wrote down twice or for nobody goes; then what only that
  // used.
  update.addPass(createCanonicalizerPass());
  update.addPass(createCSEPass());
  update.addPass(createFinalizeStepPass());
}

namespace {

struct TrainingStepOptions : PassPipelineOptions<TrainingStepOptions> {
  Option<std::string> config{
      *this, "config",
      llvm::cl::desc("train.json, or JSON text that starts with a brace")};
  ListOption<std::string> bind{
      *this, "bind",
      llvm::cl::desc("Sizes of symbolic dimensions, as name=size")};
};

} // namespace

/// The options as the command line gives them; fails with a diagnostic.
static LogicalResult
addFromText(OpPassManager &pm, StringRef text,
            function_ref<LogicalResult(const Twine &)> error) {
  TrainingStepOptions options;
  if (failed(options.parseFromString(text)))
    return failure();
  if (options.config.empty())
    return error("needs config=train.json");
  llvm::Expected<TrainingConfig> config = TrainingConfig::load(options.config);
  if (!config)
    return error(llvm::toString(config.takeError()));
  buildTrainingStepPipeline(pm, *config, llvm::to_vector(options.bind));
  return success();
}

void amp::registerTrainingStepPipeline() {
  registerPassPipeline(
      "build-training-step",
      "Turn a float32 model and train.json into a whole training step",
      addFromText,
      [](function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(TrainingStepOptions());
      });
}
