//===- NodeAttributes.cpp - AttributeProto to IR --------------------------===//
//
// Attributes of nodes, checked against the operator; graphs among them become
// regions.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::AttrKind;
using amp::onnx::AttrSpec;
using amp::onnx::OpSpec;
using amp::onnx::ProtoAttr;
using ::onnx::AttributeProto;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A tensor attribute; what its proto says beside the value is noted.
static llvm::Expected<Attribute> readTensor(TensorReader &tensors,
                                            AttributeSpine &spine,
                                            NodeAttributes &attributes,
                                            Builder &builder) {
  TensorNotes notes;
  llvm::Expected<ElementsAttr> value = tensors.read(*spine.tensor, notes);
  if (!value)
    return value.takeError();
  if (notes.name)
    attributes.tensorNames.set(spine.name, builder.getStringAttr(*notes.name));
  std::string partial;
  if (notes.docString)
    appendField(partial, 12, *notes.docString);
  partial += notes.verbatim;
  if (!partial.empty())
    appendField(spine.rest, 5, partial);
  return Attribute(*value);
}

FailureOr<Attribute> ModelImporter::readAttribute(const NodeSpine &node,
                                                  AttributeSpine &spine,
                                                  NodeAttributes &attributes) {
  auto read = [&]() -> llvm::Expected<Attribute> {
    bool isTensor = spine.type == AttributeProto::TENSOR ||
                    spine.type == AttributeProto::UNDEFINED;
    if (spine.tensor && isTensor && !spine.isReference)
      return readTensor(tensors, spine, attributes, builder);
    AttributeProto proto;
    if (spine.bytes.size() > INT32_MAX ||
        !proto.ParsePartialFromArray(spine.bytes.data(), spine.bytes.size()))
      return llvm::createStringError("malformed AttributeProto");
    return proto::importAttribute(proto, context);
  };
  llvm::Expected<Attribute> value = read();
  if (!value)
    return emitError(node) << "attribute '" << spine.name
                           << "': " << llvm::toString(value.takeError());
  return *value;
}

LogicalResult ModelImporter::readAttributes(const NodeSpine &node,
                                            NodeAttributes &attributes) {
  for (StringRef bytes : node.attributes) {
    AttributeSpine spine;
    if (failed(report(node, scanAttribute(bytes, spine))))
      return failure();
    if (spine.name.empty())
      return emitError(node) << "an attribute has no name";
    bool isGraph = spine.type == AttributeProto::GRAPH ||
                   spine.type == AttributeProto::UNDEFINED;
    bool isRepeated = llvm::any_of(attributes.graphs, [&](auto &graph) {
      return graph.first == spine.name;
    });
    if (spine.graph && isGraph && !spine.isReference) {
      isRepeated |= bool(attributes.values.get(spine.name));
      attributes.graphs.emplace_back(spine.name, *spine.graph);
    } else {
      FailureOr<Attribute> value = readAttribute(node, spine, attributes);
      if (failed(value))
        return failure();
      isRepeated |= bool(attributes.values.set(spine.name, *value));
    }
    if (isRepeated)
      return emitError(node)
             << "attribute '" << spine.name << "' is given twice";
    // The bytes of an #onnx.proto<"AttributeProto"> have the doc string
    // already.
    auto proto = dyn_cast_or_null<ProtoAttr>(attributes.values.get(spine.name));
    if (!spine.rest.empty() &&
        !(proto && proto.getKind() == "AttributeProto")) {
      std::string partial;
      appendField(partial, 1, spine.name);
      appendField(attributes.verbatim, 5, partial + spine.rest);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Matching the operator
//===----------------------------------------------------------------------===//

static StringRef getKindName(AttrKind kind) {
  switch (kind) {
  case AttrKind::INT:
    return "an INT";
  case AttrKind::INTS:
    return "INTS";
  case AttrKind::FLOAT:
    return "a FLOAT";
  case AttrKind::FLOATS:
    return "FLOATS";
  case AttrKind::STRING:
    return "a STRING";
  case AttrKind::STRINGS:
    return "STRINGS";
  case AttrKind::TENSOR:
    return "a TENSOR";
  case AttrKind::SPARSE_TENSOR:
    return "a SPARSE_TENSOR";
  case AttrKind::TYPE_PROTO:
    return "a TYPE_PROTO";
  case AttrKind::GRAPH:
    return "a GRAPH";
  }
  llvm_unreachable("all kinds are named");
}

/// The kind an imported attribute has; std::nullopt for the rarer ones.
static std::optional<AttrKind> getKind(Attribute value) {
  if (auto proto = dyn_cast<ProtoAttr>(value))
    return proto.getKind() == "SparseTensorProto"
               ? std::optional(AttrKind::SPARSE_TENSOR)
               : std::nullopt;
  if (isa<IntegerAttr>(value))
    return AttrKind::INT;
  if (isa<FloatAttr>(value))
    return AttrKind::FLOAT;
  if (isa<StringAttr>(value))
    return AttrKind::STRING;
  if (isa<DenseI64ArrayAttr>(value))
    return AttrKind::INTS;
  if (isa<DenseF32ArrayAttr>(value))
    return AttrKind::FLOATS;
  if (isa<ArrayAttr>(value))
    return AttrKind::STRINGS;
  if (isa<TypeAttr>(value))
    return AttrKind::TYPE_PROTO;
  return isa<ElementsAttr>(value) ? std::optional(AttrKind::TENSOR)
                                  : std::nullopt;
}

FailureOr<Fit> ModelImporter::matchAttributes(const NodeSpine &node,
                                              const OpSpec &spec,
                                              const NodeAttributes &attributes,
                                              OperationState &state) {
  auto find = [&](StringRef name) {
    return llvm::find_if(spec.attributes, [&](const AttrSpec &attribute) {
      return attribute.name == name;
    });
  };
  for (NamedAttribute value : attributes.values) {
    StringRef name = value.getName().getValue();
    const AttrSpec *attribute = find(name);
    if (attribute == spec.attributes.end()) {
      // What begins like this is for tools and not checked.
      if (name.starts_with("__"))
        return makeGeneric(node, "it has the attribute '" + name + "'");
      return emitError(node) << "has the attribute '" << name << "', which "
                             << spec.name << " does not take";
    }
    std::optional<AttrKind> kind = getKind(value.getValue());
    if (!kind)
      return makeGeneric(node, "its attribute '" + name +
                                   "' has a form that the IR can't hold");
    if (*kind != attribute->kind)
      return emitError(node) << "attribute '" << name << "' must be "
                             << getKindName(attribute->kind) << ", but is "
                             << getKindName(*kind);
    state.addAttribute(attribute->odsName, value.getValue());
  }
  for (auto &[name, bytes] : attributes.graphs)
    if (const AttrSpec *attribute = find(name);
        attribute == spec.attributes.end() ||
        attribute->kind != AttrKind::GRAPH)
      return makeGeneric(node, "its attribute '" + name +
                                   "' is a graph, which " + spec.name +
                                   " does not take");
  for (const AttrSpec &attribute : spec.attributes) {
    bool given = attribute.kind == AttrKind::GRAPH
                     ? llvm::any_of(attributes.graphs,
                                    [&](auto &graph) {
                                      return graph.first == attribute.name;
                                    })
                     : bool(attributes.values.get(attribute.name));
    if (attribute.required && !given)
      return emitError(node)
             << "expects the attribute '" << attribute.name << "' ("
             << getKindName(attribute.kind) << "), which is missing";
  }
  return Fit::Operation;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

LogicalResult ModelImporter::importRegions(const OpSpec &spec,
                                           const NodeAttributes &attributes,
                                           Operation *op, const Scope &scope) {
  for (auto [name, region] : llvm::zip_equal(spec.regions, op->getRegions())) {
    auto graph = llvm::find_if(attributes.graphs,
                               [&, name = StringRef(name)](auto &entry) {
                                 return entry.first == name;
                               });
    // An absent optional graph leaves its region empty.
    if (graph != attributes.graphs.end() &&
        failed(importBody(graph->second, region, op, scope)))
      return failure();
  }
  return success();
}
