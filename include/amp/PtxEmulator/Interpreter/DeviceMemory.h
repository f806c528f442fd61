//===- DeviceMemory.h - What kernels may touch ------------------*- C++ -*-===//
// Allocations of the emulated device with one byte of state per byte.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_INTERPRETER_DEVICEMEMORY_H
#define AMP_PTXEMULATOR_INTERPRETER_DEVICEMEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace amp::ptx {

/// Bytes from `begin` to `end`. `initialised` holds 1 for each byte that was
/// written, or is null where every byte counts as written (host memory).
struct MemoryRange {
  uint64_t begin, end;
  uint8_t *initialised;
};

/// Device addresses are host addresses. Thread-safe.
class DeviceMemory {
public:
  explicit DeviceMemory(uint64_t capacity = uint64_t(16) << 30)
      : capacity(capacity) {}
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;

  /// Bytes aligned to 256 that hold 0xff (NaN in every float format) and count
  /// as uninitialised; 0 if they exceed what is free.
  uint64_t allocate(uint64_t bytes);
  /// Frees what `allocate` gave; false for any other address.
  bool release(uint64_t address);
  /// Lets kernels touch host memory, which counts as initialised.
  void addHostRange(const void *begin, uint64_t bytes);
  bool removeHostRange(const void *begin);

  /// Whether [address, address + bytes) lies in one range.
  bool contains(uint64_t address, uint64_t bytes) const;
  /// Writes of the host: the bytes count as initialised. False if they are not
  /// all in one range.
  bool markInitialised(uint64_t address, uint64_t bytes);
  /// The state of each byte follows a copy of the device.
  void copyState(uint64_t to, uint64_t from, uint64_t bytes);

  uint64_t getCapacity() const { return capacity; }
  uint64_t getUsed() const;
  /// All ranges, by address.
  std::vector<MemoryRange> getRanges() const;

private:
  struct Block {
    uint64_t bytes;
    std::unique_ptr<uint8_t[]> initialised;
  };
  std::map<uint64_t, Block>::iterator find(uint64_t address, uint64_t bytes);

  mutable std::mutex mutex;
  std::map<uint64_t, Block> blocks;
  uint64_t capacity, used = 0;
};

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_INTERPRETER_DEVICEMEMORY_H
