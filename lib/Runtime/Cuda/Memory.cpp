//===- Memory.cpp - Memory of a CUDA device -------------------------------===//
// Lays out, allocates, and says what took the memory when there is too little.
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include <algorithm>
#include <cstdio>

using namespace amp::runtime;
using namespace amp::runtime::cuda;

MemoryLayout::MemoryLayout(const Manifest &manifest) {
  offsets.resize(manifest.tensors.size());
  auto place = [&](bool scalars, size_t alignment) {
    for (size_t id = 0; id < manifest.tensors.size(); ++id) {
      const TensorInfo &tensor = manifest.tensors[id];
      if (tensor.isScalar() != scalars)
        continue;
      offsets[id] = total;
      total += (tensor.bytes + alignment - 1) / alignment * alignment;
    }
  };
  place(/*scalars=*/true, scalarAlignment);
  scalarBytes = total;
  total = (total + tensorAlignment - 1) / tensorAlignment * tensorAlignment;
  place(/*scalars=*/false, tensorAlignment);
  arena = total;
  size_t most = 0;
  for (const EntryInfo &entry : manifest.entries)
    most = std::max(most, entry.workspace);
  total += most;
}

static std::string printMiB(size_t bytes) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.1f MiB",
                static_cast<double>(bytes) / (1 << 20));
  return text;
}

/// What the memory is for: by role of the tensors, and the arena by entry.
static std::string describeUse(const Manifest &manifest) {
  std::map<std::string, size_t> byRole;
  for (const TensorInfo &tensor : manifest.tensors)
    byRole[getName(tensor.role)] += tensor.bytes;
  std::string text;
  auto add = [&](const std::string &what, size_t bytes) {
    if (bytes >= 1 << 16)
      text += (text.empty() ? "" : ", ") + what + " " + printMiB(bytes);
  };
  for (const auto &[role, bytes] : byRole)
    add(role, bytes);
  for (const EntryInfo &entry : manifest.entries)
    add("arena of " + entry.name, entry.workspace);
  return text;
}

DeviceBlock::DeviceBlock(const Driver &driver, const MemoryLayout &layout,
                         const Manifest &manifest, Stream stream)
    : driver(driver) {
  size_t bytes = std::max<size_t>(layout.total, tensorAlignment);
  Result code = driver.cuMemAlloc_v2(&data, bytes);
  if (code == result::outOfMemory) {
    size_t free = 0, total = 0;
    driver.cuMemGetInfo_v2(&free, &total);
    fail(AMP_OUT_OF_MEMORY,
         "the artifact needs " + printMiB(bytes) + " on " +
             driver.getDeviceName() + ", which has " + printMiB(free) +
             " free of " + printMiB(total) + " (" + describeUse(manifest) +
             "; entries share the largest arena): use a smaller batch, or "
             "accumulate (train.json), or end what else uses the GPU");
  }
  driver.check(code, "allocating " + printMiB(bytes));
  code = driver.cuMemsetD8Async(data, 0, bytes, stream);
  if (code == result::success)
    return;
  driver.cuMemFree_v2(data);
  driver.reject(code, "clearing memory");
}

DeviceBlock::~DeviceBlock() { driver.cuMemFree_v2(data); }

PinnedBlock::PinnedBlock(const Driver &driver, size_t bytes) : driver(driver) {
  void *memory = nullptr;
  driver.check(driver.cuMemHostAlloc(&memory, std::max<size_t>(bytes, 1), 0),
               "allocating " + printMiB(bytes) + " of pinned host memory");
  data = static_cast<char *>(memory);
}

PinnedBlock::~PinnedBlock() { driver.cuMemFreeHost(data); }
