//===- Safetensors.cpp - The safetensors format ---------------------------===//
// Eight bytes with the header's length, a JSON header, the tensors' bytes.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/Safetensors.h"
#include "amp/Runtime/Failure.h"
#include "amp/Runtime/Json.h"
#include <algorithm>
#include <cstring>

using namespace amp::runtime;

static constexpr size_t lengthSize = 8;
static constexpr size_t alignment = 64;
/// The limit of the format's own library.
static constexpr uint64_t maxHeader = 100000000;

namespace {
struct FormatType {
  DType type;
  const char *name;
};
struct Range {
  uint64_t begin, end;
  const std::string *name;
};
} // namespace

static constexpr FormatType formatTypes[] = {
    {DType::F32, "F32"}, {DType::F16, "F16"}, {DType::BF16, "BF16"},
    {DType::F64, "F64"}, {DType::I64, "I64"}, {DType::I32, "I32"},
    {DType::I8, "I8"},   {DType::U8, "U8"},   {DType::I1, "BOOL"},
    {DType::I16, "I16"}, {DType::U16, "U16"}, {DType::U32, "U32"},
    {DType::U64, "U64"}};

static DType readType(const JsonCursor &cursor) {
  std::string text = cursor.getString();
  for (const FormatType &row : formatTypes)
    if (text == row.name)
      return row.type;
  cursor.reject("element type " + quote(text) + " is not supported");
}

static const char *getFormatName(DType type) {
  for (const FormatType &row : formatTypes)
    if (row.type == type)
      return row.name;
  return "";
}

static Array readArray(const JsonCursor &cursor, const std::string &name,
                       std::string_view data) {
  Array array;
  array.name = name;
  array.dtype = readType(cursor.get("dtype"));
  JsonCursor shape = cursor.get("shape");
  shape.getArray();
  for (size_t i = 0; i < shape.size(); ++i)
    array.shape.push_back(shape.at(i).getInteger(0, INT64_MAX));
  JsonCursor offsets = cursor.get("data_offsets");
  offsets.getArray();
  if (offsets.size() != 2)
    offsets.reject("expected two offsets");
  auto end = static_cast<uint64_t>(offsets.at(1).getInteger(0, INT64_MAX));
  auto begin = static_cast<uint64_t>(
      offsets.at(0).getInteger(0, static_cast<int64_t>(end)));
  if (end > data.size())
    offsets.reject("the file ends before the tensor does (it is truncated)");
  std::optional<size_t> bytes = getByteSize(array.dtype, array.shape);
  if (!bytes || *bytes != end - begin)
    offsets.reject(array.describe() + " does not take " +
                   std::to_string(end - begin) + " bytes");
  array.data = data.data() + begin;
  array.bytes = *bytes;
  return array;
}

/// The format wants every byte of the data to belong to exactly one tensor.
static void checkCover(const TensorFile &file, std::string_view data,
                       const std::string &name) {
  std::vector<Range> ranges;
  for (const Array &array : file.arrays) {
    auto begin = static_cast<uint64_t>(array.data - data.data());
    ranges.push_back({begin, begin + array.bytes, &array.name});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t expected = 0;
  for (const Range &range : ranges) {
    if (range.begin != expected)
      fail(AMP_BAD_FILE,
           name + ": tensor " + quote(*range.name) +
               (range.begin < expected ? " overlaps another one"
                                       : " leaves a hole before it"));
    expected = range.end;
  }
  if (expected != data.size())
    fail(AMP_BAD_FILE, name + ": " + std::to_string(data.size() - expected) +
                           " bytes after the last tensor belong to none");
}

static void readMetadata(const JsonCursor &cursor, const std::string &name,
                         Metadata &metadata) {
  for (const auto &item : cursor.getObject().items())
    metadata[item.key()] =
        JsonCursor(item.value(), name, "__metadata__." + item.key())
            .getString();
}

TensorFile amp::runtime::readSafetensors(const Bytes &bytes,
                                         const std::string &name) {
  std::string_view view = bytes.view;
  uint64_t length;
  if (view.size() < lengthSize)
    fail(AMP_BAD_FILE, name + ": is no safetensors file (too short)");
  std::memcpy(&length, view.data(), lengthSize);
  if (length > maxHeader || length > view.size() - lengthSize)
    fail(AMP_BAD_FILE, name +
                           ": is no safetensors file, or is truncated: "
                           "the header is to take " +
                           std::to_string(length) + " bytes");
  Json json = parseJson(view.substr(lengthSize, length), name);
  std::string_view data = view.substr(lengthSize + length);
  JsonCursor root(json, name);
  TensorFile file;
  for (const auto &item : root.getObject().items()) {
    JsonCursor cursor(item.value(), name, item.key());
    if (item.key() == "__metadata__")
      readMetadata(cursor, name, file.metadata);
    else
      file.arrays.push_back(readArray(cursor, item.key(), data));
  }
  checkCover(file, data, name);
  for (Array &array : file.arrays)
    array.owner = bytes.owner;
  return file;
}

void amp::runtime::writeSafetensors(AtomicWriter &out, const TensorFile &file) {
  Json header = Json::object();
  if (!file.metadata.empty())
    header["__metadata__"] = file.metadata;
  uint64_t offset = 0;
  for (const Array &array : file.arrays) {
    header[array.name] = {{"dtype", getFormatName(array.dtype)},
                          {"shape", array.shape},
                          {"data_offsets", {offset, offset + array.bytes}}};
    offset += array.bytes;
  }
  std::string text = print(header);
  size_t used = (lengthSize + text.size()) % alignment;
  text.append(used ? alignment - used : 0, ' ');
  uint64_t length = text.size();
  out.reserve(lengthSize + length + offset);
  out.write(&length, lengthSize);
  out.write(text);
  for (const Array &array : file.arrays)
    out.write(array.data, array.bytes);
}
