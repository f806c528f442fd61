//===- MemoryCalls.cpp - Allocations and copies ---------------------------===//
// Device memory is memory of the process, filled with NaN and watched.
//===----------------------------------------------------------------------===//

#include "State.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace amp;
using namespace amp::ptx;

AMP_DRIVER_API cuMemAlloc_v2(cuda::DevicePtr *memory, size_t bytes) {
  AMP_DRIVER_ENTER();
  if (!memory || bytes == 0)
    return cuda::result::invalidValue;
  uint64_t address = driver.memory->allocate(bytes);
  if (!address)
    return driver.fail(cuda::result::outOfMemory,
                       std::to_string(bytes) + " bytes asked for, " +
                           std::to_string(driver.memory->getCapacity() -
                                          driver.memory->getUsed()) +
                           " are free (AMP_EMULATOR_MEMORY_MB)");
  *memory = address;
  return cuda::result::success;
}

AMP_DRIVER_API cuMemFree_v2(cuda::DevicePtr memory) {
  AMP_DRIVER_ENTER();
  if (!memory || driver.memory->release(memory))
    return cuda::result::success;
  return driver.fail(cuda::result::invalidValue,
                     "the address was not allocated");
}

AMP_DRIVER_API cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  (void)flags;
  AMP_DRIVER_ENTER();
  if (!memory || bytes == 0)
    return cuda::result::invalidValue;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*memory)
    return cuda::result::outOfMemory;
  driver.hostBlocks.insert(*memory);
  driver.memory->addHostRange(*memory, bytes);
  return cuda::result::success;
}

AMP_DRIVER_API cuMemFreeHost(void *memory) {
  AMP_DRIVER_ENTER();
  if (!driver.hostBlocks.erase(memory))
    return cuda::result::invalidValue;
  driver.memory->removeHostRange(memory);
  std::free(memory);
  return cuda::result::success;
}

AMP_DRIVER_API cuMemGetInfo_v2(size_t *free, size_t *total) {
  AMP_DRIVER_ENTER();
  if (!free || !total)
    return cuda::result::invalidValue;
  *total = driver.memory->getCapacity();
  *free = *total - driver.memory->getUsed();
  return cuda::result::success;
}

static std::string describeRange(uint64_t address, size_t bytes) {
  char text[80];
  std::snprintf(text, sizeof(text), "%zu bytes at 0x%llx", bytes,
                static_cast<unsigned long long>(address));
  return text;
}

cuda::Result amp::ptx::copyMemory(uint64_t to, bool toDevice, uint64_t from,
                                  bool fromDevice, size_t bytes) {
  Driver &driver = Driver::get();
  if (driver.sticky)
    return driver.sticky;
  if (bytes == 0)
    return cuda::result::success;
  for (auto [address, isDevice] :
       {std::pair{to, toDevice}, std::pair{from, fromDevice}})
    if (!address || (isDevice && !driver.memory->contains(address, bytes)))
      return driver.fail(cuda::result::invalidValue,
                         "a copy touches " + describeRange(address, bytes) +
                             ", which is not in one allocation");
  std::memmove(reinterpret_cast<void *>(to),
               reinterpret_cast<const void *>(from), bytes);
  if (toDevice && fromDevice)
    driver.memory->copyState(to, from, bytes);
  else if (toDevice)
    driver.memory->markInitialised(to, bytes);
  return cuda::result::success;
}

cuda::Result amp::ptx::fillMemory(uint64_t to, unsigned value,
                                  unsigned elementBytes, size_t count) {
  Driver &driver = Driver::get();
  if (driver.sticky)
    return driver.sticky;
  if (count > SIZE_MAX / 4 ||
      !driver.memory->markInitialised(to, count * elementBytes))
    return driver.fail(cuda::result::invalidValue,
                       "a fill touches " +
                           describeRange(to, count * elementBytes) +
                           ", which is not in one allocation");
  uint8_t *memory = reinterpret_cast<uint8_t *>(to);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(memory + i * elementBytes, &value, elementBytes);
  return cuda::result::success;
}

static cuda::Result enqueueCopy(cuda::Stream stream, uint64_t to, bool toDevice,
                                uint64_t from, bool fromDevice, size_t bytes) {
  return enqueue(stream, [=] {
    return copyMemory(to, toDevice, from, fromDevice, bytes);
  });
}

AMP_DRIVER_API cuMemcpyHtoDAsync_v2(cuda::DevicePtr target, const void *source,
                                    size_t bytes, cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  return enqueueCopy(stream, target, true, reinterpret_cast<uint64_t>(source),
                     false, bytes);
}

AMP_DRIVER_API cuMemcpyDtoHAsync_v2(void *target, cuda::DevicePtr source,
                                    size_t bytes, cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  return enqueueCopy(stream, reinterpret_cast<uint64_t>(target), false, source,
                     true, bytes);
}

AMP_DRIVER_API cuMemcpyDtoDAsync_v2(cuda::DevicePtr target,
                                    cuda::DevicePtr source, size_t bytes,
                                    cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  return enqueueCopy(stream, target, true, source, true, bytes);
}

AMP_DRIVER_API cuMemsetD8Async(cuda::DevicePtr target, unsigned char value,
                               size_t bytes, cuda::Stream stream) {
  AMP_DRIVER_ENTER();
  return enqueue(stream, [=] { return fillMemory(target, value, 1, bytes); });
}
