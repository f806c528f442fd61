//===- TargetCompiler.cpp - What is particular to a target ----------------===//
//
// Chooses it by the options.
//
//===----------------------------------------------------------------------===//

#include "TargetCompiler.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace amp;

LogicalResult amp::reportError(const CompileOptions &options,
                               const Twine &message) {
  llvm::raw_ostream &os = options.errors ? *options.errors : llvm::errs();
  os << "error: " << message << '\n';
  return failure();
}

unsigned amp::countThreads(const CompileOptions &options) {
  return options.threads ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count();
}

FailureOr<std::unique_ptr<TargetCompiler>>
amp::createTargetCompiler(const CompileOptions &options, MLIRContext &context) {
  auto [kind, rest] = StringRef(options.target).split(':');
  if (kind == "cpu" && rest.empty())
    return createCpuCompiler(options, context);
  if (kind == "cuda")
    return createCudaCompiler(options, context);
  return reportError(options, "there is no target '" + options.target +
                                  "'; there are cpu (with --cpu=), cuda, and "
                                  "cuda with chips (cuda:sm_80,sm_90a)");
}
