//===- Report.h - What was compiled, and how long it took -----------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_REPORT_H
#define AMP_LIB_COMPILER_REPORT_H

#include "Progress.h"
#include "amp/Codegen/Plan/Entry.h"
#include "amp/Compiler/Compiler.h"
#include "amp/Target/Artifact/WriteArtifact.h"
#include <chrono>
#include <optional>

namespace amp {

class CompileReport {
public:
  explicit CompileReport(const CompileOptions &options);

  /// Ends a phase: the time since the one before belongs to it.
  void finish(llvm::StringRef phase);
  void addEntry(const plan::CompiledEntry &entry, size_t numOperations);
  /// What autocast left on a module, if it did.
  void addAutocast(mlir::ModuleOp graph);
  /// As JSON text, or as a page if the options name one.
  std::string print(const CompileOptions &options,
                    const Artifact &artifact) const;

private:
  using Clock = std::chrono::steady_clock;

  std::optional<Progress> progress;
  Clock::time_point last = Clock::now();
  std::vector<std::pair<std::string, double>> phases;
  llvm::json::Array entries;
  std::optional<llvm::json::Value> autocast;
};

} // namespace amp

#endif // AMP_LIB_COMPILER_REPORT_H
