//===- Spine.h - The parts of a model, still serialized -------------------===//
//
// Messages split into their fields without copying: everything points into the
// file.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_FRONTEND_ONNX_SPINE_H
#define AMP_LIB_FRONTEND_ONNX_SPINE_H

#include "WireReader.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace amp::importer {

using llvm::StringRef;

/// `ModelProto`; `verbatim` collects the fields that the IR does not model.
struct ModelSpine {
  std::optional<int64_t> irVersion, modelVersion;
  std::optional<StringRef> producerName, producerVersion, domain, docString,
      graph;
  std::vector<std::pair<StringRef, int64_t>> opsets;
  std::vector<std::pair<StringRef, StringRef>> metadata;
  /// Domain and name of local functions.
  std::vector<std::pair<StringRef, StringRef>> functions;
  std::string verbatim;
};

/// `GraphProto`.
struct GraphSpine {
  std::optional<StringRef> name, docString;
  std::vector<StringRef> nodes, initializers, sparseInitializers, inputs,
      outputs, valueInfos;
  std::string verbatim;
};

/// `NodeProto`.
struct NodeSpine {
  llvm::SmallVector<StringRef, 4> inputs, outputs, attributes;
  std::optional<StringRef> name, docString;
  StringRef opType, domain;
  std::string verbatim;
  /// The whole message.
  StringRef bytes;

  bool isDefaultDomain() const { return domain.empty() || domain == "ai.onnx"; }
};

/// `AttributeProto`; `rest` collects the doc string and unknown fields.
struct AttributeSpine {
  StringRef name;
  std::optional<StringRef> tensor, graph;
  bool isReference = false;
  int64_t type = 0;
  std::string rest;
  StringRef bytes;
};

/// `ValueInfoProto`; `rest` collects what is neither name nor type.
struct ValueInfoSpine {
  StringRef name;
  std::optional<StringRef> type;
  std::string rest;
};

llvm::Error scanModel(StringRef bytes, ModelSpine &model);
llvm::Error scanGraph(StringRef bytes, GraphSpine &graph);
/// Overwrites `node`, whose memory is reused.
llvm::Error scanNode(StringRef bytes, NodeSpine &node);
llvm::Error scanAttribute(StringRef bytes, AttributeSpine &attribute);
llvm::Error scanValueInfo(StringRef bytes, ValueInfoSpine &info);
/// The `name` of a TensorProto, or of the values of a SparseTensorProto.
llvm::Expected<StringRef> scanTensorName(StringRef bytes);
llvm::Expected<StringRef> scanSparseTensorName(StringRef bytes);

/// Appends field `number` with this payload to a serialized message.
void appendField(std::string &message, uint32_t number, StringRef payload);

} // namespace amp::importer

#endif // AMP_LIB_FRONTEND_ONNX_SPINE_H
