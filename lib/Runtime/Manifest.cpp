//===- Manifest.cpp - What an artifact says about itself ------------------===//
// Reads manifest.json; every field is checked and named when it is wrong.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Manifest.h"
#include "amp-c/amp_host.h"
#include "amp/Runtime/Failure.h"
#include <set>

using namespace amp::runtime;

static const char *const fileName = "manifest.json";
static constexpr int64_t largest = int64_t(1) << 62;
static constexpr size_t maxRank = 64;

static constexpr const char *roleNames[] = {
    "input",        "label",    "parameter", "buffer",   "optimizer_state",
    "scaler_state", "counter",  "hyper",     "constant", "loss",
    "output",       "gradient", "metric"};

const char *amp::runtime::getName(Role role) {
  return roleNames[static_cast<int>(role)];
}

bool amp::runtime::isState(Role role) {
  return role >= Role::Parameter && role <= Role::Constant;
}

static Role readRole(const JsonCursor &cursor) {
  std::string text = cursor.getString();
  for (size_t i = 0; i < std::size(roleNames); ++i)
    if (text == roleNames[i])
      return static_cast<Role>(i);
  cursor.reject("there is no role " + quote(text));
}

static DType readDType(const JsonCursor &cursor) {
  std::string text = cursor.getString();
  if (std::optional<DType> type = parseDType(text))
    return *type;
  cursor.reject("there is no element type " + quote(text) +
                "; expected f32, f16, bf16, f64, i64, i32, i8, u8 or i1");
}

/// A file of the artifact: no path leads out of it.
static std::string readFileName(const JsonCursor &cursor) {
  std::string text = cursor.getString();
  if (text.empty() || text[0] == '.' || text.find('/') != std::string::npos ||
      text.find('\0') != std::string::npos)
    cursor.reject(quote(text) + " is no name of a file in the artifact");
  return text;
}

static std::string readName(const JsonCursor &cursor) {
  std::string text = cursor.getString();
  if (text.empty())
    cursor.reject("a name must not be empty");
  if (text.find('\0') != std::string::npos)
    cursor.reject("a name must not contain a zero byte");
  return text;
}

static void readInit(const JsonCursor &cursor, TensorInfo &tensor) {
  if (cursor.raw().is_string()) {
    tensor.initKey = readName(cursor);
    return;
  }
  tensor.initValue = cursor.get("value").getNumber();
}

static IndexBounds readIndices(const JsonCursor &cursor, const Shape &shape) {
  IndexBounds bounds;
  bounds.node = cursor.get("node").getString();
  bounds.low = cursor.get("low").getInteger(INT64_MIN, INT64_MAX);
  bounds.high = cursor.get("high").getInteger(INT64_MIN, INT64_MAX);
  if (cursor.has("ignored"))
    bounds.ignored = cursor.get("ignored").getInteger(INT64_MIN, INT64_MAX);
  JsonCursor begin = cursor.get("begin"), end = cursor.get("end");
  for (const JsonCursor *list : {&begin, &end})
    if (list->getArray().size() != shape.size())
      list->reject("expected a number for each dimension");
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    bounds.begin.push_back(begin.at(axis).getInteger(0, shape[axis]));
    bounds.end.push_back(
        end.at(axis).getInteger(bounds.begin.back(), shape[axis]));
  }
  return bounds;
}

static TensorInfo readTensor(const JsonCursor &cursor) {
  TensorInfo tensor;
  tensor.name = readName(cursor.get("name"));
  tensor.role = readRole(cursor.get("role"));
  tensor.dtype = readDType(cursor.get("dtype"));
  JsonCursor shape = cursor.get("shape");
  shape.getArray();
  if (shape.size() > maxRank)
    shape.reject("has more than " + std::to_string(maxRank) + " dimensions");
  for (size_t i = 0; i < shape.size(); ++i)
    tensor.shape.push_back(shape.at(i).getInteger(0, largest));
  std::optional<size_t> bytes = getByteSize(tensor.dtype, tensor.shape);
  if (!bytes)
    shape.reject(quote(tensor.name) + " is larger than memory can be");
  tensor.bytes = *bytes;
  tensor.strides = getStrides(tensor.shape);
  if (cursor.has("of"))
    tensor.of = cursor.get("of").getString();
  if (cursor.has("indices")) {
    JsonCursor indices = cursor.get("indices");
    indices.getArray();
    if (tensor.dtype != DType::I64 && tensor.dtype != DType::I32)
      indices.reject(quote(tensor.name) + " holds no indices: it is " +
                     tensor.describe());
    for (size_t i = 0; i < indices.size(); ++i)
      tensor.indices.push_back(readIndices(indices.at(i), tensor.shape));
  }
  if (isState(tensor.role))
    readInit(cursor.get("init"), tensor);
  else if (cursor.has("init") && !cursor.raw().at("init").is_null())
    cursor.get("init").reject(quote(tensor.name) + " is no state (role " +
                              getName(tensor.role) + ")");
  if (tensor.role == Role::Hyper &&
      (tensor.dtype != DType::F32 || !tensor.isScalar()))
    shape.reject("hyper-parameter " + quote(tensor.name) +
                 " is to be f32[], but is " + tensor.describe());
  return tensor;
}

/// A file of a kernel: in the artifact's folder of kernels.
static std::string readKernelFile(const JsonCursor &cursor) {
  constexpr std::string_view folder = "kernels/";
  std::string text = cursor.getString();
  std::string_view name = text;
  if (name.substr(0, folder.size()) == folder)
    name.remove_prefix(folder.size());
  else
    name = "";
  if (name.empty() || name[0] == '.' ||
      name.find('/') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos)
    cursor.reject(quote(text) + " is no file in the artifact's " +
                  std::string(folder));
  return text;
}

/// A C identifier, as dlsym will look for it.
static std::string readSymbol(const JsonCursor &cursor) {
  std::string text = readName(cursor);
  for (char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      cursor.reject(quote(text) + " is no symbol");
  return text;
}

static KernelInfo readKernel(const JsonCursor &cursor) {
  KernelInfo kernel;
  kernel.name = readSymbol(cursor.get("name"));
  kernel.ptx = readKernelFile(cursor.get("ptx"));
  JsonCursor binaries = cursor.get("binaries");
  binaries.getArray();
  for (size_t i = 0; i < binaries.size(); ++i)
    kernel.binaries.push_back({readName(binaries.at(i).get("chip")),
                               readKernelFile(binaries.at(i).get("file"))});
  return kernel;
}

static size_t readSize(const JsonCursor &cursor, int64_t most) {
  return static_cast<size_t>(cursor.getInteger(0, most));
}

/// Three numbers of blocks or threads.
static std::array<uint32_t, 3> readExtent(const JsonCursor &cursor,
                                          int64_t most) {
  cursor.getArray();
  std::array<uint32_t, 3> extent{};
  if (cursor.size() != extent.size())
    cursor.reject("expected three numbers");
  for (size_t i = 0; i < extent.size(); ++i)
    extent[i] = static_cast<uint32_t>(cursor.at(i).getInteger(1, most));
  return extent;
}

/// `bytes`: how much of the buffer is accessed, as far as that is known.
static BufferInfo readBuffer(const JsonCursor &cursor, const Manifest &manifest,
                             const EntryInfo &entry, size_t bytes) {
  if (cursor.raw().is_object()) {
    JsonCursor offset = cursor.get("arena");
    BufferInfo buffer{true, readSize(offset, largest)};
    if (buffer.number > entry.workspace ||
        bytes > entry.workspace - buffer.number)
      offset.reject("is outside of the entry's workspace");
    return buffer;
  }
  BufferInfo buffer{false, readSize(cursor, largest)};
  if (buffer.number >= entry.tensors.size())
    cursor.reject("the entry has no tensor " + std::to_string(buffer.number));
  if (bytes > manifest.tensors[entry.tensors[buffer.number]].bytes)
    cursor.reject("is smaller than what is copied");
  return buffer;
}

static NodeInfo readNode(const JsonCursor &cursor, const Manifest &manifest,
                         const EntryInfo &entry, size_t number) {
  constexpr int64_t mostThreads = 1024, mostShared = 1 << 20;
  NodeInfo node;
  if (cursor.has("kernel")) {
    node.kernel = readSize(cursor.get("kernel"), largest);
    if (*node.kernel >= manifest.kernels.size())
      cursor.get("kernel").reject("there is no kernel " +
                                  std::to_string(*node.kernel));
    node.grid = readExtent(cursor.get("grid"), INT32_MAX);
    node.block = readExtent(cursor.get("block"), mostThreads);
    node.sharedBytes =
        static_cast<uint32_t>(readSize(cursor.get("shared"), mostShared));
  } else {
    node.bytes = readSize(cursor.get("copy"), largest);
  }
  JsonCursor buffers = cursor.get("buffers");
  buffers.getArray();
  if (!node.kernel && buffers.size() != 2)
    buffers.reject("a copy has two buffers");
  for (size_t i = 0; i < buffers.size(); ++i)
    node.buffers.push_back(
        readBuffer(buffers.at(i), manifest, entry, node.bytes));
  JsonCursor after = cursor.get("after");
  after.getArray();
  for (size_t i = 0; i < after.size(); ++i) {
    node.after.push_back(readSize(after.at(i), largest));
    if (node.after.back() >= number)
      after.at(i).reject("a node follows earlier ones only");
  }
  return node;
}

static void readNodes(const JsonCursor &cursor, const Manifest &manifest,
                      EntryInfo &entry) {
  cursor.getArray();
  for (size_t i = 0; i < cursor.size(); ++i)
    entry.nodes.push_back(readNode(cursor.at(i), manifest, entry, i));
}

static EntryInfo readEntry(const JsonCursor &cursor, const Manifest &manifest) {
  size_t numTensors = manifest.tensors.size();
  EntryInfo entry;
  entry.name = readName(cursor.get("name"));
  entry.workspace =
      static_cast<size_t>(cursor.get("workspace").getInteger(0, largest));
  JsonCursor ids = cursor.get("tensors");
  ids.getArray();
  if (ids.size() == 0)
    ids.reject("entry " + quote(entry.name) + " has no tensors");
  std::set<size_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    JsonCursor element = ids.at(i);
    int64_t id = element.getInteger(0, INT64_MAX);
    if (static_cast<size_t>(id) >= numTensors)
      element.reject("there is no tensor " + std::to_string(id) + ": the " +
                     "artifact has " + std::to_string(numTensors));
    if (!seen.insert(static_cast<size_t>(id)).second)
      element.reject("tensor " + std::to_string(id) + " occurs twice");
    entry.tensors.push_back(static_cast<size_t>(id));
  }
  if (manifest.target == Target::Cuda)
    readNodes(cursor.get("nodes"), manifest, entry);
  else
    entry.symbol = readSymbol(cursor.get("symbol"));
  return entry;
}

static void readTarget(const JsonCursor &root, Manifest &manifest) {
  JsonCursor target = root.get("target");
  std::string kind = target.get("kind").getString();
  if (kind == "cpu") {
    manifest.cpu = target.get("cpu").getString();
    manifest.features = target.get("features").getString();
    manifest.code = readFileName(root.get("code"));
    return;
  }
  if (kind != "cuda")
    fail(AMP_UNSUPPORTED, std::string(fileName) + ": target.kind: this " +
                              "runtime runs 'cpu' and 'cuda' artifacts, this "
                              "one is " +
                              quote(kind));
  manifest.target = Target::Cuda;
  JsonCursor chips = target.get("chips");
  chips.getArray();
  for (size_t i = 0; i < chips.size(); ++i)
    manifest.chips.push_back(readName(chips.at(i)));
  JsonCursor kernels = root.get("kernels");
  kernels.getArray();
  for (size_t i = 0; i < kernels.size(); ++i)
    manifest.kernels.push_back(readKernel(kernels.at(i)));
}

static void readHead(const JsonCursor &root, Manifest &manifest) {
  if (root.get("format").getString() != "amp-mlir-artifact")
    root.get("format").reject("expected 'amp-mlir-artifact', but got " +
                              quote(root.get("format").getString()));
  int64_t abi = root.get("abi").getInteger(0, INT64_MAX);
  if (abi != AMP_HOST_ABI)
    fail(AMP_MISMATCH, std::string(fileName) + ": the artifact has ABI " +
                           std::to_string(abi) + ", this runtime reads ABI " +
                           std::to_string(AMP_HOST_ABI) +
                           "; compile the model again, or use the runtime "
                           "that belongs to the compiler");
  manifest.version = root.get("version").getString();
  manifest.fingerprint = root.get("fingerprint").getString();
  if (manifest.fingerprint.size() != 64 ||
      manifest.fingerprint.find_first_not_of("0123456789abcdef") !=
          std::string::npos)
    root.get("fingerprint").reject("expected 64 hexadecimal digits");
  readTarget(root, manifest);
  manifest.init = readFileName(root.get("init"));
  JsonCursor source = root.get("source");
  manifest.model = source.get("model").getString();
  manifest.config = source.get("config").getObject();
  manifest.optimizer = root.get("optimizer").getObject();
  manifest.scaler = root.get("scaler").getObject();
  manifest.autocast = root.get("autocast").getObject();
  manifest.accumulate = root.get("accumulate").getInteger(1, INT32_MAX);
}

/// `of` names a parameter where it is said.
static void checkOwners(const JsonCursor &tensors, const Manifest &manifest) {
  for (size_t i = 0; i < manifest.tensors.size(); ++i) {
    const TensorInfo &tensor = manifest.tensors[i];
    if (!tensor.of.empty() && !manifest.findTensor(tensor.of))
      tensors.at(i).get("of").reject("there is no tensor " + quote(tensor.of));
  }
}

Manifest amp::runtime::parseManifest(std::string_view text) {
  Json json = parseJson(text, fileName);
  JsonCursor root(json, fileName);
  Manifest manifest;
  readHead(root, manifest);
  JsonCursor tensors = root.get("tensors");
  tensors.getArray();
  for (size_t i = 0; i < tensors.size(); ++i) {
    manifest.tensors.push_back(readTensor(tensors.at(i)));
    const std::string &name = manifest.tensors.back().name;
    if (!manifest.ids.emplace(name, i).second)
      tensors.at(i).get("name").reject("there is another tensor " +
                                       quote(name));
  }
  checkOwners(tensors, manifest);
  JsonCursor entries = root.get("entries");
  entries.getArray();
  for (size_t i = 0; i < entries.size(); ++i) {
    EntryInfo entry = readEntry(entries.at(i), manifest);
    if (manifest.findEntry(entry.name))
      entries.at(i).get("name").reject("there is another entry " +
                                       quote(entry.name));
    manifest.entries.push_back(std::move(entry));
  }
  if (manifest.entries.empty())
    entries.reject("the artifact has no entry");
  return manifest;
}

const EntryInfo *Manifest::findEntry(std::string_view name) const {
  for (const EntryInfo &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

std::optional<size_t> Manifest::findTensor(std::string_view name) const {
  auto found = ids.find(name);
  if (found == ids.end())
    return std::nullopt;
  return found->second;
}
