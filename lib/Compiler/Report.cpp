//===- Report.cpp - What was compiled, and how long it took ---------------===//
//
// The file of --report.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "llvm/Support/FormatVariadic.h"

using namespace amp;
namespace json = llvm::json;

void CompileReport::finish(llvm::StringRef phase) {
  Clock::time_point now = Clock::now();
  phases.emplace_back(phase.str(),
                      std::chrono::duration<double>(now - last).count());
  last = now;
}

void CompileReport::addEntry(const plan::CompiledEntry &entry,
                             size_t numOperations) {
  entries.push_back(json::Object{{"name", entry.name},
                                 {"operations", int64_t(numOperations)},
                                 {"workspace", int64_t(entry.workspace)},
                                 {"plan", entry.plan},
                                 {"memory", entry.memory}});
}

/// Of the library, or of all PTX and binaries.
static int64_t countCodeBytes(const Artifact &artifact) {
  int64_t bytes = artifact.code.size();
  for (const ArtifactKernel &kernel : artifact.kernels) {
    bytes += kernel.ptx.size();
    for (const ArtifactBinary &binary : kernel.binaries)
      bytes += binary.bytes.size();
  }
  return bytes;
}

/// CUDA kernels with what they need on each chip.
static json::Array describeKernels(const Artifact &artifact) {
  json::Array kernels;
  for (const ArtifactKernel &kernel : artifact.kernels) {
    json::Array binaries;
    for (const ArtifactBinary &binary : kernel.binaries)
      binaries.push_back(json::Object{{"chip", binary.chip},
                                      {"registers", binary.registers},
                                      {"shared", binary.sharedBytes},
                                      {"stack", binary.stackBytes},
                                      {"spills", binary.spillBytes}});
    kernels.push_back(json::Object{{"name", kernel.name},
                                   {"ptx_bytes", int64_t(kernel.ptx.size())},
                                   {"binaries", std::move(binaries)}});
  }
  return kernels;
}

std::string CompileReport::print(const CompileOptions &options,
                                 const Artifact &artifact) const {
  json::Object seconds;
  double total = 0;
  for (const auto &[phase, time] : phases) {
    seconds[phase] = time;
    total += time;
  }
  seconds["total"] = total;
  json::Object object{{"model", options.model},
                      {"artifact", options.output},
                      {"fingerprint", artifact.fingerprint},
                      {"target", options.target},
                      {"cpu", artifact.cpu},
                      {"features", artifact.features},
                      {"code_bytes", countCodeBytes(artifact)},
                      {"kernels", describeKernels(artifact)},
                      {"seconds", std::move(seconds)},
                      {"entries", json::Array(entries)}};
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
  return text;
}
