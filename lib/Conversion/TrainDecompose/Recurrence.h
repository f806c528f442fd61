//===- Recurrence.h - Recurrent layers unrolled over time -----------------===//
//
// Forward as `decompose-onnx` writes it, and what the gradient needs of it.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CONVERSION_TRAINDECOMPOSE_RECURRENCE_H
#define AMP_LIB_CONVERSION_TRAINDECOMPOSE_RECURRENCE_H

#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::train {

/// One step of a recurrent layer: wide values of (batch, hidden).
struct RecurrentStep {
  int64_t time;
  /// Whether the row is that long, (batch, 1); null if all are.
  mlir::Value isInside;
  mlir::Value previousH, previousC, h, c;
  /// Activated, in ONNX's order: LSTM i o f c, GRU z r h, RNN one.
  llvm::SmallVector<mlir::Value, 4> gates;
  /// GRU that resets after the product: what the reset gate multiplies.
  mlir::Value reset;
};

/// The steps of forward in the order they are taken. These are the operations
/// that `decompose-onnx` writes for the layer, so common subexpression
/// elimination leaves one copy.
llvm::SmallVector<RecurrentStep> unrollRecurrence(onnx::OnnxBuilder &builder,
                                                  RecurrentGradientOp op);

/// train.matmul with a wide result.
mlir::Value wideProduct(onnx::OnnxBuilder &builder, mlir::Value a,
                        mlir::Value b, bool transA, bool transB);

} // namespace amp::train

#endif // AMP_LIB_CONVERSION_TRAINDECOMPOSE_RECURRENCE_H
