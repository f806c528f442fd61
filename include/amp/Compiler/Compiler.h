//===- Compiler.h - From a model to an artifact ---------------------------===//
//
// What amp-compile does, as a library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_COMPILER_COMPILER_H
#define AMP_COMPILER_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include <atomic>
#include <string>
#include <vector>

namespace amp {

struct CompileOptions {
  /// A .onnx or .mlir file, and the folder the artifact goes to.
  std::string model, output;
  /// train.json. Without one and without `inference`, every function of the
  /// model is an entry as it is (the output of `--build-training-step`).
  std::string training;
  bool inference = false;
  /// Whether `training` gets the entries that data-parallel ranks run, too.
  bool dataParallel = false;
  /// Also the entry that finds a step's first non-finite value.
  bool traceNonfinite = false;
  /// Options of the `autocast` pipeline for `inference`; empty: f32 stays f32.
  std::string autocast;
  /// Sizes of symbolic dimensions, as name=size.
  std::vector<std::string> bind;
  /// "cpu", "cuda" (PTX alone), or "cuda:" and chips: "cuda:sm_80,sm_90a".
  std::string target = "cpu";
  /// cuda: the assembler; empty: it is looked for. Whether what it made before
  /// is taken from the user's cache.
  std::string ptxas;
  bool useKernelCache = true;
  /// cuda: only kernels that give the bits of the CPU's.
  bool genericKernels = false;
  /// cuda: a folder for PTX and what is known of each kernel; empty: none.
  std::string kernelFolder;
  /// cpu: a processor's name, or "native".
  std::string cpu = "native";
  /// Where to write the graph of primitives, and what was compiled: as JSON,
  /// or as a page if the name ends in .html.
  std::string graphFile, reportFile;
  bool printPlan = false, printMemory = false;
  /// Whether a terminal shows the phase and its seconds meanwhile.
  bool showProgress = false;
  /// Threads to compile with; 0: as many as there are processors.
  unsigned threads = 0;
  /// Where errors are said; null: on standard error.
  llvm::raw_ostream *errors = nullptr;
  /// When this becomes true, the compilation fails after its current step; may
  /// be null.
  const std::atomic<bool> *cancelled = nullptr;
};

/// Everything the compiler may meet: dialects, gradient rules, translations.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Compiles a model and writes the artifact. Errors are said as the options
/// tell, diagnostics as the context's handler does, if the model is no file.
mlir::LogicalResult compileModel(const CompileOptions &options,
                                 mlir::MLIRContext &context);
/// The same for a model that was read already; `options.model` is what it is
/// called.
mlir::LogicalResult compileModel(mlir::OwningOpRef<mlir::ModuleOp> model,
                                 const CompileOptions &options);

/// Prints a train.json to start from: names of outputs and parameters of the
/// model, and what is commonly set. Errors are printed to standard error.
mlir::LogicalResult printInitialConfig(llvm::StringRef model,
                                       llvm::raw_ostream &os,
                                       mlir::MLIRContext &context);

} // namespace amp

#endif // AMP_COMPILER_COMPILER_H
