//===- ReadModel.h - A model from a file of either kind -------------------===//
//
// ONNX or MLIR, told apart by content, with diagnostics for both.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_FRONTEND_READMODEL_H
#define AMP_FRONTEND_READMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace amp {

/// Prints a diagnostic of a module that has no source text: `file: node 'x':
/// error: message`.
mlir::LogicalResult printDiagnostic(llvm::StringRef file,
                                    mlir::Diagnostic &diagnostic);

/// A model and the handler that prints what is said about it, to standard
/// error.
class ModelReader {
public:
  explicit ModelReader(mlir::MLIRContext &context) : context(context) {}

  /// Reads the file `path` ("-": standard input). Says what is wrong and
  /// returns null on failure.
  mlir::OwningOpRef<mlir::ModuleOp> read(llvm::StringRef path);

private:
  mlir::OwningOpRef<mlir::ModuleOp>
  parseText(std::unique_ptr<llvm::MemoryBuffer> buffer);

  mlir::MLIRContext &context;
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::ScopedDiagnosticHandler> handler;
};

} // namespace amp

#endif // AMP_FRONTEND_READMODEL_H
