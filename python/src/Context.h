//===- Context.h - An MLIR context and what is said in it -------*- C++ -*-===//
//
// Every module has a context of its own; diagnostics become exceptions and
// warnings of Python.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PYTHON_SRC_CONTEXT_H
#define AMP_PYTHON_SRC_CONTEXT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace amp::python {

/// What Python sees as `amp_mlir.CompileError`.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// A context with all dialects, passes and translations.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// Collects what is said in a context while it lives.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext *context);

  /// Throws what was said as an Error, `otherwise` if nothing was.
  [[noreturn]] void raise(llvm::StringRef otherwise);
  /// Throws unless `result` is a success; then warnings are left to take.
  void check(mlir::LogicalResult result, llvm::StringRef otherwise) {
    if (mlir::failed(result))
      raise(otherwise);
  }
  /// Hands what was said that is no error to Python's `warnings`. Needs the
  /// GIL.
  void warn();

private:
  std::string errors;
  std::vector<std::string> warnings;
  mlir::ScopedDiagnosticHandler handler;
};

/// Throws the text of an error.
void check(llvm::Error error);
template <typename T> T check(llvm::Expected<T> value) {
  if (!value)
    throw Error(llvm::toString(value.takeError()));
  return std::move(*value);
}

/// `file.py:12: ` of the innermost file and `node 'x': ` of the innermost name
/// that a location holds.
std::string describe(mlir::Location location);

} // namespace amp::python

#endif // AMP_PYTHON_SRC_CONTEXT_H
