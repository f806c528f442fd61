//===- Spine.cpp - The parts of a model, still serialized -----------------===//
//
// Field numbers are those of onnx-ml.proto.
//
//===----------------------------------------------------------------------===//

#include "Spine.h"

using namespace amp::importer;

/// Calls `take` for each field; collects the fields it does not take in `rest`.
template <typename Fn>
static llvm::Error scan(StringRef bytes, StringRef message, std::string *rest,
                        Fn take) {
  WireReader reader(bytes);
  WireField field;
  while (reader.next(field))
    if (!take(field) && rest)
      rest->append(field.whole.begin(), field.whole.end());
  return reader.takeError(message);
}

/// Field 1 and 2 of `StringStringEntryProto`.
static llvm::Error scanEntry(StringRef bytes,
                             std::pair<StringRef, StringRef> &entry) {
  return scan(bytes, "StringStringEntryProto", nullptr,
              [&](const WireField &field) {
                if (field.isBytes(1))
                  entry.first = field.bytes;
                else if (field.isBytes(2))
                  entry.second = field.bytes;
                return true;
              });
}

static llvm::Error scanOpset(StringRef bytes,
                             std::pair<StringRef, int64_t> &opset) {
  return scan(bytes, "OperatorSetIdProto", nullptr,
              [&](const WireField &field) {
                if (field.isBytes(1))
                  opset.first = field.bytes;
                else if (field.isVarint(2))
                  opset.second = static_cast<int64_t>(field.value);
                return true;
              });
}

/// Domain and name of a `FunctionProto`.
static llvm::Error scanFunction(StringRef bytes,
                                std::pair<StringRef, StringRef> &function) {
  return scan(bytes, "FunctionProto", nullptr, [&](const WireField &field) {
    if (field.isBytes(1))
      function.second = field.bytes;
    else if (field.isBytes(10))
      function.first = field.bytes;
    return true;
  });
}

/// Adds an element to `list` and fills it with `scanOne`, keeping the first
/// error.
template <typename T, typename Fn>
static void scanElement(std::vector<T> &list, StringRef bytes,
                        llvm::Error &error, Fn scanOne) {
  llvm::Error one = scanOne(bytes, list.emplace_back());
  error = llvm::joinErrors(std::move(error), std::move(one));
}

/// The fields of a model that are plain strings, by number; null for other
/// fields.
static std::optional<StringRef> *getStringField(ModelSpine &model,
                                                uint32_t number) {
  switch (number) {
  case 2:
    return &model.producerName;
  case 3:
    return &model.producerVersion;
  case 4:
    return &model.domain;
  case 6:
    return &model.docString;
  default:
    return nullptr;
  }
}

llvm::Error amp::importer::scanModel(StringRef bytes, ModelSpine &model) {
  llvm::Error inner = llvm::Error::success();
  auto takeBytes = [&](const WireField &field) {
    if (std::optional<StringRef> *text = getStringField(model, field.number)) {
      *text = field.bytes;
      return true;
    }
    switch (field.number) {
    case 7:
      if (model.graph)
        inner = llvm::joinErrors(
            std::move(inner),
            llvm::createStringError("the model has two graphs"));
      model.graph = field.bytes;
      return true;
    case 8:
      scanElement(model.opsets, field.bytes, inner, scanOpset);
      return true;
    case 14:
      scanElement(model.metadata, field.bytes, inner, scanEntry);
      return true;
    case 25:
      scanElement(model.functions, field.bytes, inner, scanFunction);
      return false;
    default:
      return false;
    }
  };
  llvm::Error outer =
      scan(bytes, "ModelProto", &model.verbatim, [&](const WireField &field) {
        if (field.type == WireType::Bytes)
          return takeBytes(field);
        if (!field.isVarint(1) && !field.isVarint(5))
          return false;
        (field.number == 1 ? model.irVersion : model.modelVersion) =
            static_cast<int64_t>(field.value);
        return true;
      });
  return llvm::joinErrors(std::move(outer), std::move(inner));
}

llvm::Error amp::importer::scanGraph(StringRef bytes, GraphSpine &graph) {
  return scan(bytes, "GraphProto", &graph.verbatim,
              [&](const WireField &field) {
                if (field.type != WireType::Bytes)
                  return false;
                switch (field.number) {
                case 1:
                  graph.nodes.push_back(field.bytes);
                  return true;
                case 2:
                  graph.name = field.bytes;
                  return true;
                case 5:
                  graph.initializers.push_back(field.bytes);
                  return true;
                case 10:
                  graph.docString = field.bytes;
                  return true;
                case 11:
                  graph.inputs.push_back(field.bytes);
                  return true;
                case 12:
                  graph.outputs.push_back(field.bytes);
                  return true;
                case 13:
                  graph.valueInfos.push_back(field.bytes);
                  return true;
                case 15:
                  graph.sparseInitializers.push_back(field.bytes);
                  return true;
                default:
                  return false;
                }
              });
}

llvm::Error amp::importer::scanNode(StringRef bytes, NodeSpine &node) {
  node.inputs.clear();
  node.outputs.clear();
  node.attributes.clear();
  node.name = node.docString = std::nullopt;
  node.opType = node.domain = {};
  node.verbatim.clear();
  node.bytes = bytes;
  return scan(bytes, "NodeProto", &node.verbatim, [&](const WireField &field) {
    if (field.type != WireType::Bytes)
      return false;
    switch (field.number) {
    case 1:
      node.inputs.push_back(field.bytes);
      return true;
    case 2:
      node.outputs.push_back(field.bytes);
      return true;
    case 3:
      node.name = field.bytes;
      return true;
    case 4:
      node.opType = field.bytes;
      return true;
    case 5:
      node.attributes.push_back(field.bytes);
      return true;
    case 6:
      node.docString = field.bytes;
      return true;
    case 7:
      node.domain = field.bytes;
      return true;
    default:
      return false;
    }
  });
}

llvm::Error amp::importer::scanAttribute(StringRef bytes,
                                         AttributeSpine &attribute) {
  attribute.bytes = bytes;
  return scan(bytes, "AttributeProto", &attribute.rest,
              [&](const WireField &field) {
                switch (field.number) {
                case 1:
                  attribute.name = field.bytes;
                  return true;
                case 5:
                  attribute.tensor = field.bytes;
                  return true;
                case 6:
                  attribute.graph = field.bytes;
                  return true;
                case 20:
                  attribute.type = static_cast<int64_t>(field.value);
                  return true;
                case 21:
                  attribute.isReference |= !field.bytes.empty();
                  return true;
                case 13:
                  return false;
                default:
                  // Values: importAttribute reads them.
                  return field.number <= 23;
                }
              });
}

llvm::Error amp::importer::scanValueInfo(StringRef bytes,
                                         ValueInfoSpine &info) {
  return scan(bytes, "ValueInfoProto", &info.rest, [&](const WireField &field) {
    if (field.isBytes(1))
      info.name = field.bytes;
    else if (field.isBytes(2))
      info.type = field.bytes;
    else
      return false;
    return true;
  });
}

llvm::Expected<StringRef> amp::importer::scanTensorName(StringRef bytes) {
  StringRef name;
  if (llvm::Error error =
          scan(bytes, "TensorProto", nullptr, [&](const WireField &field) {
            if (field.isBytes(8))
              name = field.bytes;
            return true;
          }))
    return std::move(error);
  return name;
}

llvm::Expected<StringRef> amp::importer::scanSparseTensorName(StringRef bytes) {
  std::optional<StringRef> values;
  if (llvm::Error error = scan(bytes, "SparseTensorProto", nullptr,
                               [&](const WireField &field) {
                                 if (field.isBytes(1))
                                   values = field.bytes;
                                 return true;
                               }))
    return std::move(error);
  return values ? scanTensorName(*values) : StringRef();
}

static void appendVarint(std::string &message, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    message.push_back(static_cast<char>(value | 0x80));
  message.push_back(static_cast<char>(value));
}

void amp::importer::appendField(std::string &message, uint32_t number,
                                StringRef payload) {
  appendVarint(message, number << 3 | static_cast<unsigned>(WireType::Bytes));
  appendVarint(message, payload.size());
  message.append(payload.begin(), payload.end());
}
