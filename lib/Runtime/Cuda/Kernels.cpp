//===- Kernels.cpp - The kernels of an artifact, loaded -------------------===//
// The best binary for the device, or the PTX.
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include <algorithm>

using namespace amp::runtime;
using namespace amp::runtime::cuda;

/// Shared memory that a block gets without asking.
static constexpr uint32_t defaultShared = 48 << 10;
static constexpr size_t logBytes = 8192;

/// Whether code for `chip` ("sm_80", "sm_90a") runs on a device of
/// `capability`, and how well it fits: the minor version. -1: it does not.
static int getFit(const std::string &chip, int capability) {
  constexpr std::string_view prefix = "sm_";
  if (chip.compare(0, prefix.size(), prefix) != 0)
    return -1;
  char *end = nullptr;
  long number = std::strtol(chip.c_str() + prefix.size(), &end, 10);
  // Chip-specific code runs on that chip alone.
  if (*end != 0)
    return number == capability ? 100 : -1;
  if (number / 10 != capability / 10 || number > capability)
    return -1;
  return static_cast<int>(number % 10);
}

Module Kernels::loadKernel(const KernelInfo &kernel,
                           const Artifact &artifact) const {
  const BinaryInfo *best = nullptr;
  int bestFit = -1;
  for (const BinaryInfo &binary : kernel.binaries) {
    int fit = getFit(binary.chip, driver.getCapability());
    if (fit > bestFit) {
      best = &binary;
      bestFit = fit;
    }
  }
  Module module = nullptr;
  if (best) {
    Bytes bytes = artifact.readFile(best->file);
    Result code = driver.cuModuleLoadDataEx(&module, bytes.view.data(), 0,
                                            nullptr, nullptr);
    if (code == result::success)
      return module;
    if (code != result::noBinaryForGpu && code != result::invalidImage)
      driver.check(code, "loading " + best->file);
  }
  // The text must end in a zero.
  std::string text(artifact.readFile(kernel.ptx).view);
  std::string log(logBytes, '\0');
  int options[] = {jitOption::errorLogBuffer, jitOption::errorLogBufferBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(logBytes)};
  Result code =
      driver.cuModuleLoadDataEx(&module, text.c_str(), 2, options, values);
  log.resize(std::min(log.find('\0'), log.size()));
  if (code != result::success)
    driver.reject(code, "compiling " + kernel.ptx +
                            (log.empty() ? "" : " [" + log + "]"));
  return module;
}

Kernels::Kernels(const Driver &driver, const Artifact &artifact)
    : driver(driver) {
  try {
    for (const KernelInfo &kernel : artifact.manifest.kernels) {
      modules.push_back(loadKernel(kernel, artifact));
      Function function = nullptr;
      driver.check(driver.cuModuleGetFunction(&function, modules.back(),
                                              kernel.name.c_str()),
                   "looking for " + kernel.name + " in " + kernel.ptx);
      functions.push_back(function);
    }
  } catch (...) {
    for (Module module : modules)
      driver.cuModuleUnload(module);
    throw;
  }
}

Kernels::~Kernels() {
  for (Module module : modules)
    driver.cuModuleUnload(module);
}

void Kernels::allowShared(size_t kernel, uint32_t bytes) const {
  if (bytes <= defaultShared)
    return;
  driver.check(driver.cuFuncSetAttribute(
                   functions[kernel], functionAttribute::maxDynamicSharedBytes,
                   static_cast<int>(bytes)),
               "asking for " + std::to_string(bytes) +
                   " bytes of shared memory on " + driver.getDeviceName());
}
