//===- GradientRules.h - Gradient rules of foreign operations -------------===//
//
// Attaches DifferentiableOpInterface to the onnx and amp operations.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_TRAIN_GRADIENTRULES_H
#define AMP_DIALECT_TRAIN_GRADIENTRULES_H

#include "mlir/IR/DialectRegistry.h"

namespace amp::train {

/// Lets every operation that has a rule answer DifferentiableOpInterface.
void registerGradientRules(mlir::DialectRegistry &registry);

} // namespace amp::train

#endif // AMP_DIALECT_TRAIN_GRADIENTRULES_H
