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

/// A C identifier, as dlsym will look for it.
static std::string readSymbol(const JsonCursor &cursor) {
  std::string text = readName(cursor);
  for (char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_')
      cursor.reject(quote(text) + " is no symbol");
  return text;
}

static EntryInfo readEntry(const JsonCursor &cursor, size_t numTensors) {
  EntryInfo entry;
  entry.name = readName(cursor.get("name"));
  entry.symbol = readSymbol(cursor.get("symbol"));
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
  return entry;
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
  JsonCursor target = root.get("target");
  std::string kind = target.get("kind").getString();
  if (kind != "cpu")
    fail(AMP_UNSUPPORTED, std::string(fileName) + ": target.kind: this " +
                              "runtime runs 'cpu' artifacts, this one is " +
                              quote(kind));
  manifest.cpu = target.get("cpu").getString();
  manifest.features = target.get("features").getString();
  manifest.code = readFileName(root.get("code"));
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
    EntryInfo entry = readEntry(entries.at(i), manifest.tensors.size());
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
