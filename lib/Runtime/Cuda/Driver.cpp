//===- Driver.cpp - The CUDA driver, loaded at run time -------------------===//
// Finds the library, its functions and a device; says what to do about errors.
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "amp/Runtime/Files.h"
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

using namespace amp::runtime;
using namespace amp::runtime::cuda;

static const char *const systemLibrary = "libcuda.so.1";
static const char *const emulatorLibrary = "libamp_cuda_emulator.so";
static const char *const advice =
    "--cuda-driver= (in C amp_options.cuda_driver, or $AMP_CUDA_DRIVER) names "
    "another library; 'emulator' interprets the kernels, slowly";
static constexpr int leastCapability = 80;

/// The emulator beside the library or program this is in, or what the loader
/// finds under its name.
static std::string findEmulator() {
  Dl_info info;
  if (!::dladdr(reinterpret_cast<void *>(&findEmulator), &info) ||
      !info.dli_fname)
    return emulatorLibrary;
  std::string folder = getFolder(info.dli_fname);
  for (const char *place : {"/", "/../lib/"}) {
    std::string path = folder + place + emulatorLibrary;
    if (::access(path.c_str(), R_OK) == 0)
      return path;
  }
  return emulatorLibrary;
}

static std::string chooseLibrary(std::string name) {
  const char *variable = std::getenv("AMP_CUDA_DRIVER");
  if (name.empty() && variable)
    name = variable;
  if (name.empty())
    return systemLibrary;
  return name == "emulator" ? findEmulator() : name;
}

static std::string printVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Driver::Driver(const std::string &name) : library(chooseLibrary(name)) {
  handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::string reason = ::dlerror();
    fail(AMP_UNSUPPORTED,
         "this artifact is for CUDA, but the driver " + quote(library) +
             " cannot be loaded (" + reason + "): " +
             (library == systemLibrary ? "install NVIDIA's driver; " : "") +
             advice);
  }
  try {
    load(library);
    openDevice();
  } catch (...) {
    ::dlclose(handle);
    throw;
  }
}

void Driver::load(const std::string &path) {
  auto find = [&](const char *name, bool isNeeded) {
    void *symbol = ::dlsym(handle, name);
    if (!symbol && isNeeded)
      fail(AMP_UNSUPPORTED,
           "the CUDA driver " + quote(path) + " has no function " + name +
               ": it is older than CUDA " + printVersion(minDriverVersion) +
               "; install a newer driver");
    return symbol;
  };
#define AMP_LOAD(name, parameters)                                             \
  name = reinterpret_cast<decltype(name)>(find(#name, true));
  AMP_CUDA_FUNCTIONS(AMP_LOAD)
#undef AMP_LOAD
#define AMP_LOAD(name, parameters)                                             \
  name = reinterpret_cast<decltype(name)>(find(#name, false));
  AMP_CUDA_OPTIONAL_FUNCTIONS(AMP_LOAD)
#undef AMP_LOAD
}

void Driver::openDevice() {
  check(cuInit(0), "starting the driver");
  int version = 0, count = 0, major = 0, minor = 0;
  check(cuDriverGetVersion(&version), "asking for the driver's version");
  if (version < minDriverVersion)
    fail(AMP_UNSUPPORTED, "the CUDA driver " + quote(library) +
                              " supports CUDA " + printVersion(version) +
                              ", needed is " + printVersion(minDriverVersion) +
                              "; install a newer driver");
  check(cuDeviceGetCount(&count), "counting devices");
  if (count == 0)
    reject(result::noDevice, "counting devices");
  check(cuDeviceGet(&device, 0), "opening device 0");
  char name[256] = "";
  check(cuDeviceGetName(name, sizeof(name), device), "asking for its name");
  deviceName = name;
  major = getAttribute(deviceAttribute::computeCapabilityMajor);
  minor = getAttribute(deviceAttribute::computeCapabilityMinor);
  capability = major * 10 + minor;
  if (capability < leastCapability)
    fail(AMP_UNSUPPORTED,
         deviceName + " has compute capability " + std::to_string(major) + "." +
             std::to_string(minor) + "; needed is 8.0 (sm_80: A100) or newer");
  check(cuDevicePrimaryCtxRetain(&context, device), "opening a context");
}

Driver::~Driver() {
  if (context)
    cuDevicePrimaryCtxRelease_v2(device);
  // The library stays: the driver has threads of its own.
}

int Driver::getAttribute(int attribute) const {
  int value = 0;
  check(cuDeviceGetAttribute(&value, attribute, device),
        "asking for an attribute of the device");
  return value;
}

/// Errors after which a context can do nothing any more.
static bool isSticky(Result code) {
  switch (code) {
  case result::illegalAddress:
  case result::launchTimeout:
  case result::assertFailed:
  case result::hardwareStackError:
  case result::illegalInstruction:
  case result::misalignedAddress:
  case result::invalidAddressSpace:
  case result::invalidPc:
  case result::launchFailed:
    return true;
  default:
    return false;
  }
}

static std::string getAdvice(Result code) {
  if (isSticky(code))
    return "; the CUDA context is lost: end this process and resume from a "
           "checkpoint ($AMP_CUDA_LAUNCH=kernels names the kernel)";
  switch (code) {
  case result::noDevice:
    return std::string(
               "; there is no GPU, or $CUDA_VISIBLE_DEVICES hides it: ") +
           advice;
  case result::stubLibrary:
    return "; this is the toolkit's stub, not a driver: take its folder from "
           "$LD_LIBRARY_PATH";
  case result::systemDriverMismatch:
  case result::compatNotSupported:
    return "; the kernel module and the driver's library do not fit: reinstall "
           "the driver or restart the machine";
  default:
    return "";
  }
}

void Driver::reject(Result code, const std::string &what) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(code, &name);
  cuGetErrorString(code, &text);
  amp_status status = code == result::outOfMemory ? AMP_OUT_OF_MEMORY
                      : code == result::noDevice  ? AMP_UNSUPPORTED
                                                  : AMP_FAILED;
  fail(status, "CUDA: " + what + " failed: " +
                   (name ? name : "error " + std::to_string(code)) +
                   (text && (!name || std::string(text) != name)
                        ? " (" + std::string(text) + ")"
                        : "") +
                   getAdvice(code));
}

ContextScope::ContextScope(const Driver &driver) : driver(driver) {
  driver.check(driver.cuCtxGetCurrent(&before), "asking for the context");
  if (before != driver.getContext())
    driver.check(driver.cuCtxSetCurrent(driver.getContext()),
                 "setting the context");
}

ContextScope::~ContextScope() {
  if (before != driver.getContext())
    driver.cuCtxSetCurrent(before);
}
