//===- Checkpoint.cpp - Saving and loading state --------------------------===//
// Everything is compared with the artifact before anything is changed.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Checkpoint.h"
#include "TorchCheckpoint.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Npy.h"
#include <cstring>
#include <set>

using namespace amp::runtime;

static constexpr const char *modelPrefix = "model.", *hyperPrefix = "hyper.",
                            *trainPrefix = "train.", *rngPrefix = "rng.";
static constexpr const char *fingerprintKey = "fingerprint",
                            *formatKey = "format", *versionKey = "version",
                            *configKey = "config", *fixedKey = "fixed_hyper";
static constexpr const char *formatName = "amp-mlir-checkpoint-1";
/// What may be in a checkpoint besides the state of the artifact.
static constexpr const char *extraKeys[] = {extras::epoch,    extras::batch,
                                            extras::steps,    extras::rows,
                                            extras::shuffled, extras::dataSeed};
/// npz has no place for metadata; this array holds it as JSON text.
static constexpr const char *metadataArray = "__metadata__";

static bool startsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

static std::string addPrefix(const char *prefix, const std::string &name) {
  return startsWith(name, prefix) ? name : prefix + name;
}

std::string amp::runtime::getCheckpointKey(const TensorInfo &tensor) {
  switch (tensor.role) {
  case Role::Parameter:
  case Role::Buffer:
    return modelPrefix + tensor.name;
  case Role::OptimizerState:
    return "optimizer." + tensor.name;
  case Role::ScalerState:
    return addPrefix("scaler.", tensor.name);
  case Role::Hyper:
    return hyperPrefix + tensor.name;
  default:
    return startsWith(tensor.name, rngPrefix)
               ? tensor.name
               : addPrefix(trainPrefix, tensor.name);
  }
}

static bool isSaved(const TensorInfo &tensor, bool weightsOnly) {
  if (weightsOnly)
    return isWeight(tensor.role);
  return isState(tensor.role) && tensor.role != Role::Constant &&
         tensor.role != Role::Hyper;
}

static Array makeScalar(const std::string &name, DType type,
                        const void *value) {
  char *data;
  Array array = makeArray(name, type, {}, &data);
  std::memcpy(data, value, array.bytes);
  return array;
}

static Metadata getMetadata(const Session &session) {
  const Manifest &manifest = session.getManifest();
  Json fixed = Json::array();
  for (const auto &[id, hyper] : session.getHypers())
    if (hyper.fixed)
      fixed.push_back(session.getTensor(id).name);
  return {{formatKey, formatName},
          {versionKey, manifest.version},
          {fingerprintKey, manifest.fingerprint},
          {configKey, print(manifest.config)},
          {"optimizer", print(manifest.optimizer)},
          {"scaler", print(manifest.scaler)},
          {fixedKey, print(fixed)}};
}

static TensorFile collect(const Session &session, uint32_t flags,
                          const Extras &extras) {
  bool weightsOnly = flags & (AMP_SAVE_WEIGHTS_ONLY | AMP_SAVE_PLAIN_NAMES);
  TensorFile file;
  const std::vector<TensorInfo> &tensors = session.getManifest().tensors;
  for (size_t id = 0; id < tensors.size(); ++id) {
    const TensorInfo &tensor = tensors[id];
    if (isSaved(tensor, weightsOnly))
      file.arrays.push_back({flags & AMP_SAVE_PLAIN_NAMES
                                 ? tensor.name
                                 : getCheckpointKey(tensor),
                             tensor.dtype, tensor.shape, session.read(id),
                             tensor.bytes, nullptr});
  }
  if (flags & AMP_SAVE_PLAIN_NAMES) {
    // What the readers of PyTorch's side look for.
    file.metadata = {{"format", "pt"}};
    return file;
  }
  file.metadata = getMetadata(session);
  if (weightsOnly)
    return file;
  for (const auto &[id, hyper] : session.getHypers())
    file.arrays.push_back(makeScalar(getCheckpointKey(session.getTensor(id)),
                                     DType::F64, &hyper.base));
  for (const auto &[name, value] : extras)
    file.arrays.push_back(makeScalar(name, DType::I64, &value));
  return file;
}

static TorchValue makeStateDict(const TensorFile &file) {
  TorchValue state = TorchValue::makeDict();
  for (const Array &array : file.arrays)
    state.set(array.name, TorchValue::makeTensor(array));
  return state;
}

void amp::runtime::saveCheckpoint(const Session &session,
                                  const std::string &path, uint32_t flags,
                                  const Extras &extras) {
  constexpr uint32_t known = AMP_SAVE_WEIGHTS_ONLY | AMP_SAVE_PLAIN_NAMES;
  if (flags & ~known)
    fail(AMP_INVALID_ARGUMENT, "unknown flags for saving");
  bool isTorch = endsWith(path, ".pt") || endsWith(path, ".pth");
  // Weights alone are a state_dict there.
  if (isTorch && flags)
    flags = AMP_SAVE_PLAIN_NAMES;
  TensorFile file = collect(session, flags, extras);
  AtomicWriter out(path);
  if (isTorch) {
    writeTorchFile(out, flags & AMP_SAVE_PLAIN_NAMES
                            ? makeStateDict(file)
                            : makeTorchCheckpoint(file, session));
    out.commit();
    return;
  }
  if (!endsWith(path, ".npz")) {
    writeSafetensors(out, file);
    out.commit();
    return;
  }
  if (!(flags & AMP_SAVE_PLAIN_NAMES)) {
    std::string text = print(Json(file.metadata));
    char *data;
    file.arrays.push_back(makeArray(
        metadataArray, DType::U8, {static_cast<int64_t>(text.size())}, &data));
    std::memcpy(data, text.data(), text.size());
  }
  writeNpz(out, file.arrays);
  out.commit();
}

namespace {
/// Compares a file with a session, then copies.
class Loader {
public:
  Loader(Session &session, TensorFile file, std::string path, uint32_t flags)
      : session(session), file(std::move(file)), path(std::move(path)),
        flags(flags) {}
  Extras load();

private:
  [[noreturn]] void reject(amp_status status, const std::string &what) const {
    fail(status, "checkpoint " + quote(path) + ": " + what);
  }
  void indexArrays();
  void checkFingerprint() const;
  const Array *take(const std::string &key);
  bool fits(const Array &array, const TensorInfo &tensor) const;
  void match();
  void matchHypers();
  void matchExtras();
  void checkComplaints() const;

  Session &session;
  TensorFile file;
  std::string path;
  uint32_t flags;
  std::map<std::string_view, const Array *> unused;
  bool plainNames = false;
  std::vector<std::pair<size_t, const Array *>> matches;
  std::map<size_t, Hyper> hypers;
  Extras extras;
  NameList missing, wrong, castable;
};
} // namespace

void Loader::indexArrays() {
  bool weightsOnly = flags & AMP_LOAD_WEIGHTS_ONLY;
  bool prefixed = false;
  for (const Array &array : file.arrays) {
    if (!unused.emplace(array.name, &array).second)
      reject(AMP_BAD_FILE, quote(array.name) + " occurs twice");
    prefixed |= startsWith(array.name, modelPrefix);
  }
  // A file of plain names whose names begin with "model." is told by trying.
  if (prefixed) {
    bool anyKey = false;
    for (const TensorInfo &tensor : session.getManifest().tensors)
      anyKey |=
          isWeight(tensor.role) && unused.count(modelPrefix + tensor.name) != 0;
    prefixed = anyKey;
  }
  plainNames = !prefixed;
  if (plainNames && !weightsOnly && !file.arrays.empty())
    reject(AMP_MISMATCH, "holds weights alone, no checkpoint of this artifact "
                         "(no key is \"model.\" and a parameter's name); load "
                         "it as weights only");
}

void Loader::checkFingerprint() const {
  if (flags & (AMP_LOAD_WEIGHTS_ONLY | AMP_LOAD_ANY_FINGERPRINT))
    return;
  auto found = file.metadata.find(fingerprintKey);
  if (found == file.metadata.end())
    reject(AMP_MISMATCH, "has no fingerprint in its metadata: it was not "
                         "saved by this runtime");
  if (found->second != session.getManifest().fingerprint)
    reject(AMP_MISMATCH,
           "was saved by another step (fingerprint " +
               found->second.substr(0, 12) + ", the artifact has " +
               session.getManifest().fingerprint.substr(0, 12) +
               "); load its weights only, or allow any fingerprint");
}

const Array *Loader::take(const std::string &key) {
  auto found = unused.find(key);
  if (found == unused.end())
    return nullptr;
  const Array *array = found->second;
  unused.erase(found);
  return array;
}

bool Loader::fits(const Array &array, const TensorInfo &tensor) const {
  bool scalars = array.shape.empty() || tensor.shape.empty();
  bool sameShape = array.shape == tensor.shape ||
                   // A state_dict's counters may be [1] or [].
                   (plainNames && scalars && array.bytes && tensor.bytes &&
                    array.bytes / getSize(array.dtype) == 1 &&
                    tensor.bytes / getSize(tensor.dtype) == 1);
  return sameShape &&
         (array.dtype == tensor.dtype ||
          ((flags & AMP_LOAD_CAST) && isWidening(array.dtype, tensor.dtype)));
}

void Loader::match() {
  const std::vector<TensorInfo> &tensors = session.getManifest().tensors;
  for (size_t id = 0; id < tensors.size(); ++id) {
    const TensorInfo &tensor = tensors[id];
    if (!isSaved(tensor, flags & AMP_LOAD_WEIGHTS_ONLY))
      continue;
    std::string key = plainNames ? tensor.name : getCheckpointKey(tensor);
    const Array *array = take(key);
    if (!array)
      missing.add(key);
    else if (!fits(*array, tensor))
      wrong.add(key + " (" + array->describe() + " instead of " +
                tensor.describe() + ")");
    else
      matches.push_back({id, array});
    if (array && array->shape == tensor.shape &&
        isWidening(array->dtype, tensor.dtype) &&
        array->dtype != tensor.dtype && !(flags & AMP_LOAD_CAST))
      castable.add(key);
  }
}

void Loader::matchHypers() {
  std::set<std::string> fixed;
  auto found = file.metadata.find(fixedKey);
  if (found != file.metadata.end()) {
    Json list = parseJson(found->second, path + ": metadata " + fixedKey);
    JsonCursor cursor(list, path, fixedKey);
    cursor.getArray();
    for (size_t i = 0; i < cursor.size(); ++i)
      fixed.insert(cursor.at(i).getString());
  }
  for (const auto &item : session.getHypers()) {
    const TensorInfo &tensor = session.getTensor(item.first);
    std::string key = getCheckpointKey(tensor);
    const Array *array = take(key);
    if (!array) {
      missing.add(key);
    } else if (array->dtype != DType::F64 || !array->shape.empty()) {
      wrong.add(key + " (" + array->describe() + " instead of f64[])");
    } else {
      double base;
      std::memcpy(&base, array->data, sizeof(base));
      hypers[item.first] = {base, fixed.count(tensor.name) != 0};
    }
  }
}

/// What is left may be the driver's.
void Loader::matchExtras() {
  for (const char *key : extraKeys) {
    const Array *array = take(key);
    if (!array)
      continue;
    if (array->dtype != DType::I64 || !array->shape.empty())
      wrong.add(std::string(key) + " (" + array->describe() +
                " instead of i64[])");
    else
      std::memcpy(&extras[key], array->data, sizeof(int64_t));
  }
}

void Loader::checkComplaints() const {
  std::string text;
  auto add = [&](const std::string &what) {
    text += (text.empty() ? "" : "; ") + what;
  };
  if (!wrong.empty())
    add("of the wrong type or shape: " + wrong.str());
  if (!castable.empty())
    add("casting would make these fit: " + castable.str());
  if (!missing.empty() && !(flags & AMP_LOAD_ALLOW_MISSING))
    add("missing: " + missing.str());
  NameList extra;
  // PyTorch's batch norms count their batches; nothing here reads that.
  constexpr std::string_view counter = ".num_batches_tracked";
  // Weights may be taken from a whole checkpoint; other weights are an error.
  for (const auto &item : unused)
    if (!(flags & AMP_LOAD_WEIGHTS_ONLY) ||
        (plainNames && !endsWith(item.first, counter)) ||
        startsWith(item.first, modelPrefix))
      extra.add(item.first);
  if (!extra.empty())
    add("unknown to the artifact: " + extra.str());
  if (!text.empty())
    reject(AMP_MISMATCH, text);
}

Extras Loader::load() {
  indexArrays();
  checkFingerprint();
  match();
  if (!(flags & AMP_LOAD_WEIGHTS_ONLY)) {
    matchHypers();
    matchExtras();
  }
  checkComplaints();
  for (auto [id, array] : matches)
    session.update(id, [&, id = id, array = array](char *value) {
      convert(*array, session.getTensor(id).dtype, value);
    });
  for (const auto &[id, hyper] : hypers)
    session.restoreHyper(id, hyper);
  return extras;
}

/// The metadata of an npz checkpoint is an array in it.
static void liftMetadata(TensorFile &file, const std::string &path) {
  for (size_t i = 0; i < file.arrays.size(); ++i) {
    const Array &array = file.arrays[i];
    if (array.name != metadataArray || array.dtype != DType::U8)
      continue;
    std::string where = path + ": " + metadataArray;
    Json json = parseJson(std::string_view(array.data, array.bytes), where);
    JsonCursor cursor(json, where);
    for (const auto &item : cursor.getObject().items())
      file.metadata[item.key()] =
          JsonCursor(item.value(), where, item.key()).getString();
    file.arrays.erase(file.arrays.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

Extras amp::runtime::loadCheckpoint(Session &session, const std::string &path,
                                    uint32_t flags) {
  constexpr uint32_t known = AMP_LOAD_ALLOW_MISSING | AMP_LOAD_WEIGHTS_ONLY |
                             AMP_LOAD_CAST | AMP_LOAD_ANY_FINGERPRINT;
  if (flags & ~known)
    fail(AMP_INVALID_ARGUMENT, "unknown flags for loading");
  Bytes bytes = mapFile(path);
  TensorFile file;
  if (std::optional<TorchValue> root = readTorchFile(bytes, path))
    file = isTorchCheckpoint(*root)
               ? readTorchCheckpoint(*root, session, path,
                                     flags & AMP_LOAD_WEIGHTS_ONLY)
               : TensorFile{listTensors(*root, path), {}};
  else
    file = readTensors(bytes, path);
  liftMetadata(file, path);
  return Loader(session, std::move(file), path, flags).load();
}
