//===- GraphWriter.cpp - Graphs as serialized GraphProto ------------------===//
// Nodes with their attributes, and tensors with their data by reference.
//===----------------------------------------------------------------------===//

#include "GraphWriter.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using amp::onnx::OnnxDialect;
using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

/// Data of at least `largeTensor` bytes starts at a page, so that it can be
/// mapped; smaller data at what any element type needs.
static constexpr uint64_t largeTensor = 64 << 10, pageSize = 4096,
                          elementAlignment = 16;

static constexpr char zeros[pageSize] = {};

uint64_t ExternalData::add(const Payload &payload) {
  uint64_t offset = llvm::alignTo(
      size, payload.size() >= largeTensor ? pageSize : elementAlignment);
  if (offset > size)
    pieces.push_back({ArrayRef(zeros, offset - size)});
  pieces.push_back(payload);
  size = offset + payload.size();
  return offset;
}

static StringRef getString(Operation *op, StringRef attribute) {
  auto value = op->getAttrOfType<StringAttr>(attribute);
  return value ? value.getValue() : StringRef();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphWriter::writeOperation(Operation &op, Graph &graph) {
  if (isa<amp::onnx::InitializerOp>(op))
    return writeInitializer(&op, graph);
  if (opsets.isLeftOut(&op))
    return success();
  if (opsets.isInitializer(&op)) {
    Value value = op.getResult(0);
    graph.listed.emplace_back(plan.names.get(value), value.getType());
    return writeInitializer(&op, graph);
  }
  if (isSparseInitializer(&op)) {
    auto bytes = cast<amp::onnx::ProtoAttr>(
        cast<amp::onnx::ConstantOp>(op).getSparseValueAttr());
    graph.tensors.addString(GraphProto::kSparseInitializerFieldNumber,
                            bytes.getBytes());
    return success();
  }
  if (auto cast = dyn_cast<CastOp>(op)) {
    CastForm form = plan.constants.getForm(cast);
    if (form == CastForm::Merged)
      return success();
    if (form == CastForm::Copy)
      return writeCopy(cast, graph);
  }
  return writeSite({&op}, graph);
}

LogicalResult GraphWriter::writeSite(NodeSite site, Graph &graph) {
  NodeProto &proto = scratch;
  buildNode(site, plan, proto);
  bool isOurs = site.output >= 0 || isa<CastOp>(site.op);
  if (isOurs && proto.name().empty())
    proto.set_name(
        plan.names
            .makeNodeName((site.output >= 0 ? "identity_" : "cast_") +
                          proto.output(0))
            .str());
  if (opsets.isUnchanged(site))
    return writeNode(site.op, proto, graph);
  onnx_opset::Rewritten converted = opsets.convert(site, proto);
  for (const TensorProto &constant : converted.constants) {
    MLIRContext *context = site.op->getContext();
    WireBuffer tensor(arena);
    tensor.addFields(constant);
    addConstant(
        graph, StringAttr::get(context, constant.name()),
        RankedTensorType::get(
            ArrayRef<int64_t>(constant.dims().data(), constant.dims_size()),
            proto::importElementType(constant.data_type(), context)),
        std::move(tensor));
  }
  for (const NodeProto &node : converted.nodes)
    if (failed(writeNode(site.op, node, graph)))
      return failure();
  return success();
}

LogicalResult GraphWriter::writeNode(Operation *op, const NodeProto &proto,
                                     Graph &graph) {
  auto isLarge = [](const AttributeProto &attribute) {
    return isGraphPlaceholder(attribute) || isTensorPlaceholder(attribute);
  };
  if (llvm::none_of(proto.attribute(), isLarge)) {
    graph.message.addMessage(GraphProto::kNodeFieldNumber, proto);
    return success();
  }
  // Bodies are written in between: `proto` may be used for their nodes.
  NodeProto rest = proto;
  google::protobuf::RepeatedPtrField<AttributeProto> attributes;
  attributes.Swap(rest.mutable_attribute());
  WireBuffer node(arena);
  node.addFields(rest);
  for (const AttributeProto &attribute : attributes) {
    if (!isLarge(attribute))
      node.addMessage(NodeProto::kAttributeFieldNumber, attribute);
    else if (failed(writeLargeAttribute(op, attribute, node)))
      return failure();
  }
  graph.message.addMessage(GraphProto::kNodeFieldNumber, std::move(node));
  return success();
}

LogicalResult GraphWriter::writeLargeAttribute(Operation *op,
                                               const AttributeProto &proto,
                                               WireBuffer &node) {
  WireBuffer attribute(arena);
  AttributeProto rest = proto;
  rest.clear_g();
  rest.clear_t();
  attribute.addFields(rest);
  if (isGraphPlaceholder(proto)) {
    FailureOr<WireBuffer> body =
        write(&getGraphAttribute(op, proto.name()).front());
    if (failed(body))
      return failure();
    attribute.addMessage(AttributeProto::kGFieldNumber, std::move(*body));
  } else {
    WireBuffer tensor(arena);
    if (failed(writeTensor(op, proto.t().name(),
                           getTensorAttribute(op, proto.name()),
                           plan.constants.getNarrowing(op), tensor)))
      return failure();
    TensorProto notes = proto.t();
    notes.clear_name();
    tensor.addFields(notes);
    attribute.addMessage(AttributeProto::kTFieldNumber, std::move(tensor));
  }
  node.addMessage(NodeProto::kAttributeFieldNumber, std::move(attribute));
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

FailureOr<Payload> GraphWriter::getPayload(Operation *op, ElementsAttr value,
                                           const Narrowing *narrowing) {
  ShapedType type = value.getShapedType();
  SmallVector<char, 0> buffer;
  ArrayRef<char> data = proto::getRawData(value, buffer);
  std::optional<uint64_t> size = proto::getRawSize(type);
  if (!size || data.size() != *size)
    return op->emitError() << "has " << data.size() << " bytes of data for "
                           << type
                           << ", which cannot be written; was its data "
                              "left out when the module was printed?";
  if (!buffer.empty() && data.data() == buffer.data()) {
    laidOut.push_back(std::move(buffer));
    data = ArrayRef(laidOut.back());
  }
  Payload payload{data};
  if (narrowing) {
    payload.narrow = narrowing->getFormat();
    payload.range = narrowing->range;
  }
  return payload;
}

void GraphWriter::writeData(const Payload &payload, WireBuffer &tensor) {
  // An empty tensor has no data field: the checker demands that.
  if (payload.size() == 0)
    return;
  if (external.location.empty() || payload.size() < external.threshold)
    return tensor.addBytes(TensorProto::kRawDataFieldNumber, payload);
  auto addEntry = [&](StringRef key, StringRef value) {
    tensor.addPair(TensorProto::kExternalDataFieldNumber, key, value);
  };
  addEntry("location", external.location);
  addEntry("offset", std::to_string(external.add(payload)));
  addEntry("length", std::to_string(payload.size()));
  tensor.addInt(TensorProto::kDataLocationFieldNumber, TensorProto::EXTERNAL);
}

LogicalResult GraphWriter::writeTensor(Operation *op, StringRef name,
                                       ElementsAttr value,
                                       const Narrowing *narrowing,
                                       WireBuffer &tensor) {
  ShapedType type = value.getShapedType();
  Type elementType = narrowing ? narrowing->elementType : type.getElementType();
  for (int64_t size : type.getShape())
    tensor.addInt(TensorProto::kDimsFieldNumber, size);
  tensor.addInt(TensorProto::kDataTypeFieldNumber,
                proto::exportElementType(elementType));
  if (!name.empty())
    tensor.addString(TensorProto::kNameFieldNumber, name);
  if (auto strings = dyn_cast<DenseStringElementsAttr>(value)) {
    for (StringRef string : strings.getValues<StringRef>())
      tensor.addString(TensorProto::kStringDataFieldNumber, string);
    return success();
  }
  FailureOr<Payload> payload = getPayload(op, value, narrowing);
  if (failed(payload))
    return failure();
  writeData(*payload, tensor);
  return success();
}

LogicalResult GraphWriter::writeInitializer(Operation *op, Graph &graph) {
  if (failed(writeDefaults(graph, graph.numInitializers)))
    return failure();
  ++graph.numInitializers;
  WireBuffer tensor(arena);
  StringAttr name = plan.names.get(op->getResult(0));
  if (failed(writeTensor(op, name, getTensorValue(op),
                         plan.constants.getNarrowing(op), tensor)))
    return failure();
  if (StringRef doc = getString(op, OnnxDialect::getDocStringAttrName());
      !doc.empty())
    tensor.addString(TensorProto::kDocStringFieldNumber, doc);
  tensor.addFields(getString(op, OnnxDialect::getVerbatimAttrName()));
  graph.tensors.addMessage(GraphProto::kInitializerFieldNumber,
                           std::move(tensor));
  return success();
}

/// Adds a constant that the file did not have: an initializer or, where the IR
/// version would make an input of it, a Constant node.
void GraphWriter::addConstant(Graph &graph, StringAttr name, TensorType type,
                              WireBuffer &&tensor) {
  bool isInput = opsets.getIrVersion() < firstFreeInitializers;
  // Before opset 9, a Constant can only hold these.
  bool canBeNode =
      isa<Float16Type, Float32Type, Float64Type>(type.getElementType());
  if (!isInput || !canBeNode) {
    graph.tensors.addMessage(GraphProto::kInitializerFieldNumber,
                             std::move(tensor));
    graph.listed.emplace_back(name, type);
    return;
  }
  WireBuffer attribute(arena), node(arena);
  attribute.addString(AttributeProto::kNameFieldNumber, "value");
  attribute.addInt(AttributeProto::kTypeFieldNumber, AttributeProto::TENSOR);
  attribute.addMessage(AttributeProto::kTFieldNumber, std::move(tensor));
  node.addString(NodeProto::kOutputFieldNumber, name);
  node.addString(NodeProto::kOpTypeFieldNumber, "Constant");
  node.addMessage(NodeProto::kAttributeFieldNumber, std::move(attribute));
  graph.message.addMessage(GraphProto::kNodeFieldNumber, std::move(node));
}

LogicalResult GraphWriter::writeCopy(CastOp cast, Graph &graph) {
  Operation *constant = cast.getInput().getDefiningOp();
  Narrowing narrowing = {cast.getType().getElementType(),
                         cast.getClamp() ? HalfRange::Clamp : HalfRange::Round};
  WireBuffer tensor(arena);
  StringAttr name = plan.names.get(cast.getResult());
  if (failed(writeTensor(constant, name, getTensorValue(constant), &narrowing,
                         tensor)))
    return failure();
  addConstant(graph, name, cast.getType(), std::move(tensor));
  return success();
}

/// Inputs with a default are initializers, too. Where nothing tells their
/// positions, they come first.
void GraphWriter::collectDefaults(Graph &graph) {
  auto positions = graph.dictionary
                       ? graph.dictionary.getAs<DictionaryAttr>("defaults")
                       : DictionaryAttr();
  for (BlockArgument argument : graph.block->getArguments()) {
    unsigned number = argument.getArgNumber();
    if (!graph.function.getArgAttr(number, OnnxDialect::getDefaultAttrName()))
      continue;
    auto position =
        positions
            ? positions.getAs<IntegerAttr>(plan.names.get(argument).getValue())
            : IntegerAttr();
    graph.defaults.emplace_back(position ? position.getInt() : 0, number);
  }
  llvm::sort(graph.defaults, std::greater<>());
}

/// Writes the defaults that come before the initializer number `before`, or
/// would if others were not gone.
LogicalResult GraphWriter::writeDefaults(Graph &graph, int64_t before) {
  while (!graph.defaults.empty() &&
         graph.defaults.back().first <=
             std::max(before, graph.numInitializers)) {
    unsigned argument = graph.defaults.back().second;
    graph.defaults.pop_back();
    ++graph.numInitializers;
    if (failed(writeDefault(argument, graph)))
      return failure();
  }
  return success();
}

LogicalResult GraphWriter::writeDefault(unsigned argument, Graph &graph) {
  auto getText = [&](StringRef attribute) {
    auto text =
        graph.function.getArgAttrOfType<StringAttr>(argument, attribute);
    return text ? text.getValue() : StringRef();
  };
  WireBuffer tensor(arena);
  if (failed(writeTensor(graph.function,
                         plan.names.get(graph.block->getArgument(argument)),
                         graph.function.getArgAttrOfType<ElementsAttr>(
                             argument, OnnxDialect::getDefaultAttrName()),
                         nullptr, tensor)))
    return failure();
  if (StringRef doc = getText(OnnxDialect::getDocStringAttrName());
      !doc.empty())
    tensor.addString(TensorProto::kDocStringFieldNumber, doc);
  tensor.addFields(getText(OnnxDialect::getVerbatimAttrName()));
  graph.tensors.addMessage(GraphProto::kInitializerFieldNumber,
                           std::move(tensor));
  return success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

FailureOr<WireBuffer> GraphWriter::write(Block *block) {
  auto function = dyn_cast<func::FuncOp>(block->getParentOp());
  Graph graph{block,
              function,
              getGraphDictionary(block),
              WireBuffer(arena),
              WireBuffer(arena),
              {},
              {},
              {},
              {},
              0};
  readVerbatim(graph);
  if (function)
    collectDefaults(graph);
  for (Operation &op : block->without_terminator())
    if (failed(writeOperation(op, graph)))
      return failure();
  Operation *terminator = block->getTerminator();
  for (auto [index, output] : llvm::enumerate(plan.names.getOutputs(block)))
    if (output.needsIdentity &&
        failed(writeSite({terminator, static_cast<int>(index)}, graph)))
      return failure();
  if (failed(writeDefaults(graph, std::numeric_limits<int64_t>::max())))
    return failure();
  writeName(graph);
  graph.message.addFields(std::move(graph.tensors));
  writeInputs(graph);
  writeOutputs(graph);
  writeValueInfo(graph);
  writeVerbatim(graph);
  return std::move(graph.message);
}
