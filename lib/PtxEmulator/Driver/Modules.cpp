//===- Modules.cpp - Modules and functions --------------------------------===//
// PTX is parsed; anything compiled is refused, so that the caller falls back.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstring>

using namespace amp;
using namespace amp::ptx;

static constexpr unsigned defaultDynamicShared = 48 * 1024;

/// A cubin or a fatbin, which begin with magic numbers.
static bool isCompiled(const void *image) {
  uint32_t magic;
  std::memcpy(&magic, image, sizeof(magic));
  return magic == 0x464c457f || magic == 0xba55ed50 || magic == 0x466243b1;
}

/// The processor `.target` names must be one the device can stand for.
static std::string checkTarget(std::string_view text, int capability) {
  size_t at = text.find(".target");
  at = at == std::string_view::npos ? at : text.find("sm_", at);
  if (at == std::string_view::npos)
    return "the PTX names no target";
  int target = 0;
  for (at += 3; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    target = std::min(target * 10 + (text[at] - '0'), 10000);
  bool isExact = at < text.size() && (text[at] == 'a' || text[at] == 'f');
  if (isExact ? target == capability : target <= capability)
    return "";
  return "the PTX is for sm_" + std::to_string(target) + (isExact ? "a" : "") +
         ", and the emulated device is an sm_" + std::to_string(capability) +
         " (set AMP_EMULATOR_CC)";
}

static void writeErrorLog(const std::string &error, unsigned numOptions,
                          const int *options, void **values) {
  char *buffer = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == cuda::jitOption::errorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    else if (options[i] == cuda::jitOption::errorLogBufferBytes)
      bytes = reinterpret_cast<size_t>(values[i]) & UINT32_MAX;
  }
  if (!buffer || !bytes)
    return;
  size_t length = std::min(error.size(), bytes - 1);
  std::memcpy(buffer, error.data(), length);
  buffer[length] = 0;
}

AMP_DRIVER_API cuModuleLoadDataEx(cuda::Module *module, const void *image,
                                  unsigned numOptions, int *options,
                                  void **values) {
  AMP_DRIVER_ENTER();
  if (!module || !image || (numOptions && (!options || !values)))
    return cuda::result::invalidValue;
  const char *text = static_cast<const char *>(image);
  if (strnlen(text, 4) == 4 && isCompiled(image))
    return driver.fail(cuda::result::noBinaryForGpu,
                       "it is a cubin or a fatbin");
  std::string error = checkTarget(text, driver.options.capability);
  auto made = std::make_unique<CUmod_st>();
  if (error.empty())
    made->module = ptx::Module::parse(text, *driver.memory, error);
  if (!made->module) {
    writeErrorLog(error, numOptions, options, values);
    return driver.fail(cuda::result::invalidPtx, error);
  }
  driver.modules.insert(made.get());
  *module = made.release();
  return cuda::result::success;
}

AMP_DRIVER_API cuModuleUnload(cuda::Module module) {
  AMP_DRIVER_ENTER();
  if (!driver.modules.erase(module))
    return cuda::result::invalidHandle;
  for (auto &[name, function] : module->functions)
    driver.functions.erase(function.get());
  delete module;
  return cuda::result::success;
}

AMP_DRIVER_API cuModuleGetFunction(cuda::Function *function,
                                   cuda::Module module, const char *name) {
  AMP_DRIVER_ENTER();
  if (!function || !name)
    return cuda::result::invalidValue;
  if (!driver.modules.count(module))
    return cuda::result::invalidHandle;
  const ptx::Kernel *kernel = module->module->findKernel(name);
  if (!kernel)
    return driver.fail(cuda::result::notFound,
                       std::string("the module has no kernel '") + name + "'");
  auto &slot = module->functions[name];
  if (!slot) {
    slot.reset(new CUfunc_st{kernel, defaultDynamicShared});
    driver.functions.insert(slot.get());
  }
  *function = slot.get();
  return cuda::result::success;
}

AMP_DRIVER_API cuFuncSetAttribute(cuda::Function function, int attribute,
                                  int value) {
  AMP_DRIVER_ENTER();
  static constexpr int preferredCarveout = 9;
  if (!driver.functions.count(function))
    return cuda::result::invalidHandle;
  if (attribute == preferredCarveout)
    return cuda::result::success;
  if (attribute != cuda::functionAttribute::maxDynamicSharedBytes)
    return cuda::result::invalidValue;
  unsigned most = getMaxShared(driver.options.capability);
  unsigned fixed = function->kernel->getStaticSharedBytes();
  if (value < 0 || uint64_t(value) + fixed > most)
    return driver.fail(cuda::result::invalidValue,
                       "kernel '" + function->kernel->getName() +
                           "' asks for " + std::to_string(value) +
                           " bytes of dynamic shared memory beside " +
                           std::to_string(fixed) + ", and the device has " +
                           std::to_string(most));
  function->maxDynamicShared = static_cast<unsigned>(value);
  return cuda::result::success;
}

AMP_DRIVER_API cuFuncGetAttribute(int *value, int attribute,
                                  cuda::Function function) {
  AMP_DRIVER_ENTER();
  static constexpr int constBytes = 2, ptxVersion = 5, binaryVersion = 6;
  if (!value)
    return cuda::result::invalidValue;
  if (!driver.functions.count(function))
    return cuda::result::invalidHandle;
  const ptx::Kernel &kernel = *function->kernel;
  // Registers are ptxas's choice: what is said is only a bound.
  const std::pair<int, unsigned> values[] = {
      {cuda::functionAttribute::maxThreadsPerBlock, kernel.getMaxThreads()},
      {cuda::functionAttribute::sharedBytes, kernel.getStaticSharedBytes()},
      {cuda::functionAttribute::localBytes, kernel.getLocalBytes()},
      {cuda::functionAttribute::numRegisters,
       std::min(kernel.getNumRegisters(), 255u)},
      {cuda::functionAttribute::maxDynamicSharedBytes,
       function->maxDynamicShared},
      {constBytes, 0},
      {ptxVersion, unsigned(driver.options.capability)},
      {binaryVersion, unsigned(driver.options.capability)}};
  for (auto [known, number] : values)
    if (known == attribute) {
      *value = static_cast<int>(number);
      return cuda::result::success;
    }
  return cuda::result::invalidValue;
}
