//===- LossTerms.h - Losses as onnx operators -----------------------------===//
//
// What a loss looks like once its operands are known.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_LOSSTERMS_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_LOSSTERMS_H

#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "amp/Dialect/Train/Config/TrainingConfig.h"

namespace amp::train {

/// The type of the labels that go with `logits`; null, with a diagnostic at
/// `op`, when the loss cannot be taken of such a value.
mlir::RankedTensorType getLabelType(mlir::Operation *op, const LossTerm &term,
                                    mlir::Value logits);

/// The loss, a float32 of rank 0, without the term's weight.
mlir::Value buildLossTerm(onnx::OnnxBuilder &builder, const LossTerm &term,
                          mlir::Value logits, mlir::Value labels);

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_LOSSTERMS_H
