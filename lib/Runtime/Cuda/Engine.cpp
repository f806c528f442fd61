//===- Engine.cpp - Entries as CUDA graphs --------------------------------===//
// A step is: inputs to the device, one graph, the scalars back into a ring.
// Nothing of it waits for the device; reading a value does.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Engine.h"
#include "Kernels.h"
#include "Memory.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace amp::runtime;
using namespace amp::runtime::cuda;

/// Steps that may be under way at one time.
static constexpr size_t ringSize = 4;

namespace {

class StreamHandle {
public:
  explicit StreamHandle(const Driver &driver) : driver(driver) {
    driver.check(driver.cuStreamCreate(&stream, streamNonBlocking),
                 "making a stream");
  }
  ~StreamHandle() { driver.cuStreamDestroy_v2(stream); }
  StreamHandle(const StreamHandle &) = delete;
  StreamHandle &operator=(const StreamHandle &) = delete;
  Stream get() const { return stream; }

private:
  const Driver &driver;
  Stream stream = nullptr;
};

/// What one step under way needs for itself.
struct Slot {
  Slot(const Driver &driver, size_t inputBytes, size_t scalarBytes)
      : driver(driver), inputs(driver, inputBytes),
        scalars(driver, scalarBytes) {
    driver.check(driver.cuEventCreate(&done, eventDisableTiming),
                 "making an event");
  }
  ~Slot() { driver.cuEventDestroy_v2(done); }
  Slot(const Slot &) = delete;
  Slot &operator=(const Slot &) = delete;

  const Driver &driver;
  PinnedBlock inputs, scalars;
  Event done = nullptr;
};

class GraphHandle {
public:
  explicit GraphHandle(const Driver &driver) : driver(driver) {}
  ~GraphHandle() {
    if (exec)
      driver.cuGraphExecDestroy(exec);
    if (graph)
      driver.cuGraphDestroy(graph);
  }
  GraphHandle(const GraphHandle &) = delete;
  GraphHandle &operator=(const GraphHandle &) = delete;

  const Driver &driver;
  Graph graph = nullptr;
  GraphExec exec = nullptr;
};

class CudaEngine : public Engine {
public:
  CudaEngine(const Artifact &artifact, const amp_options &options);
  ~CudaEngine() override;

  void allocateState() override {}
  void prepare() override;
  const char *read(size_t id) override;
  void update(size_t id, const Change &change) override;
  void *getAddress(size_t id) const override {
    return reinterpret_cast<void *>(addresses[id]);
  }
  bool isOnHost() const override { return false; }
  void bind(size_t id, void *target) override;
  void run(size_t entry, const std::vector<void *> &memory) override;
  void setThreads(unsigned) override {}
  unsigned getThreads() const override { return 1; }
  std::string describe() const override;

private:
  const TensorInfo &getTensor(size_t id) const {
    return artifact.manifest.tensors[id];
  }
  const Manifest &getManifest() const { return artifact.manifest; }
  Stream getStream() const { return device->stream.get(); }
  size_t countInputBytes(const EntryInfo &entry) const;
  DevicePtr locate(const BufferInfo &buffer, const EntryInfo &entry) const;
  void buildGraph(size_t entry);
  void addKernel(const NodeInfo &node, const EntryInfo &entry, Graph graph,
                 const std::vector<GraphNode> &after, GraphNode &added);
  void addCopy(const NodeInfo &node, const EntryInfo &entry, Graph graph,
               const std::vector<GraphNode> &after, GraphNode &added);
  void launchOneByOne(const EntryInfo &entry);
  void launch(size_t entry);
  void copyInputs(const EntryInfo &entry, const std::vector<void *> &memory,
                  Slot &slot);
  void upload(size_t id, const char *value);
  void download(size_t id, char *value);
  void synchronize();
  const char *readScalar(size_t id);

  const Artifact &artifact;
  Driver driver;
  MemoryLayout layout;
  /// What belongs to the device's context, in the order it is made in.
  struct OnDevice {
    OnDevice(const Driver &driver, const MemoryLayout &layout,
             const Artifact &artifact)
        : stream(driver), kernels(driver, artifact),
          block(driver, layout, artifact.manifest, stream.get()) {}

    StreamHandle stream;
    Kernels kernels;
    DeviceBlock block;
    std::vector<std::unique_ptr<GraphHandle>> graphs;
    std::vector<std::unique_ptr<Slot>> ring;
  };
  std::unique_ptr<OnDevice> device;
  std::vector<DevicePtr> addresses;
  /// Steps launched, and the last of them whose scalars are at hand.
  size_t steps = 0;
  /// The scalars on the host: their bytes, and whether the device has newer
  /// ones.
  std::vector<char> scalars;
  bool isBehind = false;
  /// Tensors that have a value.
  std::vector<bool> hasValue;
  /// Values of other tensors that were read since the last step.
  std::map<size_t, std::vector<char>> mirrors;
  bool oneByOne = false;
};

} // namespace

static const char *getLibrary(const amp_options &options) {
  return options.cuda_driver ? options.cuda_driver : "";
}

CudaEngine::CudaEngine(const Artifact &artifact, const amp_options &options)
    : artifact(artifact), driver(getLibrary(options)),
      layout(artifact.manifest) {
  ContextScope current(driver);
  device = std::make_unique<OnDevice>(driver, layout, artifact);
  for (size_t offset : layout.offsets)
    addresses.push_back(device->block.get() + offset);
  device->graphs.resize(getManifest().entries.size());
  scalars.resize(layout.scalarBytes);
  for (const TensorInfo &tensor : getManifest().tensors)
    hasValue.push_back(isState(tensor.role));
  const char *mode = std::getenv("AMP_CUDA_LAUNCH");
  oneByOne = mode && std::strcmp(mode, "kernels") == 0;
}

CudaEngine::~CudaEngine() {
  // After a failure there may be no way to make it current.
  driver.cuCtxSetCurrent(driver.getContext());
  driver.cuStreamSynchronize(getStream());
  device.reset();
  driver.cuCtxSetCurrent(nullptr);
}

std::string CudaEngine::describe() const {
  return driver.getDeviceName() + " (CUDA, compute capability " +
         std::to_string(driver.getCapability() / 10) + "." +
         std::to_string(driver.getCapability() % 10) + ")";
}

size_t CudaEngine::countInputBytes(const EntryInfo &entry) const {
  size_t bytes = 0;
  for (size_t id : entry.tensors)
    if (isFed(getTensor(id).role))
      bytes += getTensor(id).bytes;
  return bytes;
}

void CudaEngine::prepare() {
  ContextScope current(driver);
  size_t most = 0;
  for (const EntryInfo &entry : getManifest().entries)
    most = std::max(most, countInputBytes(entry));
  for (size_t i = 0; i < ringSize; ++i)
    device->ring.push_back(
        std::make_unique<Slot>(driver, most, layout.scalarBytes));
  synchronize();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void CudaEngine::synchronize() {
  driver.check(driver.cuStreamSynchronize(getStream()), "running a step");
}

void CudaEngine::upload(size_t id, const char *value) {
  if (getTensor(id).bytes == 0)
    return;
  driver.check(driver.cuMemcpyHtoDAsync_v2(addresses[id], value,
                                           getTensor(id).bytes, getStream()),
               "copying " + quote(getTensor(id).name) + " to the device");
  // The source is the caller's.
  synchronize();
}

void CudaEngine::download(size_t id, char *value) {
  if (getTensor(id).bytes == 0)
    return;
  driver.check(driver.cuMemcpyDtoHAsync_v2(value, addresses[id],
                                           getTensor(id).bytes, getStream()),
               "copying " + quote(getTensor(id).name) + " from the device");
  synchronize();
}

/// From the copy that the last step has left in the ring.
const char *CudaEngine::readScalar(size_t id) {
  if (isBehind) {
    Slot &slot = *device->ring[(steps - 1) % ringSize];
    driver.check(driver.cuEventSynchronize(slot.done), "running a step");
    for (size_t other = 0; other < layout.offsets.size(); ++other) {
      const TensorInfo &tensor = getTensor(other);
      // Hyper-parameters are the host's, and may have changed since.
      if (tensor.isScalar() && tensor.role != Role::Hyper)
        std::memcpy(scalars.data() + layout.offsets[other],
                    slot.scalars.get() + layout.offsets[other], tensor.bytes);
    }
    isBehind = false;
  }
  return scalars.data() + layout.offsets[id];
}

const char *CudaEngine::read(size_t id) {
  if (!hasValue[id])
    return nullptr;
  ContextScope current(driver);
  if (getTensor(id).isScalar())
    return readScalar(id);
  auto [mirror, isNew] = mirrors.try_emplace(id);
  if (isNew) {
    // At least one byte, so that there is an address.
    mirror->second.resize(std::max<size_t>(getTensor(id).bytes, 1));
    download(id, mirror->second.data());
  }
  return mirror->second.data();
}

void CudaEngine::update(size_t id, const Change &change) {
  ContextScope current(driver);
  const TensorInfo &tensor = getTensor(id);
  if (!tensor.isScalar()) {
    std::vector<char> value(tensor.bytes);
    download(id, value.data());
    change(value.data());
    upload(id, value.data());
    mirrors.erase(id);
    return;
  }
  char *value = scalars.data() + layout.offsets[id];
  std::vector<char> before(value, value + tensor.bytes);
  // A hyper-parameter is the host's: no need to wait for the last step.
  if (tensor.role != Role::Hyper)
    std::memcpy(before.data(), readScalar(id), tensor.bytes);
  change(value);
  if (std::memcmp(before.data(), value, tensor.bytes) != 0)
    upload(id, value);
}

void CudaEngine::bind(size_t id, void *target) {
  ContextScope current(driver);
  const TensorInfo &tensor = getTensor(id);
  DevicePtr next = target ? reinterpret_cast<DevicePtr>(target)
                          : device->block.get() + layout.offsets[id];
  if (tensor.isScalar())
    fail(AMP_UNSUPPORTED, quote(tensor.name) +
                              " has rank 0: on CUDA those cannot be moved; "
                              "read and write it instead");
  if (next % tensorAlignment != 0)
    fail(AMP_INVALID_ARGUMENT, "device memory for " + quote(tensor.name) +
                                   " is not aligned to " +
                                   std::to_string(tensorAlignment) + " bytes");
  if (next == addresses[id])
    return;
  driver.check(driver.cuMemcpyDtoDAsync_v2(next, addresses[id], tensor.bytes,
                                           getStream()),
               "moving " + quote(tensor.name));
  synchronize();
  addresses[id] = next;
  // Graphs have addresses in them.
  for (std::unique_ptr<GraphHandle> &graph : device->graphs)
    graph.reset();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

DevicePtr CudaEngine::locate(const BufferInfo &buffer,
                             const EntryInfo &entry) const {
  return buffer.inArena ? device->block.get() + layout.arena + buffer.number
                        : addresses[entry.tensors[buffer.number]];
}

void CudaEngine::addKernel(const NodeInfo &node, const EntryInfo &entry,
                           Graph graph, const std::vector<GraphNode> &after,
                           GraphNode &added) {
  std::vector<DevicePtr> values;
  for (const BufferInfo &buffer : node.buffers)
    values.push_back(locate(buffer, entry));
  std::vector<void *> parameters;
  for (DevicePtr &value : values)
    parameters.push_back(&value);
  KernelNodeParams params = {};
  params.function = device->kernels.get(*node.kernel);
  std::copy(node.grid.begin(), node.grid.end(), params.grid);
  std::copy(node.block.begin(), node.block.end(), params.block);
  params.sharedBytes = node.sharedBytes;
  params.parameters = parameters.data();
  device->kernels.allowShared(*node.kernel, node.sharedBytes);
  driver.check(driver.cuGraphAddKernelNode_v2(&added, graph, after.data(),
                                              after.size(), &params),
               "adding " + getManifest().kernels[*node.kernel].name +
                   " to the graph of " + entry.name);
}

void CudaEngine::addCopy(const NodeInfo &node, const EntryInfo &entry,
                         Graph graph, const std::vector<GraphNode> &after,
                         GraphNode &added) {
  CopyParams params = {};
  params.source.memoryType = params.target.memoryType = memoryDevice;
  params.source.device = locate(node.buffers[0], entry);
  params.target.device = locate(node.buffers[1], entry);
  params.widthBytes = node.bytes;
  params.height = params.depth = 1;
  driver.check(driver.cuGraphAddMemcpyNode(&added, graph, after.data(),
                                           after.size(), &params,
                                           driver.getContext()),
               "adding a copy to the graph of " + entry.name);
}

void CudaEngine::buildGraph(size_t number) {
  const EntryInfo &entry = getManifest().entries[number];
  auto handle = std::make_unique<GraphHandle>(driver);
  driver.check(driver.cuGraphCreate(&handle->graph, 0), "making a graph");
  std::vector<GraphNode> nodes;
  for (const NodeInfo &node : entry.nodes) {
    std::vector<GraphNode> after;
    for (size_t other : node.after)
      after.push_back(nodes[other]);
    GraphNode &added = nodes.emplace_back();
    if (node.kernel)
      addKernel(node, entry, handle->graph, after, added);
    else
      addCopy(node, entry, handle->graph, after, added);
  }
  GraphInstantiateParams params = {};
  driver.check(driver.cuGraphInstantiateWithParams(&handle->exec, handle->graph,
                                                   &params),
               "instantiating the graph of " + entry.name);
  driver.check(driver.cuGraphUpload(handle->exec, getStream()),
               "uploading the graph of " + entry.name);
  device->graphs[number] = std::move(handle);
}

/// In order and each waited for, so that an error has the kernel's name.
void CudaEngine::launchOneByOne(const EntryInfo &entry) {
  for (const NodeInfo &node : entry.nodes) {
    if (!node.kernel) {
      driver.check(driver.cuMemcpyDtoDAsync_v2(locate(node.buffers[1], entry),
                                               locate(node.buffers[0], entry),
                                               node.bytes, getStream()),
                   "a copy in " + entry.name);
      continue;
    }
    std::vector<DevicePtr> values;
    for (const BufferInfo &buffer : node.buffers)
      values.push_back(locate(buffer, entry));
    std::vector<void *> parameters;
    for (DevicePtr &value : values)
      parameters.push_back(&value);
    LaunchConfig config = {};
    std::copy(node.grid.begin(), node.grid.end(), config.grid);
    std::copy(node.block.begin(), node.block.end(), config.block);
    config.sharedBytes = node.sharedBytes;
    config.stream = getStream();
    device->kernels.allowShared(*node.kernel, node.sharedBytes);
    std::string what = "the kernel " +
                       getManifest().kernels[*node.kernel].name + " of " +
                       entry.name;
    driver.check(driver.cuLaunchKernelEx(&config,
                                         device->kernels.get(*node.kernel),
                                         parameters.data(), nullptr),
                 what);
    driver.check(driver.cuStreamSynchronize(getStream()), what);
  }
}

void CudaEngine::launch(size_t number) {
  const EntryInfo &entry = getManifest().entries[number];
  if (oneByOne)
    return launchOneByOne(entry);
  if (entry.nodes.empty())
    return;
  if (!device->graphs[number])
    buildGraph(number);
  driver.check(driver.cuGraphLaunch(device->graphs[number]->exec, getStream()),
               "launching " + entry.name);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// By way of pinned memory: the caller's is free when this returns, and nobody
/// waits for the device.
void CudaEngine::copyInputs(const EntryInfo &entry,
                            const std::vector<void *> &memory, Slot &slot) {
  char *staged = slot.inputs.get();
  for (size_t i = 0; i < memory.size(); ++i) {
    size_t id = entry.tensors[i], bytes = getTensor(id).bytes;
    if (!isFed(getTensor(id).role) || bytes == 0)
      continue;
    std::memcpy(staged, memory[i], bytes);
    driver.check(
        driver.cuMemcpyHtoDAsync_v2(addresses[id], staged, bytes, getStream()),
        "copying input " + quote(getTensor(id).name));
    hasValue[id] = true;
    staged += bytes;
  }
}

void CudaEngine::run(size_t number, const std::vector<void *> &memory) {
  ContextScope current(driver);
  const EntryInfo &entry = getManifest().entries[number];
  Slot &slot = *device->ring[steps % ringSize];
  if (steps >= ringSize)
    driver.check(driver.cuEventSynchronize(slot.done), "running a step");
  copyInputs(entry, memory, slot);
  launch(number);
  if (layout.scalarBytes)
    driver.check(driver.cuMemcpyDtoHAsync_v2(slot.scalars.get(),
                                             device->block.get(),
                                             layout.scalarBytes, getStream()),
                 "copying statistics");
  driver.check(driver.cuEventRecord(slot.done, getStream()),
               "recording an event");
  ++steps;
  isBehind = true;
  mirrors.clear();
  for (size_t i = 0; i < memory.size(); ++i) {
    size_t id = entry.tensors[i];
    hasValue[id] = true;
    if (memory[i] && !isFed(getTensor(id).role))
      download(id, static_cast<char *>(memory[i]));
  }
}

std::unique_ptr<Engine>
amp::runtime::createCudaEngine(const Artifact &artifact,
                               const amp_options &options) {
  return std::make_unique<CudaEngine>(artifact, options);
}
