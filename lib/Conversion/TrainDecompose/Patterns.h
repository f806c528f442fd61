//===- Patterns.h - Decompositions by family of operations ----------------===//
//
// One function per file of this room. A pattern rewrites one train operation
// into onnx primitives, or into train operations that others rewrite.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CONVERSION_TRAINDECOMPOSE_PATTERNS_H
#define AMP_LIB_CONVERSION_TRAINDECOMPOSE_PATTERNS_H

#include "mlir/IR/PatternMatch.h"

namespace amp::train {

/// train.attention_gradient
void populateAttentionPatterns(mlir::RewritePatternSet &patterns);
/// Losses: softmax cross entropy, negative log likelihood.
void populateLossPatterns(mlir::RewritePatternSet &patterns);
/// train.norm_gradient
void populateNormalizationPatterns(mlir::RewritePatternSet &patterns);
/// Optimizer updates
void populateOptimizerPatterns(mlir::RewritePatternSet &patterns);
/// train.recurrent_gradient
void populateRecurrentPatterns(mlir::RewritePatternSet &patterns);
/// The finite check, the multiplier and the update of the scale
void populateScalingPatterns(mlir::RewritePatternSet &patterns);
/// train.seed
void populateSeedPatterns(mlir::RewritePatternSet &patterns);
/// Softmax and LogSoftmax.
void populateSoftmaxPatterns(mlir::RewritePatternSet &patterns);
/// Contractions: only for export, the code generators know them.
void populateContractionToOnnxPatterns(mlir::RewritePatternSet &patterns);
/// Convolutions and pooling: likewise.
void populateConvToOnnxPatterns(mlir::RewritePatternSet &patterns);
void populatePoolingToOnnxPatterns(mlir::RewritePatternSet &patterns);

} // namespace amp::train

#endif // AMP_LIB_CONVERSION_TRAINDECOMPOSE_PATTERNS_H
