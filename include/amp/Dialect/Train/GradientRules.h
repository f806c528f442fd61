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

/// Whether the rule of an operation ("onnx.Floor") is that no gradient passes.
bool stopsGradients(llvm::StringRef operationName);

/// Writes docs/gradients.md: which onnx operators have a rule.
void listGradients(mlir::MLIRContext &context, llvm::raw_ostream &os);

} // namespace amp::train

#endif // AMP_DIALECT_TRAIN_GRADIENTRULES_H
