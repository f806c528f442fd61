//===- Sections.h - The larger sections of train.json ---------------------===//
//
// One reader per section.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_CONFIG_SECTIONS_H
#define AMP_LIB_DIALECT_TRAIN_CONFIG_SECTIONS_H

#include "ObjectReader.h"
#include "amp/Dialect/Train/Config/TrainingConfig.h"

namespace amp::train {

void readLoss(FirstError &error, const llvm::json::Value &value,
              std::vector<LossTerm> &terms);
void readOptimizer(FirstError &error, const llvm::json::Value &value,
                   OptimizerConfig &optimizer);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_CONFIG_SECTIONS_H
