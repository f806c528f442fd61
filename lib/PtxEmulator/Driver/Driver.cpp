//===- Driver.cpp - State, options and errors of the stand-in -------------===//
// cuInit reads the environment; nothing is read before or after.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace amp;
using namespace amp::ptx;

static const char *getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value && *value ? value : nullptr;
}

/// The variable as a number from `least` to `most`.
static bool readNumber(const char *name, uint64_t least, uint64_t most,
                       uint64_t &number, std::string &error) {
  const char *text = getVariable(name);
  if (!text)
    return true;
  char *end = nullptr;
  unsigned long long value = std::strtoull(text, &end, 10);
  if (*end || value < least || value > most) {
    error = std::string(name) + " is '" + text + "'; expected a number from " +
            std::to_string(least) + " to " + std::to_string(most);
    return false;
  }
  number = value;
  return true;
}

static bool readCapability(int &capability, std::string &error) {
  const char *text = getVariable("AMP_EMULATOR_CC");
  if (!text)
    return true;
  std::string digits;
  for (const char *c = text; *c; ++c)
    if (*c != '.')
      digits += *c;
  bool isNumber = digits.find_first_not_of("0123456789") == std::string::npos;
  if (digits.size() != 2 || !isNumber || std::atoi(digits.c_str()) < 70) {
    error = std::string("AMP_EMULATOR_CC is '") + text +
            "'; expected a compute capability such as 8.0 or 9.0";
    return false;
  }
  capability = std::atoi(digits.c_str());
  return true;
}

bool amp::ptx::readOptions(Options &options, std::string &error) {
  uint64_t checks = 1, megabytes = options.memoryBytes >> 20;
  uint64_t threads = std::max(1u, std::thread::hardware_concurrency());
  bool good =
      readCapability(options.capability, error) &&
      readNumber("AMP_EMULATOR_SEED", 0, UINT64_MAX, options.seed, error) &&
      readNumber("AMP_EMULATOR_CHECK", 0, 1, checks, error) &&
      readNumber("AMP_EMULATOR_THREADS", 1, 1024, threads, error) &&
      readNumber("AMP_EMULATOR_MEMORY_MB", 1, 1 << 24, megabytes, error);
  options.checks = checks ? CheckLevel::All : CheckLevel::Bounds;
  options.threads = static_cast<unsigned>(threads);
  options.memoryBytes = megabytes << 20;
  if (const char *log = getVariable("AMP_EMULATOR_LOG"))
    options.log = log;
  return good;
}

Driver &Driver::get() {
  static Driver driver;
  return driver;
}

Driver::~Driver() {
  log.flush();
  for (CUgraphExec_st *exec : execs)
    delete exec;
  for (CUgraph_st *graph : graphs)
    delete graph;
  for (CUmod_st *module : modules)
    delete module;
  for (CUstream_st *stream : streams)
    delete stream;
  for (CUevent_st *event : events)
    delete event;
  for (void *block : hostBlocks)
    std::free(block);
}

cuda::Result Driver::initialise() {
  if (memory)
    return cuda::result::success;
  std::string error, missing;
  if (!isHostSupported(missing)) {
    error = "this CPU lacks " + missing + ", which the emulator needs";
    log.addMessage(error);
    return fail(cuda::result::notSupported, error);
  }
  if (!readOptions(options, error)) {
    log.addMessage(error);
    return fail(cuda::result::invalidValue, error);
  }
  log.open(options.log);
  order.seed(options.seed);
  memory = std::make_unique<DeviceMemory>(options.memoryBytes);
  return cuda::result::success;
}

cuda::Result Driver::fail(cuda::Result error, const std::string &why) {
  lastError = why;
  return error;
}

void Driver::releaseContext() {
  log.flush();
  sticky = cuda::result::success;
  current = nullptr;
}

//===----------------------------------------------------------------------===//
// Start and errors
//===----------------------------------------------------------------------===//

AMP_DRIVER_API cuInit(unsigned flags) {
  Driver &driver = Driver::get();
  std::lock_guard<std::recursive_mutex> lock(driver.mutex);
  return flags ? cuda::result::invalidValue : driver.initialise();
}

AMP_DRIVER_API cuDriverGetVersion(int *version) {
  if (!version)
    return cuda::result::invalidValue;
  *version = 13000;
  return cuda::result::success;
}

namespace {
struct ErrorRow {
  cuda::Result error;
  const char *name, *text;
};
} // namespace

static constexpr ErrorRow errorRows[] = {
    {cuda::result::success, "CUDA_SUCCESS", "no error"},
    {cuda::result::invalidValue, "CUDA_ERROR_INVALID_VALUE",
     "invalid argument"},
    {cuda::result::outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {cuda::result::notInitialized, "CUDA_ERROR_NOT_INITIALIZED",
     "cuInit was not called"},
    {cuda::result::invalidDevice, "CUDA_ERROR_INVALID_DEVICE",
     "there is no such device"},
    {cuda::result::invalidImage, "CUDA_ERROR_INVALID_IMAGE",
     "the kernel image is invalid"},
    {cuda::result::invalidContext, "CUDA_ERROR_INVALID_CONTEXT",
     "invalid context"},
    {cuda::result::noBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "the emulator runs PTX, and the image is none"},
    {cuda::result::invalidPtx, "CUDA_ERROR_INVALID_PTX",
     "the PTX was not accepted"},
    {cuda::result::invalidHandle, "CUDA_ERROR_INVALID_HANDLE",
     "invalid handle"},
    {cuda::result::notFound, "CUDA_ERROR_NOT_FOUND", "name not found"},
    {cuda::result::notReady, "CUDA_ERROR_NOT_READY", "not ready"},
    {cuda::result::illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "a kernel touched memory that is not its own"},
    {cuda::result::launchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "the launch asks for too much"},
    {cuda::result::launchTimeout, "CUDA_ERROR_LAUNCH_TIMEOUT",
     "a kernel hangs"},
    {cuda::result::assertFailed, "CUDA_ERROR_ASSERT", "a kernel trapped"},
    {cuda::result::misalignedAddress, "CUDA_ERROR_MISALIGNED_ADDRESS",
     "a kernel's access is misaligned"},
    {cuda::result::launchFailed, "CUDA_ERROR_LAUNCH_FAILED",
     "the emulator found a mistake in a kernel"},
    {cuda::result::notSupported, "CUDA_ERROR_NOT_SUPPORTED", "not supported"}};

static const ErrorRow *findError(cuda::Result error) {
  for (const ErrorRow &row : errorRows)
    if (row.error == error)
      return &row;
  return nullptr;
}

AMP_DRIVER_API cuGetErrorName(cuda::Result error, const char **text) {
  const ErrorRow *row = findError(error);
  if (!text)
    return cuda::result::invalidValue;
  *text = row ? row->name : nullptr;
  return row ? cuda::result::success : cuda::result::invalidValue;
}

/// The general text, and of the last error what exactly was wrong.
AMP_DRIVER_API cuGetErrorString(cuda::Result error, const char **text) {
  const ErrorRow *row = findError(error);
  if (!text)
    return cuda::result::invalidValue;
  *text = row ? row->text : nullptr;
  if (!row)
    return cuda::result::invalidValue;
  Driver &driver = Driver::get();
  std::lock_guard<std::recursive_mutex> lock(driver.mutex);
  if (error != cuda::result::success && !driver.lastError.empty()) {
    static thread_local std::string full;
    full = std::string(row->text) + ": " + driver.lastError;
    *text = full.c_str();
  }
  return cuda::result::success;
}
