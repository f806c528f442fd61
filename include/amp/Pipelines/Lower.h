//===- Lower.h - From a graph to what code is generated for ---------------===//
//
// The passes between a typed graph and the CPU code generator, and those that
// make entries without updates.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PIPELINES_LOWER_H
#define AMP_PIPELINES_LOWER_H

#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "mlir/Pass/PassManager.h"

namespace amp {

/// Appends the passes that leave only primitives.
void buildLowerToPrimitivesPipeline(mlir::OpPassManager &pm);

/// Appends the passes from an imported model to `eval_step`: forward and loss
/// over the state of the training step, which it does not change. With
/// `outputsOnly` it is `infer`: the model's outputs without the loss.
void buildEvaluationPipeline(mlir::OpPassManager &pm,
                             const train::TrainingConfig &config,
                             bool outputsOnly,
                             llvm::ArrayRef<std::string> bind = {});

/// Registers `--lower-to-primitives` and `--build-evaluation=config=...`.
void registerLowerPipelines();

} // namespace amp

#endif // AMP_PIPELINES_LOWER_H
