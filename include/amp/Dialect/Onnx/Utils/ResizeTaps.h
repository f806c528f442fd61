//===- ResizeTaps.h - What Resize reads for each element ------------------===//
//
// Resize is linear and works axis by axis; its weights are known when the
// shapes are. Forward and gradient take them from here.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_UTILS_RESIZETAPS_H
#define AMP_DIALECT_ONNX_UTILS_RESIZETAPS_H

#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

namespace amp::onnx {

/// One input element that an output element reads.
struct ResizeTap {
  int64_t index;
  double weight;
};

/// One axis that changes. An output element without taps is extrapolated.
struct ResizedAxis {
  int64_t axis, inputSize, outputSize;
  llvm::SmallVector<llvm::SmallVector<ResizeTap>> taps;
};

/// The axes that `op` resizes, one after the other. Fails with a diagnostic
/// that continues what `emitError` begins: when scales or sizes are no
/// constants, or a mode is not defined. Shapes must be static.
mlir::FailureOr<llvm::SmallVector<ResizedAxis>>
getResizedAxes(ResizeOp op,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_UTILS_RESIZETAPS_H
