//===- Autocast.cpp - The autocast pipeline -------------------------------===//
//
// The only place that says in which order the autocast passes run.
//
//===----------------------------------------------------------------------===//

#include "amp/Pipelines/Autocast.h"
#include "amp/Dialect/Amp/Policy/Policy.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

bool amp::isProgramOrder(StringRef policy) {
  llvm::Expected<amp::Policy> loaded = amp::Policy::load(policy);
  if (!loaded) {
    llvm::consumeError(loaded.takeError());
    return false;
  }
  return loaded->placement() == amp::Placement::ProgramOrder;
}

void amp::buildAutocastPipeline(OpPassManager &pm,
                                const AutocastPipelineOptions &options) {
  AssignPrecisionPassOptions assign;
  assign.dtype = options.dtype;
  assign.policy = options.policy;
  assign.allow = llvm::to_vector(options.allow);
  assign.deny = llvm::to_vector(options.deny);
  assign.pin = llvm::to_vector(options.pin);
  assign.pinSlot = llvm::to_vector(options.pinSlot);
  assign.decisions = options.decisions;
  assign.saveDecisions = options.saveDecisions;
  assign.lossyConstants = options.lossyConstants;
  assign.keepIOTypes = options.keepIOTypes;
  pm.addPass(createAssignPrecisionPass(assign));

  MaterializeCastsPassOptions materialize;
  materialize.clampConstants = options.lossyConstants == "clamp";
  materialize.keepIOTypes = options.keepIOTypes;
  pm.addNestedPass<func::FuncOp>(createMaterializeCastsPass(materialize));
  OptimizeCastsPassOptions optimize;
  optimize.moveCasts = !isProgramOrder(options.policy);
  pm.addNestedPass<func::FuncOp>(createOptimizeCastsPass(optimize));

  WriteReportPassOptions report;
  report.file = options.report;
  report.attach = options.attachReport;
  pm.addPass(createWriteReportPass(report));
}

void amp::registerAutocastPipeline() {
  PassPipelineRegistration<AutocastPipelineOptions>(
      "autocast",
      "Give every op of a float32 graph a precision, with casts between and a "
      "reason for each decision",
      buildAutocastPipeline);
}
