//===- DeviceMemory.cpp - What kernels may touch --------------------------===//
// A map of ranges by address, each with the state of its bytes.
//===----------------------------------------------------------------------===//

#include "amp/PtxEmulator/Interpreter/DeviceMemory.h"
#include <cstdlib>
#include <cstring>

using namespace amp::ptx;

static constexpr uint64_t alignment = 256;

DeviceMemory::~DeviceMemory() {
  for (auto &[address, block] : blocks)
    if (block.initialised)
      std::free(reinterpret_cast<void *>(address));
}

uint64_t DeviceMemory::allocate(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > capacity - used)
    return 0;
  uint64_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!memory)
    return 0;
  std::memset(memory, 0xff, rounded);
  uint64_t address = reinterpret_cast<uint64_t>(memory);
  blocks[address] = {bytes, std::make_unique<uint8_t[]>(bytes)};
  used += bytes;
  return address;
}

bool DeviceMemory::release(uint64_t address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = blocks.find(address);
  if (it == blocks.end() || !it->second.initialised)
    return false;
  used -= it->second.bytes;
  blocks.erase(it);
  std::free(reinterpret_cast<void *>(address));
  return true;
}

void DeviceMemory::addHostRange(const void *begin, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  blocks[reinterpret_cast<uint64_t>(begin)] = {bytes, nullptr};
}

bool DeviceMemory::removeHostRange(const void *begin) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = blocks.find(reinterpret_cast<uint64_t>(begin));
  if (it == blocks.end() || it->second.initialised)
    return false;
  blocks.erase(it);
  return true;
}

std::map<uint64_t, DeviceMemory::Block>::iterator
DeviceMemory::find(uint64_t address, uint64_t bytes) {
  auto it = blocks.upper_bound(address);
  if (it == blocks.begin())
    return blocks.end();
  --it;
  uint64_t offset = address - it->first;
  if (offset > it->second.bytes || bytes > it->second.bytes - offset)
    return blocks.end();
  return it;
}

bool DeviceMemory::contains(uint64_t address, uint64_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto *self = const_cast<DeviceMemory *>(this);
  return self->find(address, bytes) != self->blocks.end();
}

bool DeviceMemory::markInitialised(uint64_t address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = find(address, bytes);
  if (it == blocks.end())
    return false;
  if (it->second.initialised)
    std::memset(it->second.initialised.get() + (address - it->first), 1, bytes);
  return true;
}

void DeviceMemory::copyState(uint64_t to, uint64_t from, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto target = find(to, bytes), source = find(from, bytes);
  if (target == blocks.end() || source == blocks.end() ||
      !target->second.initialised)
    return;
  uint8_t *state = target->second.initialised.get() + (to - target->first);
  if (source->second.initialised)
    std::memmove(state,
                 source->second.initialised.get() + (from - source->first),
                 bytes);
  else
    std::memset(state, 1, bytes);
}

uint64_t DeviceMemory::getUsed() const {
  std::lock_guard<std::mutex> lock(mutex);
  return used;
}

std::vector<MemoryRange> DeviceMemory::getRanges() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<MemoryRange> ranges;
  for (const auto &[address, block] : blocks)
    ranges.push_back({address, address + block.bytes, block.initialised.get()});
  return ranges;
}
