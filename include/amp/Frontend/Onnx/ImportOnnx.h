//===- ImportOnnx.h - ModelProto to IR ------------------------------------===//
//
// Reads an ONNX file into a module. Tensor data stays in the mapped file.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_FRONTEND_ONNX_IMPORTONNX_H
#define AMP_FRONTEND_ONNX_IMPORTONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBuffer.h"

namespace amp {

/// Whether `contents` looks like a serialized ModelProto (as opposed to MLIR text or bytecode).
bool isOnnxModel(llvm::StringRef contents);

/// Imports a serialized ModelProto. `path` is the file's path ("-" or empty: none, external data is then refused) for
/// messages and for finding external data. The module keeps `buffer` alive. Emits diagnostics and returns null on failure.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(std::shared_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef path,
                                             mlir::MLIRContext *context);

} // namespace amp

#endif // AMP_FRONTEND_ONNX_IMPORTONNX_H
