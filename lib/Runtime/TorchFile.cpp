//===- TorchFile.cpp - What a torch .pt file holds ------------------------===//
// A zip archive: data.pkl describes tensors, data/<key> holds their storages.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/TorchFile.h"
#include "Pickle.h"
#include "amp/Runtime/Failure.h"
#include <algorithm>
#include <cstring>
#include <set>

using namespace amp::runtime;

using Value = PickleValue;

static constexpr std::string_view rebuildTensor =
    "torch._utils _rebuild_tensor_v2";
static constexpr std::string_view rebuildParameter =
    "torch._utils _rebuild_parameter";
static constexpr size_t maxDepth = 32, maxVisits = 1000000, maxRank = 64;

namespace {
struct StorageRow {
  std::string_view name;
  DType type;
};
} // namespace

static constexpr StorageRow storageRows[] = {
    {"torch FloatStorage", DType::F32},     {"torch HalfStorage", DType::F16},
    {"torch BFloat16Storage", DType::BF16}, {"torch DoubleStorage", DType::F64},
    {"torch LongStorage", DType::I64},      {"torch IntStorage", DType::I32},
    {"torch ShortStorage", DType::I16},     {"torch CharStorage", DType::I8},
    {"torch ByteStorage", DType::U8},       {"torch BoolStorage", DType::I1}};

static const StorageRow *findStorage(std::string_view name) {
  for (const StorageRow &row : storageRows)
    if (row.name == name)
      return &row;
  return nullptr;
}

static bool isAllowed(std::string_view name) {
  return name == rebuildTensor || name == rebuildParameter ||
         name == "collections OrderedDict" || findStorage(name);
}

namespace {
class TorchReader {
public:
  TorchReader(const ZipReader &zip, std::string file);
  TorchValue read();

private:
  [[noreturn]] void reject(const std::string &what) const {
    fail(AMP_BAD_FILE, file + ": " + what);
  }
  const ZipMember &getMember(const std::string &name) const;
  TorchValue make(PickleId id, const std::string &name, size_t depth);
  TorchValue makeDict(const Value &dict, const std::string &name, size_t depth);
  Array getTensor(const Value &call, const std::string &name, size_t depth);
  Array getStorage(PickleId id, const std::string &name);
  Shape getShape(PickleId id) const;
  Array makeView(const Array &storage, int64_t offset, const Shape &strides,
                 Array view) const;
  const Value &get(PickleId id) const { return pickle->get(id); }

  const ZipReader &zip;
  std::string file, folder;
  Bytes bytes;
  std::unique_ptr<PickleReader> pickle;
  std::map<std::string, Array> storages;
  size_t visits = 0;
};
} // namespace

TorchReader::TorchReader(const ZipReader &zip, std::string path)
    : zip(zip), file(std::move(path)) {
  constexpr std::string_view end = "/data.pkl";
  const ZipMember *member = nullptr;
  for (const ZipMember &each : zip.getMembers())
    if (endsWith(each.name, end))
      member = &each;
  if (!member)
    reject("is a zip archive of neither npy arrays nor torch tensors");
  folder = member->name.substr(0, member->name.size() - end.size()) + "/";
  const ZipMember *order = zip.find(folder + "byteorder");
  if (order && zip.read(*order).view != "little")
    reject("is big-endian");
  bytes = zip.read(*member);
  pickle = std::make_unique<PickleReader>(bytes.view, file, isAllowed);
}

const ZipMember &TorchReader::getMember(const std::string &name) const {
  if (const ZipMember *member = zip.find(name))
    return *member;
  reject("member " + quote(name) + " is missing");
}

/// ('storage', torch.FloatStorage, key, 'cpu', number of elements)
Array TorchReader::getStorage(PickleId id, const std::string &name) {
  const Value &value = get(id);
  if (value.kind != Value::Persistent || get(value.items[0]).items.size() != 5)
    reject("tensor " + quote(name) + " has no storage");
  const std::vector<PickleId> &parts = get(value.items[0]).items;
  const StorageRow *row = findStorage(get(parts[1]).text);
  const Value &key = get(parts[2]), &count = get(parts[4]);
  if (get(parts[0]).text != "storage" || !row || key.kind != Value::Text ||
      count.kind != Value::Integer)
    reject("tensor " + quote(name) + " has a malformed storage");
  Bytes contents;
  auto found = storages.find(key.text);
  if (found != storages.end()) {
    if (found->second.dtype != row->type)
      reject("storage " + quote(key.text) + " has two types");
    return found->second;
  }
  contents = zip.read(getMember(folder + "data/" + key.text));
  Array storage{name,
                row->type,
                {count.integer},
                contents.view.data(),
                contents.view.size(),
                contents.owner};
  if (getByteSize(storage.dtype, storage.shape) != storage.bytes)
    reject("storage " + quote(key.text) + " of tensor " + quote(name) +
           " does not have the size the pickle says");
  storages[key.text] = storage;
  return storage;
}

Shape TorchReader::getShape(PickleId id) const {
  const Value &value = get(id);
  if (value.kind != Value::Tuple || value.items.size() > maxRank)
    reject("a tensor's shape is malformed");
  Shape shape;
  for (PickleId item : value.items) {
    if (get(item).kind != Value::Integer || get(item).integer < 0)
      reject("a tensor's shape is malformed");
    shape.push_back(get(item).integer);
  }
  return shape;
}

/// Number of the last element that is reached; -1 when it is out of range.
static int64_t getLast(int64_t offset, const Shape &shape,
                       const Shape &strides) {
  int64_t last = offset, step;
  for (size_t i = 0; i < shape.size(); ++i)
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return -1;
  return last;
}

Array TorchReader::makeView(const Array &storage, int64_t offset,
                            const Shape &strides, Array view) const {
  std::optional<size_t> bytes = getByteSize(view.dtype, view.shape);
  if (!bytes || strides.size() != view.shape.size())
    reject("tensor " + quote(view.name) + " has a malformed shape");
  view.bytes = *bytes;
  if (*bytes == 0)
    return view;
  int64_t last = getLast(offset, view.shape, strides);
  if (offset < 0 || last < 0 || last >= storage.shape[0])
    reject("tensor " + quote(view.name) + " reaches past its storage");
  size_t size = getSize(view.dtype);
  const char *begin = storage.data + static_cast<size_t>(offset) * size;
  if (strides == getStrides(view.shape)) {
    view.data = begin;
    return view;
  }
  // An expanded tensor is larger than its storage; it is no weight.
  if (*bytes > storage.bytes)
    reject("tensor " + quote(view.name) + " repeats its elements");
  char *target;
  Array copy = makeArray(view.name, view.dtype, view.shape, &target);
  Shape index(view.shape.size(), 0);
  for (size_t i = 0; i < *bytes; i += size) {
    int64_t from = 0;
    for (size_t axis = 0; axis < index.size(); ++axis)
      from += index[axis] * strides[axis];
    std::memcpy(target + i, begin + static_cast<size_t>(from) * size, size);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis])
        break;
      index[axis] = 0;
    }
  }
  return copy;
}

Array TorchReader::getTensor(const Value &call, const std::string &name,
                             size_t depth) {
  const std::string &function = get(call.items[0]).text;
  const std::vector<PickleId> &arguments = get(call.items[1]).items;
  if (function == rebuildParameter && !arguments.empty() &&
      get(arguments[0]).kind == Value::Call && depth < maxDepth)
    return getTensor(get(arguments[0]), name, depth + 1);
  if (function != rebuildTensor || arguments.size() < 4 ||
      get(arguments[1]).kind != Value::Integer)
    reject(quote(name) + " is no tensor");
  Array storage = getStorage(arguments[0], name);
  Array view{name, storage.dtype, getShape(arguments[2]), storage.data,
             0,    storage.owner};
  return makeView(storage, get(arguments[1]).integer, getShape(arguments[3]),
                  std::move(view));
}

TorchValue TorchReader::makeDict(const Value &dict, const std::string &name,
                                 size_t depth) {
  TorchValue result = TorchValue::makeDict();
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Value &key = get(dict.items[i]);
    std::string part = key.kind == Value::Text ? key.text
                       : key.kind == Value::Integer
                           ? std::to_string(key.integer)
                           : "";
    if (part.empty())
      reject("a key of a dictionary is no text");
    result.set(part, make(dict.items[i + 1],
                          name.empty() ? part : name + "." + part, depth + 1));
  }
  return result;
}

/// Values may share parts: they are counted as often as they occur.
TorchValue TorchReader::make(PickleId id, const std::string &name,
                             size_t depth) {
  if (++visits > maxVisits)
    reject("has too many entries");
  if (depth == maxDepth)
    reject("dictionaries are nested too deep");
  const Value &value = get(id);
  TorchValue result;
  switch (value.kind) {
  case Value::Dict:
    return makeDict(value, name, depth);
  case Value::Call:
    return TorchValue::makeTensor(getTensor(value, name, depth));
  case Value::Tuple:
  case Value::List:
    for (PickleId item : value.items)
      result.items.push_back(make(item, name, depth + 1));
    return TorchValue::makeList(std::move(result.items));
  case Value::Bool:
    return TorchValue::makeBool(value.integer != 0);
  case Value::Integer:
    return TorchValue::makeInteger(value.integer);
  case Value::Float:
    return TorchValue::makeFloat(value.real);
  case Value::Text:
    return TorchValue::makeText(value.text);
  default:
    return {};
  }
}

TorchValue TorchReader::read() {
  PickleId root = pickle->read();
  if (get(root).kind != Value::Dict)
    reject("is no dictionary of tensors; save model.state_dict()");
  return make(root, "", 0);
}

/// An archive of .npy files alone is NumPy's.
static bool holdsArraysOnly(const ZipReader &zip) {
  for (const ZipMember &member : zip.getMembers())
    if (!endsWith(member.name, ".npy"))
      return false;
  return true;
}

std::optional<TorchValue> amp::runtime::readTorchFile(const Bytes &bytes,
                                                      const std::string &file) {
  if (!ZipReader::isZip(bytes.view))
    return std::nullopt;
  ZipReader zip(bytes, file);
  if (holdsArraysOnly(zip))
    return std::nullopt;
  return TorchReader(zip, file).read();
}

static void addTensors(const TorchValue &value, const std::string &name,
                       const std::string &file, std::set<std::string> &seen,
                       std::vector<Array> &arrays) {
  for (size_t i = 0; i < value.keys.size(); ++i)
    addTensors(value.items[i],
               name.empty() ? value.keys[i] : name + "." + value.keys[i], file,
               seen, arrays);
  if (value.kind != TorchValue::Tensor)
    return;
  if (!seen.insert(name).second)
    fail(AMP_BAD_FILE, file + ": tensor " + quote(name) + " occurs twice");
  arrays.push_back(value.tensor);
  arrays.back().name = name;
}

std::vector<Array> amp::runtime::listTensors(const TorchValue &root,
                                             const std::string &file) {
  std::set<std::string> seen;
  std::vector<Array> arrays;
  addTensors(root, "", file, seen, arrays);
  return arrays;
}
