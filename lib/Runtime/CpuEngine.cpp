//===- CpuEngine.cpp - Entries as functions of a library ------------------===//
// Tensors are blocks of host memory, or memory of the caller.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Engine.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Memory.h"
#include "amp/Runtime/ThreadPool.h"
#include <algorithm>
#include <cstring>

using namespace amp::runtime;

namespace {
class CpuEngine : public Engine {
public:
  CpuEngine(const Artifact &artifact, const amp_options &options);

  void allocateState() override;
  void prepare() override;
  const char *read(size_t id) override { return memory[id]; }
  void update(size_t id, const Change &change) override { change(memory[id]); }
  void *getAddress(size_t id) const override { return memory[id]; }
  bool isOnHost() const override { return true; }
  void bind(size_t id, void *target) override;
  void run(size_t entry, const std::vector<void *> &given) override;
  void setThreads(unsigned threads) override {
    pool.reset(new ThreadPool(threads));
  }
  unsigned getThreads() const override { return pool->size(); }
  std::string describe() const override { return artifact.manifest.cpu; }

private:
  const TensorInfo &getTensor(size_t id) const {
    return artifact.manifest.tensors[id];
  }
  char *getOwn(size_t id);

  const Artifact &artifact;
  const amp_options &options;
  Code code;
  /// By number of the entry.
  std::vector<amp_entry> functions;
  std::vector<Block> blocks;
  /// Where each tensor is: a block, or the caller's memory.
  std::vector<char *> memory;
  Block workspace;
  std::unique_ptr<ThreadPool> pool;
};
} // namespace

CpuEngine::CpuEngine(const Artifact &artifact, const amp_options &options)
    : artifact(artifact), options(options) {
  artifact.loadCode(code);
  for (const EntryInfo &info : artifact.manifest.entries)
    functions.push_back(code.find(info));
  size_t count = artifact.manifest.tensors.size();
  blocks.resize(count);
  memory.resize(count, nullptr);
}

void CpuEngine::allocateState() {
  size_t total = 0;
  for (size_t id = 0; id < memory.size(); ++id) {
    if (!isState(getTensor(id).role))
      continue;
    total += std::min(getTensor(id).bytes, SIZE_MAX - total);
    if (!options.allocate && exceedsMachine(total))
      fail(AMP_OUT_OF_MEMORY,
           "there is no memory for tensor " + quote(getTensor(id).name) +
               " and those before it (" + std::to_string(total) + " bytes)");
    getOwn(id);
  }
}

/// The workspace comes when the initial values are no longer mapped.
void CpuEngine::prepare() {
  size_t most = 0;
  for (const EntryInfo &entry : artifact.manifest.entries)
    most = std::max(most, entry.workspace);
  workspace = Block(most, options, "the workspace");
}

/// The tensor's block, made when it is first needed.
char *CpuEngine::getOwn(size_t id) {
  if (memory[id])
    return memory[id];
  const TensorInfo &tensor = getTensor(id);
  blocks[id] = Block(tensor.bytes, options, "tensor " + quote(tensor.name));
  return memory[id] = blocks[id].get();
}

void CpuEngine::bind(size_t id, void *target) {
  const TensorInfo &tensor = getTensor(id);
  Block own;
  if (!target && memory[id] != blocks[id].get())
    own = Block(tensor.bytes, options, "tensor " + quote(tensor.name));
  char *next = target      ? static_cast<char *>(target)
               : own.get() ? own.get()
                           : memory[id];
  if (next != memory[id])
    std::memmove(next, memory[id], tensor.bytes);
  if (next != memory[id])
    blocks[id] = std::move(own);
  memory[id] = next;
}

/// Whether code can use memory of the caller's for a tensor where it lies: what
/// it loads and stores there is aligned as elements are.
static bool isUsable(const void *data, const TensorInfo &tensor) {
  return data && reinterpret_cast<uintptr_t>(data) % getSize(tensor.dtype) == 0;
}

void CpuEngine::run(size_t number, const std::vector<void *> &given) {
  const EntryInfo &entry = artifact.manifest.entries[number];
  std::vector<void *> tensors(given);
  std::vector<size_t> copied;
  for (size_t slot = 0; slot < given.size(); ++slot) {
    const TensorInfo &tensor = getTensor(entry.tensors[slot]);
    bool isInput = isFed(tensor.role);
    // Scalars stay here too: statistics are read from them.
    if (isUsable(given[slot], tensor) && (isInput || !tensor.isScalar()))
      continue;
    tensors[slot] = getOwn(entry.tensors[slot]);
    if (isInput && tensor.bytes)
      std::memcpy(tensors[slot], given[slot], tensor.bytes);
    else if (given[slot])
      copied.push_back(slot);
  }
  amp_host host = {AMP_HOST_ABI, pool->size(), &ThreadPool::call, pool.get()};
  int32_t result = functions[number](tensors.data(), workspace.get(), &host);
  if (result != 0)
    fail(AMP_FAILED, "entry " + quote(entry.name) + " failed with code " +
                         std::to_string(result));
  for (size_t slot : copied)
    if (size_t bytes = getTensor(entry.tensors[slot]).bytes)
      std::memcpy(given[slot], tensors[slot], bytes);
}

std::unique_ptr<Engine>
amp::runtime::createCpuEngine(const Artifact &artifact,
                              const amp_options &options) {
  return std::make_unique<CpuEngine>(artifact, options);
}
