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

void CompileReport::addEntry(const cpu::CompiledEntry &entry,
                             size_t numOperations) {
  entries.push_back(json::Object{{"name", entry.name},
                                 {"operations", int64_t(numOperations)},
                                 {"workspace", int64_t(entry.workspace)},
                                 {"plan", entry.plan},
                                 {"memory", entry.memory}});
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
                      {"cpu", artifact.cpu},
                      {"features", artifact.features},
                      {"code_bytes", int64_t(artifact.code.size())},
                      {"seconds", std::move(seconds)},
                      {"entries", json::Array(entries)}};
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::formatv("{0:2}\n", json::Value(std::move(object)));
  return text;
}
