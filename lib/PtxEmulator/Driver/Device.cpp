//===- Device.cpp - The device and its primary context --------------------===//
// One device of the compute capability the environment names.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstdio>
#include <cstring>

using namespace amp;
using namespace amp::ptx;

static CUctx_st *getPrimaryContext() {
  static char place;
  return reinterpret_cast<CUctx_st *>(&place);
}

unsigned amp::ptx::getMaxShared(int capability) {
  switch (capability) {
  case 70:
    return 98304;
  case 75:
    return 65536;
  case 86:
  case 89:
    return 101376;
  default:
    return capability >= 90 ? 232448 : 166912;
  }
}

AMP_DRIVER_API cuDeviceGetCount(int *count) {
  AMP_DRIVER_ENTER();
  if (!count)
    return cuda::result::invalidValue;
  *count = 1;
  return cuda::result::success;
}

AMP_DRIVER_API cuDeviceGet(cuda::Device *device, int ordinal) {
  AMP_DRIVER_ENTER();
  if (!device)
    return cuda::result::invalidValue;
  if (ordinal != 0)
    return driver.fail(cuda::result::invalidDevice,
                       "the emulator has one device");
  *device = 0;
  return cuda::result::success;
}

AMP_DRIVER_API cuDeviceGetName(char *name, int length, cuda::Device device) {
  AMP_DRIVER_ENTER();
  if (!name || length < 1 || device != 0)
    return cuda::result::invalidValue;
  std::snprintf(name, static_cast<size_t>(length), "PTX emulator (sm_%d)",
                driver.options.capability);
  return cuda::result::success;
}

AMP_DRIVER_API cuDeviceGetAttribute(int *value, int attribute,
                                    cuda::Device device) {
  AMP_DRIVER_ENTER();
  static constexpr int maxSharedPerBlock = 8, maxPitch = 11, unifiedMemory = 41,
                       maxSharedPerMultiprocessor = 81;
  if (!value || device != 0)
    return cuda::result::invalidValue;
  int capability = driver.options.capability;
  unsigned maxShared = getMaxShared(capability);
  const std::pair<int, int> values[] = {
      {cuda::deviceAttribute::maxThreadsPerBlock, 1024},
      {cuda::deviceAttribute::warpSize, 32},
      {cuda::deviceAttribute::clockRateKHz, 1000000},
      {cuda::deviceAttribute::multiprocessorCount, 4},
      {cuda::deviceAttribute::l2CacheBytes, 4 << 20},
      {cuda::deviceAttribute::computeCapabilityMajor, capability / 10},
      {cuda::deviceAttribute::computeCapabilityMinor, capability % 10},
      {cuda::deviceAttribute::maxSharedPerBlockOptin, int(maxShared)},
      {maxSharedPerBlock, 49152},
      {maxSharedPerMultiprocessor, int(maxShared + 1024)},
      {maxPitch, INT32_MAX},
      {unifiedMemory, 1}};
  for (auto [known, number] : values)
    if (known == attribute) {
      *value = number;
      return cuda::result::success;
    }
  return driver.fail(cuda::result::invalidValue,
                     "attribute " + std::to_string(attribute) +
                         " is not known to the emulator");
}

AMP_DRIVER_API cuDeviceTotalMem_v2(size_t *bytes, cuda::Device device) {
  AMP_DRIVER_ENTER();
  if (!bytes || device != 0)
    return cuda::result::invalidValue;
  *bytes = driver.memory->getCapacity();
  return cuda::result::success;
}

AMP_DRIVER_API cuDeviceGetUuid_v2(cuda::Uuid *uuid, cuda::Device device) {
  AMP_DRIVER_ENTER();
  if (!uuid || device != 0)
    return cuda::result::invalidValue;
  std::memcpy(uuid->bytes, "amp-ptx-emulator", 16);
  return cuda::result::success;
}

AMP_DRIVER_API cuDevicePrimaryCtxRetain(cuda::Context *context,
                                        cuda::Device device) {
  AMP_DRIVER_ENTER();
  if (!context || device != 0)
    return cuda::result::invalidValue;
  ++driver.contextUses;
  *context = getPrimaryContext();
  return cuda::result::success;
}

AMP_DRIVER_API cuDevicePrimaryCtxRelease_v2(cuda::Device device) {
  AMP_DRIVER_ENTER();
  if (device != 0)
    return cuda::result::invalidValue;
  if (driver.contextUses == 0)
    return driver.fail(cuda::result::invalidContext,
                       "the primary context is not retained");
  if (--driver.contextUses == 0)
    driver.releaseContext();
  return cuda::result::success;
}

AMP_DRIVER_API cuCtxGetCurrent(cuda::Context *context) {
  AMP_DRIVER_ENTER();
  if (!context)
    return cuda::result::invalidValue;
  *context = driver.current;
  return cuda::result::success;
}

AMP_DRIVER_API cuCtxSetCurrent(cuda::Context context) {
  AMP_DRIVER_ENTER();
  if (context && context != getPrimaryContext())
    return driver.fail(cuda::result::invalidContext,
                       "the emulator has the primary context only");
  driver.current = context;
  return cuda::result::success;
}
