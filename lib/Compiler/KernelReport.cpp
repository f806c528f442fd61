//===- KernelReport.cpp - What is known of CUDA kernels -------------------===//
//
// Launches by kernel, the roofline's times, instructions of binaries.
//
//===----------------------------------------------------------------------===//

#include "KernelReport.h"
#include "amp/Codegen/Cuda/Backend/CubinReader.h"
#include "amp/Support/AtomicFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace amp;
using llvm::Error;
namespace json = llvm::json;

static constexpr double bytesPerSecond = 4.3e12, halfPerSecond = 790e12,
                        singlePerSecond = 67e12, secondsPerNode = 1e-6;

static double predict(const cuda::Work &work) {
  double memory = double(work.bytes) / bytesPerSecond;
  double units =
      double(work.operations) / (work.isHalf ? halfPerSecond : singlePerSecond);
  return std::max(memory, units) + secondsPerNode;
}

void KernelReport::add(const cuda::CompiledEntry &entry) {
  double seconds = 0;
  cuda::Work total;
  for (const cuda::Node &node : entry.nodes) {
    cuda::Work work = node.work;
    // A copy reads and writes.
    if (node.kernel.empty())
      work.bytes = 2 * node.bytes;
    double time = predict(work);
    seconds += time;
    total.bytes += work.bytes;
    total.operations += work.operations;
    if (node.kernel.empty())
      continue;
    Usage &usage = usages[node.kernel];
    ++usage.launches;
    usage.block = node.block;
    usage.sharedBytes = node.sharedBytes;
    usage.work.bytes += work.bytes;
    usage.work.operations += work.operations;
    usage.seconds += time;
  }
  entries.push_back(json::Object{{"name", entry.name},
                                 {"nodes", int64_t(entry.nodes.size())},
                                 {"bytes", total.bytes},
                                 {"operations", total.operations},
                                 {"predicted_us", seconds * 1e6}});
}

static llvm::Expected<json::Array> describe(const ArtifactKernel &kernel) {
  json::Array binaries;
  for (const ArtifactBinary &binary : kernel.binaries) {
    auto counts = cuda::countInstructions(
        llvm::StringRef(binary.bytes.data(), binary.bytes.size()));
    if (!counts)
      return counts.takeError();
    json::Object instructions;
    for (const auto &[name, count] : *counts)
      instructions[name] = count;
    binaries.push_back(json::Object{{"chip", binary.chip},
                                    {"registers", binary.registers},
                                    {"shared", binary.sharedBytes},
                                    {"stack", binary.stackBytes},
                                    {"spills", binary.spillBytes},
                                    {"instructions", std::move(instructions)}});
  }
  return binaries;
}

Error KernelReport::write(const Artifact &artifact,
                          llvm::StringRef folder) const {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot make the folder '" + folder +
                                   "': " + code.message());
  json::Array kernels;
  for (const ArtifactKernel &kernel : artifact.kernels) {
    if (Error error = writeTextFile((folder + "/" + kernel.name + ".ptx").str(),
                                    kernel.ptx))
      return error;
    llvm::Expected<json::Array> binaries = describe(kernel);
    if (!binaries)
      return binaries.takeError();
    const Usage usage = usages.lookup(kernel.name);
    kernels.push_back(json::Object{
        {"name", kernel.name},
        {"generic",
         llvm::StringRef(kernel.name).starts_with(cuda::genericPrefix)},
        {"launches", usage.launches},
        {"block", json::Array(usage.block)},
        {"dynamic_shared", usage.sharedBytes},
        {"bytes", usage.work.bytes},
        {"operations", usage.work.operations},
        {"predicted_us", usage.seconds * 1e6},
        {"binaries", std::move(*binaries)}});
  }
  json::Object object{
      {"note", "predicted_us is a roofline's time on an H200, of all launches "
               "together; nothing was measured"},
      {"entries", json::Array(entries)},
      {"kernels", std::move(kernels)}};
  std::string text =
      llvm::formatv("{0:2}\n", json::Value(std::move(object))).str();
  return writeTextFile((folder + "/kernels.json").str(), text);
}
