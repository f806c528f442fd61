//===- OnnxWeights.cpp - New weights for an ONNX file ---------------------===//
// Field numbers are those of onnx.proto; the messages on the way to an
// initializer get new lengths, everything else is copied.
//===----------------------------------------------------------------------===//

#include "amp/Runtime/OnnxWeights.h"
#include "Wire.h"
#include "amp/Runtime/Files.h"
#include <deque>
#include <map>

using namespace amp::runtime;

namespace {
namespace model {
constexpr uint32_t graph = 7;
} // namespace model
namespace graph {
constexpr uint32_t node = 1, initializer = 5;
} // namespace graph
namespace node {
constexpr uint32_t attribute = 5;
} // namespace node
namespace attribute {
constexpr uint32_t tensor = 5, graph = 6, tensors = 10, graphs = 11;
} // namespace attribute
namespace tensor {
constexpr uint32_t dims = 1, dataType = 2, floatData = 4, int32Data = 5,
                   stringData = 6, int64Data = 7, name = 8, rawData = 9,
                   doubleData = 10, uint64Data = 11, externalData = 13,
                   dataLocation = 14;
} // namespace tensor

/// What is known of an initializer.
struct Initializer {
  std::string name;
  Shape shape;
  uint64_t dataType = 0;
  bool isExternal = false, isPackedFloat = false;
  std::map<std::string, std::string> external;
};

struct OnnxType {
  uint64_t code;
  DType type;
};

class Exporter {
public:
  Exporter(const std::string &source, const std::string &target,
           const std::vector<Array> &weights);
  void run();

private:
  [[noreturn]] void reject(amp_status status, const std::string &what) const {
    fail(status, source + ": " + what);
  }
  Initializer readInitializer(std::string_view bytes) const;
  std::string readExternal(const Initializer &initializer, size_t bytes) const;
  std::string convertWeight(const Initializer &initializer,
                            const Array &weight) const;
  void addInitializer(const WireField &field);
  std::string encode(const WireField &field, const Initializer &initializer,
                     const std::string &data);
  std::string moveExternal(const std::string &data);
  void checkNested(std::string_view graphBytes, unsigned depth) const;
  void checkAttribute(std::string_view bytes, unsigned depth) const;
  void rewriteGraph(std::string_view bytes);
  void keep(std::string_view piece) { pieces.push_back(piece); }
  void keepOwned(std::string text) {
    texts.push_back(std::move(text));
    pieces.push_back(texts.back());
  }
  bool isSameFolder() const { return getFolder(source) == getFolder(target); }

  const std::string &source, &target;
  std::map<std::string_view, const Array *> weights;
  std::vector<std::string_view> pieces;
  std::deque<std::string> texts;
  std::string externalName;
  std::unique_ptr<AtomicWriter> externalFile;
};
} // namespace

static constexpr OnnxType onnxTypes[] = {
    {1, DType::F32},  {2, DType::U8},   {3, DType::I8},
    {6, DType::I32},  {7, DType::I64},  {9, DType::I1},
    {10, DType::F16}, {11, DType::F64}, {16, DType::BF16}};
/// Readers of ONNX refuse larger messages.
static constexpr uint64_t maxMessage = 0x7fffffff;
static constexpr unsigned maxDepth = 64;
static constexpr size_t externalAlignment = 4096;

static std::optional<DType> findType(uint64_t code) {
  for (const OnnxType &row : onnxTypes)
    if (row.code == code)
      return row.type;
  return std::nullopt;
}

static bool isData(uint32_t number) {
  return number == tensor::rawData || number == tensor::floatData ||
         number == tensor::int32Data || number == tensor::stringData ||
         number == tensor::int64Data || number == tensor::doubleData ||
         number == tensor::uint64Data || number == tensor::externalData ||
         number == tensor::dataLocation;
}

Exporter::Exporter(const std::string &source, const std::string &target,
                   const std::vector<Array> &list)
    : source(source), target(target),
      externalName(getFileName(target) + ".data") {
  for (const Array &weight : list)
    weights[weight.name] = &weight;
}

/// A key and a value of external_data.
static void readEntry(std::string_view bytes, const std::string &file,
                      std::map<std::string, std::string> &entries) {
  WireReader reader(bytes, file);
  WireField field;
  std::string key, value;
  while (reader.next(field))
    (field.number == 1 ? key : value) = field.contents;
  entries[key] = value;
}

Initializer Exporter::readInitializer(std::string_view bytes) const {
  Initializer initializer;
  WireReader reader(bytes, source);
  WireField field;
  while (reader.next(field)) {
    if (field.number == tensor::name) {
      initializer.name = field.contents;
    } else if (field.number == tensor::dataType) {
      initializer.dataType = field.value;
    } else if (field.number == tensor::dims && field.type == WireType::Varint) {
      initializer.shape.push_back(static_cast<int64_t>(field.value));
    } else if (field.number == tensor::dims) {
      WireReader packed(field.contents, source);
      while (!packed.isAtEnd())
        initializer.shape.push_back(static_cast<int64_t>(packed.takeVarint()));
    } else if (field.number == tensor::floatData) {
      initializer.isPackedFloat = field.type == WireType::Length;
    } else if (field.number == tensor::externalData) {
      readEntry(field.contents, source, initializer.external);
    } else if (field.number == tensor::dataLocation) {
      initializer.isExternal = field.value == 1;
    }
  }
  return initializer;
}

static uint64_t parseSize(const std::map<std::string, std::string> &entries,
                          const char *key, uint64_t absent) {
  auto found = entries.find(key);
  if (found == entries.end() || found->second.empty() ||
      found->second.size() > 18 ||
      found->second.find_first_not_of("0123456789") != std::string::npos)
    return absent;
  return std::stoull(found->second);
}

/// The data of an initializer that is to stay as it is.
std::string Exporter::readExternal(const Initializer &initializer,
                                   size_t bytes) const {
  auto location = initializer.external.find("location");
  std::string name =
      location == initializer.external.end() ? "" : location->second;
  if (name.empty() || name[0] == '/' ||
      ("/" + name + "/").find("/../") != std::string::npos)
    reject(AMP_BAD_FILE, "initializer " + quote(initializer.name) +
                             " has no file inside the model's folder");
  Bytes file = mapFile(getFolder(source) + "/" + name);
  uint64_t offset = parseSize(initializer.external, "offset", 0);
  uint64_t length = parseSize(initializer.external, "length", bytes);
  if (length != bytes || offset > file.view.size() ||
      length > file.view.size() - offset)
    reject(AMP_BAD_FILE, "the data of initializer " + quote(initializer.name) +
                             " in " + quote(name) + " is truncated");
  return std::string(file.view.substr(offset, length));
}

std::string Exporter::convertWeight(const Initializer &initializer,
                                    const Array &weight) const {
  std::optional<DType> type = findType(initializer.dataType);
  if (!type || initializer.shape != weight.shape)
    reject(AMP_MISMATCH,
           "initializer " + quote(initializer.name) + " is " +
               (type ? describe(*type, initializer.shape)
                     : "of ONNX type " + std::to_string(initializer.dataType)) +
               ", but the weight is " + weight.describe());
  std::string data(*getByteSize(*type, weight.shape), '\0');
  convert(weight, *type, data.data());
  return data;
}

/// Puts data into the external file; the fields that say where it is.
std::string Exporter::moveExternal(const std::string &data) {
  if (!externalFile)
    externalFile =
        std::make_unique<AtomicWriter>(getFolder(target) + "/" + externalName);
  uint64_t past = externalFile->getOffset() % externalAlignment;
  externalFile->write(std::string(past ? externalAlignment - past : 0, '\0'));
  std::string fields;
  auto add = [&](const std::string &key, const std::string &value) {
    std::string entry = getLengthHead(1, key.size()) + key +
                        getLengthHead(2, value.size()) + value;
    fields += getLengthHead(tensor::externalData, entry.size()) + entry;
  };
  add("location", externalName);
  add("offset", std::to_string(externalFile->getOffset()));
  add("length", std::to_string(data.size()));
  externalFile->write(data);
  putVarint(fields, tensor::dataLocation << 3);
  putVarint(fields, 1);
  return fields;
}

/// The tensor with other data, which takes the place of the first data field.
std::string Exporter::encode(const WireField &field,
                             const Initializer &initializer,
                             const std::string &data) {
  uint32_t number =
      initializer.isPackedFloat ? tensor::floatData : tensor::rawData;
  std::string replacement = initializer.isExternal
                                ? moveExternal(data)
                                : getLengthHead(number, data.size()) + data;
  std::string encoded;
  WireReader reader(field.contents, source);
  WireField part;
  bool isPlaced = false;
  while (reader.next(part)) {
    if (!isData(part.number)) {
      encoded.append(part.whole);
    } else if (!isPlaced) {
      isPlaced = true;
      encoded += replacement;
    }
  }
  return isPlaced ? encoded : encoded + replacement;
}

void Exporter::addInitializer(const WireField &field) {
  Initializer initializer = readInitializer(field.contents);
  auto found = weights.find(initializer.name);
  std::string data;
  if (found != weights.end()) {
    data = convertWeight(initializer, *found->second);
    weights.erase(found);
  } else if (initializer.isExternal) {
    std::optional<DType> type = findType(initializer.dataType);
    std::optional<size_t> bytes =
        type ? getByteSize(*type, initializer.shape) : std::nullopt;
    if (!bytes)
      reject(AMP_UNSUPPORTED, "initializer " + quote(initializer.name) +
                                  " has an element type that is not copied");
    data = readExternal(initializer, *bytes);
  } else {
    keep(field.whole);
    return;
  }
  std::string encoded = encode(field, initializer, data);
  keepOwned(getLengthHead(graph::initializer, encoded.size()) + encoded);
}

/// Constants inside nodes may lie in files, too; those stay where they are.
void Exporter::checkAttribute(std::string_view bytes, unsigned depth) const {
  WireReader reader(bytes, source);
  WireField field;
  while (reader.next(field)) {
    if (field.type != WireType::Length)
      continue;
    if ((field.number == attribute::tensor ||
         field.number == attribute::tensors) &&
        readInitializer(field.contents).isExternal)
      reject(AMP_UNSUPPORTED, "a constant of the model lies in another file; "
                              "write the output into the model's folder");
    if (field.number == attribute::graph || field.number == attribute::graphs)
      checkNested(field.contents, depth + 1);
  }
}

void Exporter::checkNested(std::string_view graphBytes, unsigned depth) const {
  if (depth > maxDepth)
    reject(AMP_BAD_FILE, "graphs are nested too deep");
  WireReader reader(graphBytes, source);
  WireField field;
  while (reader.next(field)) {
    if (field.number == graph::initializer && depth > 0 &&
        readInitializer(field.contents).isExternal)
      reject(AMP_UNSUPPORTED, "an initializer of an inner graph lies in "
                              "another file; write the output into the "
                              "model's folder");
    if (field.number != graph::node)
      continue;
    WireReader nodes(field.contents, source);
    WireField part;
    while (nodes.next(part))
      if (part.number == node::attribute)
        checkAttribute(part.contents, depth);
  }
}

void Exporter::rewriteGraph(std::string_view bytes) {
  if (!isSameFolder())
    checkNested(bytes, 0);
  size_t head = pieces.size();
  keep({});
  WireReader reader(bytes, source);
  WireField field;
  while (reader.next(field)) {
    if (field.number == graph::initializer && field.type == WireType::Length)
      addInitializer(field);
    else
      keep(field.whole);
  }
  uint64_t size = 0;
  for (size_t i = head; i < pieces.size(); ++i)
    size += pieces[i].size();
  texts.push_back(getLengthHead(model::graph, size));
  pieces[head] = texts.back();
}

void Exporter::run() {
  Bytes bytes = mapFile(source);
  WireReader reader(bytes.view, source);
  WireField field;
  bool hasGraph = false;
  while (reader.next(field)) {
    if (field.number != model::graph || field.type != WireType::Length) {
      keep(field.whole);
      continue;
    }
    if (hasGraph)
      reject(AMP_UNSUPPORTED, "the model has its graph in two pieces");
    hasGraph = true;
    rewriteGraph(field.contents);
  }
  if (!hasGraph)
    reject(AMP_BAD_FILE, "is no ONNX model (it has no graph)");
  NameList missing;
  for (const auto &weight : weights)
    missing.add(weight.first);
  if (!missing.empty())
    reject(AMP_MISMATCH, "the model has no initializer for " + missing.str());
  uint64_t size = 0;
  for (std::string_view piece : pieces)
    size += piece.size();
  if (size > maxMessage)
    reject(AMP_UNSUPPORTED, "the output would be larger than 2 GiB");
  AtomicWriter out(target);
  out.reserve(size);
  for (std::string_view piece : pieces)
    out.write(piece);
  // The model is seen only once its data is there.
  if (externalFile)
    externalFile->commit();
  out.commit();
}

void amp::runtime::exportOnnx(const std::string &source,
                              const std::string &target,
                              const std::vector<Array> &weights) {
  Exporter(source, target, weights).run();
}
