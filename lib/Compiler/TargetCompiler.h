//===- TargetCompiler.h - What is particular to a target ------------------===//
//
// From functions to the code of an artifact. Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_TARGETCOMPILER_H
#define AMP_LIB_COMPILER_TARGETCOMPILER_H

#include "Assemble.h"
#include "amp/Compiler/Compiler.h"

namespace amp {

/// Prints "error: " and the text to where the options say.
mlir::LogicalResult reportError(const CompileOptions &options,
                                const llvm::Twine &message);

class TargetCompiler {
public:
  virtual ~TargetCompiler() = default;

  /// Constants of at most this many bytes are in the code.
  virtual int64_t getInlineConstantBytes() const = 0;
  /// Generates the kernels of an entry; its tensors go to `tensors`. Returns
  /// what there is to say about it.
  virtual mlir::FailureOr<plan::CompiledEntry>
  addEntry(mlir::func::FuncOp function, TensorTable &tensors) = 0;
  /// Ends a phase; fails when the compilation was cancelled.
  using Finish = llvm::function_ref<mlir::LogicalResult(llvm::StringRef)>;
  /// Compiles the kernels of all entries into `artifact`.
  virtual mlir::LogicalResult makeCode(Artifact &artifact, Finish finish) = 0;

protected:
  explicit TargetCompiler(const CompileOptions &options) : options(options) {}

  mlir::LogicalResult fail(const llvm::Twine &message) const {
    return reportError(options, message);
  }
  mlir::LogicalResult fail(llvm::Error error) const {
    return fail(llvm::toString(std::move(error)));
  }

  const CompileOptions &options;
};

/// Fails, with the reason, for targets that do not exist.
mlir::FailureOr<std::unique_ptr<TargetCompiler>>
createTargetCompiler(const CompileOptions &options, mlir::MLIRContext &context);

// By target.
mlir::FailureOr<std::unique_ptr<TargetCompiler>>
createCpuCompiler(const CompileOptions &options, mlir::MLIRContext &context);
mlir::FailureOr<std::unique_ptr<TargetCompiler>>
createCudaCompiler(const CompileOptions &options, mlir::MLIRContext &context);

/// Threads that the options ask for.
unsigned countThreads(const CompileOptions &options);

} // namespace amp

#endif // AMP_LIB_COMPILER_TARGETCOMPILER_H
