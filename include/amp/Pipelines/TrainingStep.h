//===- TrainingStep.h - The training step pipeline ------------------------===//
//
// From a float32 model and train.json to one function that is a training step.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PIPELINES_TRAININGSTEP_H
#define AMP_PIPELINES_TRAININGSTEP_H

#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "mlir/Pass/PassManager.h"

namespace amp {

/// Appends autocast as train.json configures it; the loss, if the graph has
/// one, stays float32. `attachReport` leaves the report on the module.
void addAutocast(mlir::OpPassManager &pm, const train::AutocastConfig &autocast,
                 bool hasLoss, bool attachReport = false);

/// Appends the passes that make the model a function of its state, of static
/// shapes, with a loss. `bind` gives symbolic dimensions their sizes, as
/// name=size.
void addLoss(mlir::OpPassManager &pm, const train::TrainingConfig &config,
             llvm::ArrayRef<std::string> bind);

/// Appends the passes from an imported model to `train_step`. `bind` gives
/// symbolic dimensions their sizes, as name=size; `attachReport` leaves the
/// report of autocast on the module.
void buildTrainingStepPipeline(mlir::OpPassManager &pm,
                               const train::TrainingConfig &config,
                               llvm::ArrayRef<std::string> bind = {},
                               bool attachReport = false);

/// Registers `--build-training-step=config=train.json`.
void registerTrainingStepPipeline();

} // namespace amp

#endif // AMP_PIPELINES_TRAININGSTEP_H
