//===- Graphs.cpp - The functions that become entries ---------------------===//
//
// One clone of the model for each entry, through its pipeline.
//
//===----------------------------------------------------------------------===//

#include "Graphs.h"
#include "IndexBounds.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Pipelines/Autocast.h"
#include "amp/Pipelines/Lower.h"
#include "amp/Pipelines/TrainingStep.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace amp;

namespace {

LogicalResult run(ModuleOp module,
                  llvm::function_ref<LogicalResult(OpPassManager &)> fill) {
  PassManager pm(module->getContext(), ModuleOp::getOperationName(),
                 PassManager::Nesting::Implicit);
  return success(succeeded(fill(pm)) && succeeded(pm.run(module)));
}

LogicalResult bindDims(ModuleOp model, ArrayRef<std::string> bind) {
  return run(model, [&](OpPassManager &pm) {
    onnx::BindDimsPassOptions options;
    options.bind = llvm::to_vector(bind);
    pm.addNestedPass<func::FuncOp>(onnx::createBindDimsPass(options));
    return success();
  });
}

LogicalResult lower(ModuleOp graph) {
  for (func::FuncOp function : graph.getOps<func::FuncOp>())
    noteIndexBounds(function);
  return run(graph, [](OpPassManager &pm) {
    buildLowerToPrimitivesPipeline(pm);
    return success();
  });
}

/// Drops warnings while it lives: the same model has been warned about.
class QuietScope {
public:
  explicit QuietScope(MLIRContext *context)
      : handler(context, [](Diagnostic &diagnostic) {
          return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
        }) {}

private:
  ScopedDiagnosticHandler handler;
};

bool hasResults(ModuleOp module) {
  return llvm::all_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function.getNumResults() > 0;
  });
}

/// Without loss and update: eval_step, or infer.
LogicalResult addEvaluation(ModuleOp model, const train::TrainingConfig &config,
                            ArrayRef<std::string> bind, bool outputsOnly,
                            Graphs &graphs) {
  QuietScope quiet(model->getContext());
  OwningOpRef<ModuleOp> graph(model.clone());
  auto fill = [&](OpPassManager &pm) {
    buildEvaluationPipeline(pm, config, outputsOnly, bind);
    return success();
  };
  if (failed(run(*graph, fill)))
    return failure();
  // A model may have nothing but a loss.
  if (!hasResults(*graph))
    return success();
  if (failed(lower(*graph)))
    return failure();
  graphs.push_back(std::move(graph));
  return success();
}

/// The step once more, in the two halves that data-parallel ranks run.
LogicalResult addHalves(ModuleOp step, Graphs &graphs) {
  OwningOpRef<ModuleOp> halves(step.clone());
  auto fill = [](OpPassManager &pm) {
    pm.addPass(train::createSplitStepPass());
    return success();
  };
  if (failed(run(*halves, fill)) || failed(lower(*halves)))
    return failure();
  graphs.push_back(std::move(halves));
  return success();
}

/// The step once more, as what finds its first non-finite value.
LogicalResult addTrace(ModuleOp step, Graphs &graphs) {
  OwningOpRef<ModuleOp> trace(step.clone());
  auto fill = [](OpPassManager &pm) {
    pm.addNestedPass<func::FuncOp>(train::createTraceNonfinitePass());
    return success();
  };
  if (failed(run(*trace, fill)) || failed(lower(*trace)))
    return failure();
  graphs.push_back(std::move(trace));
  return success();
}

FailureOr<Graphs> buildTraining(OwningOpRef<ModuleOp> model,
                                const train::TrainingConfig &config,
                                const CompileOptions &options) {
  Graphs graphs;
  OwningOpRef<ModuleOp> step(model->clone());
  auto fill = [&](OpPassManager &pm) {
    buildTrainingStepPipeline(pm, config, options.bind,
                              !options.reportFile.empty());
    return success();
  };
  if (failed(run(*step, fill)) ||
      (options.dataParallel && failed(addHalves(*step, graphs))) ||
      (options.traceNonfinite && failed(addTrace(*step, graphs))) ||
      failed(lower(*step)))
    return failure();
  // train_step comes first: its tensors get the first numbers.
  graphs.insert(graphs.begin(), std::move(step));
  if (failed(addEvaluation(*model, config, options.bind, /*outputsOnly=*/false,
                           graphs)) ||
      failed(addEvaluation(*model, config, options.bind, /*outputsOnly=*/true,
                           graphs)))
    return failure();
  return std::move(graphs);
}

/// Inputs with a default are weights of files that list all of them as inputs.
void liftDefaults(func::FuncOp function) {
  Builder builder(function.getContext());
  StringRef key = onnx::OnnxDialect::getDefaultAttrName();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto value = function.getArgAttrOfType<ElementsAttr>(i, key);
    if (!value)
      continue;
    bool isFloat = isa<FloatType>(value.getElementType());
    function.removeArgAttr(i, builder.getStringAttr(key));
    function.setArgAttr(i, train::TrainDialect::getInitAttrName(), value);
    function.setArgAttr(
        i, train::TrainDialect::getRoleAttrName(),
        builder.getStringAttr(isFloat ? "parameter" : "buffer"));
  }
}

/// Says what arguments and results are, where nobody has said it.
void setInferenceRoles(func::FuncOp function) {
  StringRef key = train::TrainDialect::getRoleAttrName();
  Builder builder(function.getContext());
  function.setSymName("infer");
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!function.getArgAttr(i, key))
      function.setArgAttr(i, key, builder.getStringAttr("input"));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, key))
      function.setResultAttr(i, key, builder.getStringAttr("output"));
}

/// Whether `value` is a running mean or variance.
bool isStatistic(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    return isa<onnx::BatchNormalizationOp>(use.getOwner()) &&
           use.getOperandNumber() >= 3;
  });
}

/// Whether some user computes with `value`, as opposed to taking a shape, scale
/// factors or bounds from it.
bool isWeight(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() == 0 ||
      !isa<Float16Type, BFloat16Type, Float32Type>(type.getElementType()) ||
      onnx::getValueName(value).empty())
    return false;
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    if (isa<onnx::ResizeOp>(use.getOwner()))
      return use.getOperandNumber() == 0;
    auto rule = dyn_cast<train::DifferentiableOpInterface>(use.getOwner());
    return !rule || rule.carriesGradient(use.getOperandNumber());
  });
}

/// Weights are state with the model's names, so that others can be loaded.
void liftWeights(func::FuncOp function) {
  Builder builder(function.getContext());
  SmallVector<onnx::InitializerOp> weights;
  for (auto op : function.getOps<onnx::InitializerOp>())
    if (isWeight(op.getResult()) || isStatistic(op.getResult()))
      weights.push_back(op);
  for (onnx::InitializerOp op : weights) {
    Value value = op.getResult();
    auto set = [&](StringRef key, Attribute attribute) {
      return builder.getNamedAttr(key, attribute);
    };
    DictionaryAttr facts = builder.getDictionaryAttr(
        {set(onnx::OnnxDialect::getNameAttrName(),
             builder.getStringAttr(onnx::getValueName(value))),
         set(train::TrainDialect::getInitAttrName(), op.getValue()),
         set(train::TrainDialect::getRoleAttrName(),
             builder.getStringAttr(isStatistic(value) ? "buffer"
                                                      : "parameter"))});
    unsigned index = function.getNumArguments();
    (void)function.insertArgument(index, value.getType(), facts, op.getLoc());
    value.replaceAllUsesWith(function.getArgument(index));
    op.erase();
  }
}

FailureOr<Graphs> buildInference(OwningOpRef<ModuleOp> model,
                                 const CompileOptions &compileOptions) {
  auto fill = [&](OpPassManager &pm) {
    if (compileOptions.autocast.empty())
      return success();
    AutocastPipelineOptions options;
    if (failed(options.parseFromString(compileOptions.autocast)))
      return failure();
    if (!compileOptions.reportFile.empty())
      options.attachReport = true;
    buildAutocastPipeline(pm, options);
    return success();
  };
  if (failed(run(*model, fill)))
    return failure();
  for (func::FuncOp function : model->getOps<func::FuncOp>()) {
    liftDefaults(function);
    liftWeights(function);
    setInferenceRoles(function);
  }
  if (failed(lower(*model)))
    return failure();
  Graphs graphs;
  graphs.push_back(std::move(model));
  return std::move(graphs);
}

} // namespace

FailureOr<Graphs>
amp::buildGraphs(OwningOpRef<ModuleOp> model, const CompileOptions &options,
                 const std::optional<train::TrainingConfig> &config) {
  if (config)
    return buildTraining(std::move(model), *config, options);
  if (failed(bindDims(*model, options.bind)))
    return failure();
  if (options.inference)
    return buildInference(std::move(model), options);
  if (failed(lower(*model)))
    return failure();
  Graphs graphs;
  graphs.push_back(std::move(model));
  return std::move(graphs);
}

SmallVector<func::FuncOp> amp::getFunctions(const Graphs &graphs) {
  SmallVector<func::FuncOp> functions;
  for (const OwningOpRef<ModuleOp> &graph : graphs)
    for (func::FuncOp function :
         const_cast<OwningOpRef<ModuleOp> &>(graph)->getOps<func::FuncOp>())
      if (!function.isExternal())
        functions.push_back(function);
  return functions;
}
