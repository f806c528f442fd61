//===- Report.cpp - What was compiled, and how long it took ---------------===//
//
// The file of --report.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Support/ReportPage.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace amp;
namespace json = llvm::json;

/// In the order they end.
static constexpr llvm::StringLiteral cpuPhases[] = {"read", "graph", "kernels",
                                                    "code", "link",  "write"};
static constexpr llvm::StringLiteral cudaPhases[] = {"read", "graph", "kernels",
                                                     "ptx",  "ptxas", "write"};

CompileReport::CompileReport(const CompileOptions &options) {
  if (options.showProgress)
    progress.emplace(llvm::StringRef(options.target).starts_with("cuda")
                         ? llvm::ArrayRef(cudaPhases)
                         : llvm::ArrayRef(cpuPhases));
}

void CompileReport::finish(llvm::StringRef phase) {
  Clock::time_point now = Clock::now();
  phases.emplace_back(phase.str(),
                      std::chrono::duration<double>(now - last).count());
  last = now;
  if (progress)
    progress->finish(phase);
}

void CompileReport::addAutocast(mlir::ModuleOp graph) {
  auto text =
      graph->getAttrOfType<mlir::StringAttr>(AmpDialect::getReportAttrName());
  if (text && !autocast)
    autocast = llvm::cantFail(json::parse(text.getValue()));
}

void CompileReport::addEntry(const plan::CompiledEntry &entry,
                             size_t numOperations) {
  entries.push_back(json::Object{{"name", entry.name},
                                 {"operations", int64_t(numOperations)},
                                 {"workspace", int64_t(entry.workspace)},
                                 {"needed", entry.needed},
                                 {"groups", json::Array(entry.groups)},
                                 {"buffers", json::Array(entry.buffers)},
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

/// The decisions are a part of the page, not of what was compiled.
static json::Value makePageData(json::Value report) {
  json::Object &compiled = *report.getAsObject();
  llvm::StringRef model = *compiled.getString("model");
  json::Object page{{"title", json::fixUTF8(llvm::sys::path::filename(model))}};
  if (json::Value *autocast = compiled.get("autocast")) {
    page["autocast"] = std::move(*autocast);
    compiled.erase("autocast");
  }
  page["compile"] = std::move(report);
  return page;
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
  if (autocast)
    object["autocast"] = *autocast;
  json::Value value(std::move(object));
  if (isPageName(options.reportFile))
    value = makePageData(std::move(value));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", value);
  return isPageName(options.reportFile) ? makeReportPage(text) : text;
}
