//===- ExportOnnx.h - IR to ModelProto ------------------------------------===//
//
// Writes a module that came from an ONNX model (or has its form) as an ONNX file, streaming tensor data.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TARGET_ONNX_EXPORTONNX_H
#define AMP_TARGET_ONNX_EXPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

namespace amp {

struct ExportOnnxOptions {
  /// Opset of the ai.onnx domain to write; 0: the lowest that is at least the model's own and at which every node is legal.
  int64_t opset = 0;
  /// Put tensors of at least this many bytes into a file beside the model; 0: only when the model would exceed 2 GiB.
  uint64_t externalDataThreshold = 0;
};

/// Writes `module` to the file `path` ("-": standard output): to a temporary file beside it that is synced and renamed, so
/// that the old file stays whole until the new one is. Emits diagnostics on failure and leaves nothing behind.
mlir::LogicalResult exportOnnx(mlir::ModuleOp module, llvm::StringRef path, const ExportOnnxOptions &options = {});

} // namespace amp

#endif // AMP_TARGET_ONNX_EXPORTONNX_H
