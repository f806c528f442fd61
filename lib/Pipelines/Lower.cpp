//===- Lower.cpp - From a graph to what code is generated for -------------===//
//
// The order of the passes between a typed graph and the code generator.
//
//===----------------------------------------------------------------------===//

#include "amp/Pipelines/Lower.h"
#include "amp/Conversion/OnnxDecompose/Passes.h"
#include "amp/Conversion/TrainDecompose/Passes.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Pipelines/TrainingStep.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace amp;

void amp::buildLowerToPrimitivesPipeline(OpPassManager &pm) {
  OpPassManager &function = pm.nest<func::FuncOp>();
  // Gradients first: they leave composite operators behind.
  function.addPass(train::createDecomposeTrainPass());
  function.addPass(onnx::createDecomposeOnnxPass());
  // What forward and backward both compute is computed once.
  function.addPass(createCanonicalizerPass());
  // Weights that are stored the other way round, before their casts are shared.
  function.addPass(train::createFoldTransposesPass());
  function.addPass(createCSEPass());
}

void amp::buildEvaluationPipeline(OpPassManager &pm,
                                  const train::TrainingConfig &config,
                                  bool outputsOnly,
                                  ArrayRef<std::string> bind) {
  OpPassManager &model = pm.nest<func::FuncOp>();
  addLoss(model, config, bind);
  model.addPass(train::createEvaluatePass({outputsOnly}));
  // As in the training step: evaluation rounds as training does.
  if (config.autocast)
    addAutocast(pm, *config.autocast, /*hasLoss=*/!outputsOnly);
  OpPassManager &step = pm.nest<func::FuncOp>();
  step.addPass(createCanonicalizerPass());
  step.addPass(createCSEPass());
  step.addPass(
      train::createFinalizeStepPass({outputsOnly ? "infer" : "eval_step"}));
}

namespace {

struct EvaluationOptions : PassPipelineOptions<EvaluationOptions> {
  Option<std::string> config{
      *this, "config",
      llvm::cl::desc("train.json, or JSON text that starts with a brace")};
  Option<bool> outputsOnly{
      *this, "outputs-only",
      llvm::cl::desc("Without the loss: the function infer"),
      llvm::cl::init(false)};
};

LogicalResult
addEvaluation(OpPassManager &pm, StringRef text,
              llvm::function_ref<LogicalResult(const Twine &)> error) {
  EvaluationOptions options;
  if (failed(options.parseFromString(text)))
    return failure();
  if (options.config.empty())
    return error("needs config=train.json");
  auto config = train::TrainingConfig::load(options.config);
  if (!config)
    return error(llvm::toString(config.takeError()));
  buildEvaluationPipeline(pm, *config, options.outputsOnly);
  return success();
}

} // namespace

void amp::registerLowerPipelines() {
  PassPipelineRegistration<>(
      "lower-to-primitives",
      "Decompose a training step or a model into the primitives that code is "
      "generated for",
      buildLowerToPrimitivesPipeline);
  registerPassPipeline(
      "build-evaluation",
      "Turn a float32 model and train.json into forward and loss over the "
      "step's state",
      addEvaluation,
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> handle) {
        handle(EvaluationOptions());
      });
}
