//===- TorchValue.cpp - Plain data of torch files -------------------------===//
// Making values, and writing them as a pickle in a zip archive.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Failure.h"
#include "amp/Runtime/TorchFile.h"
#include <cstring>

using namespace amp::runtime;

const TorchValue *TorchValue::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key)
      return &items[i];
  return nullptr;
}

void TorchValue::set(std::string key, TorchValue value) {
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
}

bool TorchValue::isDictWith(std::initializer_list<const char *> all) const {
  for (const char *key : all)
    if (!find(key))
      return false;
  return kind == Dict;
}

std::optional<double> TorchValue::getNumber() const {
  if (kind == Bool || kind == Integer)
    return static_cast<double>(integer);
  if (kind == Float)
    return real;
  if (kind != Tensor || tensor.bytes != getSize(tensor.dtype))
    return std::nullopt;
  double value;
  convert(tensor, DType::F64, reinterpret_cast<char *>(&value));
  return value;
}

TorchValue TorchValue::makeBool(bool value) {
  TorchValue result;
  result.kind = Bool;
  result.integer = value;
  return result;
}

TorchValue TorchValue::makeInteger(int64_t value) {
  TorchValue result;
  result.kind = Integer;
  result.integer = value;
  return result;
}

TorchValue TorchValue::makeFloat(double value) {
  TorchValue result;
  result.kind = Float;
  result.real = value;
  return result;
}

TorchValue TorchValue::makeText(std::string text) {
  TorchValue result;
  result.kind = Text;
  result.text = std::move(text);
  return result;
}

TorchValue TorchValue::makeList(std::vector<TorchValue> items) {
  TorchValue result;
  result.kind = List;
  result.items = std::move(items);
  return result;
}

TorchValue TorchValue::makeDict() {
  TorchValue result;
  result.kind = Dict;
  return result;
}

TorchValue TorchValue::makeTensor(Array array) {
  TorchValue result;
  result.kind = Tensor;
  result.tensor = std::move(array);
  return result;
}

namespace {
/// Writes values with the opcodes of Python's pickletools, protocol 2.
class PickleWriter {
public:
  std::string write(const TorchValue &root);
  /// The tensors in the order of their storages' numbers.
  const std::vector<const Array *> &getTensors() const { return tensors; }

private:
  void put(const TorchValue &value);
  void putKey(const std::string &key);
  void putText(std::string_view text);
  void putInteger(int64_t value);
  void putFloat(double value);
  void putShape(const Shape &shape);
  void putGlobal(const char *module, const char *name);
  void putTensor(const Array &array);
  template <typename T> void putNumber(T value) {
    text.append(reinterpret_cast<const char *>(&value), sizeof(T));
  }

  std::string text;
  std::vector<const Array *> tensors;
};
} // namespace

void PickleWriter::putText(std::string_view value) {
  text += 'X';
  putNumber(static_cast<uint32_t>(value.size()));
  text += value;
}

void PickleWriter::putInteger(int64_t value) {
  if (value == static_cast<int32_t>(value)) {
    text += 'J';
    putNumber(static_cast<int32_t>(value));
    return;
  }
  text += '\x8a'; // LONG1
  text += '\x08';
  putNumber(value);
}

void PickleWriter::putFloat(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  text += 'G';
  putNumber(__builtin_bswap64(bits));
}

/// Whole numbers are keys that torch.optim looks for as such.
void PickleWriter::putKey(const std::string &key) {
  bool isNumber = !key.empty() && key.size() < 10 &&
                  key.find_first_not_of("0123456789") == std::string::npos;
  if (isNumber)
    putInteger(std::stoll(key));
  else
    putText(key);
}

void PickleWriter::putShape(const Shape &shape) {
  text += '(';
  for (int64_t size : shape)
    putInteger(size);
  text += 't';
}

void PickleWriter::putGlobal(const char *module, const char *name) {
  text += std::string("c") + module + "\n" + name + "\n";
}

static const char *getStorage(DType type) {
  switch (type) {
  case DType::F32:
    return "FloatStorage";
  case DType::F16:
    return "HalfStorage";
  case DType::BF16:
    return "BFloat16Storage";
  case DType::F64:
    return "DoubleStorage";
  case DType::I64:
    return "LongStorage";
  case DType::I32:
    return "IntStorage";
  case DType::I16:
    return "ShortStorage";
  case DType::I8:
    return "CharStorage";
  case DType::U8:
    return "ByteStorage";
  case DType::I1:
    return "BoolStorage";
  default:
    fail(AMP_UNSUPPORTED, std::string("torch files hold no ") + getName(type));
  }
}

/// _rebuild_tensor_v2(storage, offset, shape, strides, requires_grad, hooks)
void PickleWriter::putTensor(const Array &array) {
  putGlobal("torch._utils", "_rebuild_tensor_v2");
  text += "((";
  putText("storage");
  putGlobal("torch", getStorage(array.dtype));
  putText(std::to_string(tensors.size()));
  putText("cpu");
  putInteger(static_cast<int64_t>(array.bytes / getSize(array.dtype)));
  text += "tQ";
  putInteger(0);
  putShape(array.shape);
  putShape(getStrides(array.shape));
  text += '\x89'; // NEWFALSE
  putGlobal("collections", "OrderedDict");
  text += ")RtR";
  tensors.push_back(&array);
}

void PickleWriter::put(const TorchValue &value) {
  switch (value.kind) {
  case TorchValue::None:
    text += 'N';
    return;
  case TorchValue::Bool:
    text += value.integer ? '\x88' : '\x89';
    return;
  case TorchValue::Integer:
    return putInteger(value.integer);
  case TorchValue::Float:
    return putFloat(value.real);
  case TorchValue::Text:
    return putText(value.text);
  case TorchValue::Tensor:
    return putTensor(value.tensor);
  case TorchValue::List:
  case TorchValue::Dict:
    break;
  }
  bool isDict = value.kind == TorchValue::Dict;
  text += isDict ? "}(" : "](";
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (isDict)
      putKey(value.keys[i]);
    put(value.items[i]);
  }
  text += isDict ? 'u' : 'e';
}

std::string PickleWriter::write(const TorchValue &root) {
  text = "\x80\x02";
  put(root);
  text += '.';
  return std::move(text);
}

void amp::runtime::writeTorchFile(AtomicWriter &out, const TorchValue &root) {
  PickleWriter pickle;
  std::string text = pickle.write(root);
  uint64_t total = text.size();
  for (const Array *array : pickle.getTensors())
    total += array->bytes;
  out.reserve(total);
  const std::string folder = "checkpoint/";
  ZipWriter zip(out);
  zip.add(folder + "data.pkl", text, "");
  zip.add(folder + "byteorder", "little", "");
  for (size_t i = 0; i < pickle.getTensors().size(); ++i) {
    const Array &array = *pickle.getTensors()[i];
    zip.add(folder + "data/" + std::to_string(i), "",
            std::string_view(array.data, array.bytes));
  }
  zip.add(folder + "version", "3\n", "");
  zip.finish();
}
