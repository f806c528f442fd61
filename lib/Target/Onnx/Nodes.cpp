//===- Nodes.cpp - Operations as NodeProto --------------------------------===//
// Positions, attributes and names of schema operations, onnx.node and the casts
// that autocast made.
//===----------------------------------------------------------------------===//

#include "Nodes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using amp::onnx::OnnxDialect;
using ::onnx::AttributeProto;
using ::onnx::NodeProto;

/// Tensor attributes of more bytes are written apart from the message.
static constexpr uint64_t maxInlineTensor = 1024;

bool amp::onnx_export::isGraphPlaceholder(const AttributeProto &attribute) {
  return attribute.type() == AttributeProto::GRAPH;
}

bool amp::onnx_export::isTensorPlaceholder(const AttributeProto &attribute) {
  return attribute.type() == AttributeProto::TENSOR &&
         !attribute.t().has_data_type();
}

static AttributeProto &addAttribute(NodeProto &proto, StringRef name) {
  AttributeProto &attribute = *proto.add_attribute();
  attribute.set_name(name.data(), name.size());
  return attribute;
}

static void addName(google::protobuf::RepeatedPtrField<std::string> &list,
                    StringAttr name) {
  StringRef text = name ? name.getValue() : StringRef();
  list.Add()->assign(text.data(), text.size());
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Region &amp::onnx_export::getGraphAttribute(Operation *op, StringRef name) {
  if (auto node = dyn_cast<amp::onnx::NodeOp>(op)) {
    auto names = node.getRegionNamesAttr().getAsRange<StringAttr>();
    for (auto [index, known] : llvm::enumerate(names))
      if (known.getValue() == name)
        return op->getRegion(index);
  }
  const amp::onnx::OpSpec &spec =
      cast<amp::onnx::SchemaOpInterface>(op).getSpec();
  return op->getRegion(llvm::find(spec.regions, name) - spec.regions.begin());
}

ElementsAttr amp::onnx_export::getTensorAttribute(Operation *op,
                                                  StringRef name) {
  if (auto node = dyn_cast<amp::onnx::NodeOp>(op))
    return node.getFieldsAttr().getAs<ElementsAttr>(name);
  if (isa<amp::onnx::ConstantOp>(op))
    return getTensorValue(op);
  return dyn_cast_or_null<ElementsAttr>(
      op->getInherentAttr(name).value_or(Attribute()));
}

/// The name that the tensor in an attribute has, if any; it may be empty.
static StringAttr getTensorName(Operation *op, StringRef attribute) {
  auto names =
      op->getAttrOfType<DictionaryAttr>(OnnxDialect::getTensorNamesAttrName());
  return names ? names.getAs<StringAttr>(attribute) : StringAttr();
}

static void buildAttribute(Operation *op, StringRef name, Attribute value,
                           NodeProto &proto) {
  AttributeProto &attribute = addAttribute(proto, name);
  auto tensor = dyn_cast<ElementsAttr>(value);
  if (tensor && !isa<DenseStringElementsAttr>(value) &&
      proto::getRawSize(tensor.getShapedType()) > maxInlineTensor) {
    attribute.set_type(AttributeProto::TENSOR);
  } else {
    proto::exportAttribute(value, attribute);
  }
  if (StringAttr tensorName = getTensorName(op, name))
    attribute.mutable_t()->set_name(tensorName.str());
}

static void buildGraphPlaceholder(StringRef name, NodeProto &proto) {
  AttributeProto &attribute = addAttribute(proto, name);
  attribute.set_type(AttributeProto::GRAPH);
  attribute.mutable_g();
}

//===----------------------------------------------------------------------===//
// Kinds of nodes
//===----------------------------------------------------------------------===//

static void buildSchemaNode(amp::onnx::SchemaOpInterface schemaOp,
                            const FunctionPlan &plan, NodeProto &proto) {
  Operation *op = schemaOp;
  const amp::onnx::OpSpec &spec = schemaOp.getSpec();
  proto.set_op_type(spec.name.data(), spec.name.size());
  for (Value value : amp::onnx::getPositionalInputs(op))
    addName(*proto.mutable_input(),
            value ? plan.names.get(value) : StringAttr());
  for (Value value : amp::onnx::getPositionalOutputs(op))
    addName(*proto.mutable_output(),
            value ? plan.names.get(value) : StringAttr());
  if (plan.constants.getNarrowing(op)) {
    // Whatever form the constant had, its narrow one is a tensor.
    AttributeProto &attribute = addAttribute(proto, "value");
    attribute.set_type(AttributeProto::TENSOR);
    if (StringAttr name = getTensorName(op, "value"))
      attribute.mutable_t()->set_name(name.str());
    return;
  }
  for (const amp::onnx::AttrSpec &attribute : spec.attributes)
    if (Attribute value =
            op->getInherentAttr(attribute.odsName).value_or(Attribute()))
      buildAttribute(op, attribute.name, value, proto);
  for (StringRef name : spec.regions)
    buildGraphPlaceholder(name, proto);
}

/// Names of `values` with empty ones for absent positions.
static void addPresent(google::protobuf::RepeatedPtrField<std::string> &list,
                       ValueRange values, DenseBoolArrayAttr present,
                       const FunctionPlan &plan) {
  if (!present) {
    for (Value value : values)
      addName(list, plan.names.get(value));
    return;
  }
  unsigned next = 0;
  for (bool isPresent : present.asArrayRef())
    addName(list, isPresent ? plan.names.get(values[next++]) : StringAttr());
}

static void buildGenericNode(amp::onnx::NodeOp node, const FunctionPlan &plan,
                             NodeProto &proto) {
  proto.set_op_type(node.getOpType().str());
  if (!node.getOpDomain().empty())
    proto.set_domain(node.getOpDomain().str());
  addPresent(*proto.mutable_input(), node.getInputs(),
             node.getOperandPresentAttr(), plan);
  addPresent(*proto.mutable_output(), node.getOutputs(),
             node.getResultPresentAttr(), plan);
  if (DictionaryAttr fields = node.getFieldsAttr())
    for (NamedAttribute field : fields)
      buildAttribute(node, field.getName(), field.getValue(), proto);
  if (ArrayAttr names = node.getRegionNamesAttr())
    for (auto name : names.getAsRange<StringAttr>())
      buildGraphPlaceholder(name, proto);
}

static void buildCastNode(CastOp cast, const FunctionPlan &plan,
                          NodeProto &proto) {
  proto.set_op_type("Cast");
  addName(*proto.mutable_input(), plan.names.get(cast.getInput()));
  addName(*proto.mutable_output(), plan.names.get(cast.getResult()));
  AttributeProto &to = addAttribute(proto, "to");
  to.set_type(AttributeProto::INT);
  to.set_i(proto::exportElementType(cast.getType().getElementType()));
}

static void buildIdentityNode(NodeSite site, const FunctionPlan &plan,
                              NodeProto &proto) {
  proto.set_op_type("Identity");
  addName(*proto.mutable_input(),
          plan.names.get(site.op->getOperand(site.output)));
  addName(*proto.mutable_output(),
          plan.names.getOutputs(site.op->getBlock())[site.output].name);
}

/// Drops empty names at the end that are too many: the operation has got more
/// values since they were read.
static void fitNames(google::protobuf::RepeatedPtrField<std::string> &names,
                     ArrayRef<amp::onnx::FormalSpec> formals) {
  bool isVariadic = !formals.empty() &&
                    formals.back().kind == amp::onnx::FormalKind::Variadic;
  while (!isVariadic && names.size() > static_cast<int>(formals.size()) &&
         names.rbegin()->empty())
    names.RemoveLast();
}

/// Merges the fields that the IR does not model into the node. Attributes among
/// them say more about those of the same name; names are empty ones after the
/// last value.
static void mergeVerbatim(Operation *op, StringRef bytes, NodeProto &proto) {
  NodeProto more;
  if (!more.ParseFromString(bytes.str()))
    return;
  for (AttributeProto &attribute : *more.mutable_attribute()) {
    auto known = llvm::find_if(*proto.mutable_attribute(),
                               [&](const AttributeProto &candidate) {
                                 return candidate.name() == attribute.name();
                               });
    if (known == proto.mutable_attribute()->end())
      *proto.add_attribute() = attribute;
    else
      known->MergeFrom(attribute);
  }
  more.clear_attribute();
  proto.MergeFrom(more);
  if (auto schemaOp = dyn_cast<amp::onnx::SchemaOpInterface>(op)) {
    fitNames(*proto.mutable_input(), schemaOp.getSpec().inputs);
    fitNames(*proto.mutable_output(), schemaOp.getSpec().outputs);
  }
}

/// Name, doc string and the fields that the IR does not model.
static void buildDiscardable(Operation *op, NodeProto &proto) {
  StringAttr verbatim;
  // Asking for the dictionary would make one for ops without properties.
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    auto text = dyn_cast<StringAttr>(attribute.getValue());
    if (!text)
      continue;
    StringRef key = attribute.getName();
    if (key == OnnxDialect::getNameAttrName())
      proto.set_name(text.data(), text.size());
    else if (key == OnnxDialect::getDocStringAttrName())
      proto.set_doc_string(text.str());
    else if (key == OnnxDialect::getVerbatimAttrName())
      verbatim = text;
  }
  if (verbatim)
    mergeVerbatim(op, verbatim, proto);
}

void amp::onnx_export::buildNode(NodeSite site, const FunctionPlan &plan,
                                 NodeProto &proto) {
  proto.Clear();
  if (site.output >= 0)
    return buildIdentityNode(site, plan, proto);
  if (auto cast = dyn_cast<CastOp>(site.op))
    buildCastNode(cast, plan, proto);
  else if (auto node = dyn_cast<amp::onnx::NodeOp>(site.op))
    buildGenericNode(node, plan, proto);
  else
    buildSchemaNode(llvm::cast<amp::onnx::SchemaOpInterface>(site.op), plan,
                    proto);
  buildDiscardable(site.op, proto);
}

bool amp::onnx_export::isSparseInitializer(Operation *op) {
  auto constant = dyn_cast<amp::onnx::ConstantOp>(op);
  auto bytes = constant ? dyn_cast_or_null<amp::onnx::ProtoAttr>(
                              constant.getSparseValueAttr())
                        : amp::onnx::ProtoAttr();
  ::onnx::SparseTensorProto tensor;
  // Import keeps the name in the tensor; a Constant node's tensor has none.
  return bytes && amp::onnx::getNodeName(op).empty() &&
         tensor.ParseFromString(bytes.getBytes().str()) &&
         !tensor.values().name().empty() &&
         tensor.values().name() == amp::onnx::getValueName(op->getResult(0));
}

bool amp::onnx_export::isNode(Operation *op, const FunctionPlan &plan) {
  if (auto cast = dyn_cast<CastOp>(op))
    return plan.constants.getForm(cast) == CastForm::Node;
  if (isSparseInitializer(op))
    return false;
  return isa<amp::onnx::NodeOp, amp::onnx::SchemaOpInterface>(op);
}

bool amp::onnx_export::isAnonymous(Operation *op) {
  return amp::onnx::getNodeName(op).empty() &&
         amp::onnx::getValueName(op->getResult(0)).empty();
}

//===----------------------------------------------------------------------===//
// NodeView
//===----------------------------------------------------------------------===//

NodeView::NodeView(NodeSite site, FunctionPlan &plan, bool isTrial)
    : NodeContext(plan.schemas), plan(plan), isTrial(isTrial) {
  auto add = [&](Value value) { values[plan.names.get(value)] = value; };
  if (site.output >= 0) {
    Value value = site.op->getOperand(site.output);
    add(value);
    StringAttr name =
        plan.names.getOutputs(site.op->getBlock())[site.output].name;
    values[name] = value;
    return;
  }
  llvm::for_each(site.op->getOperands(), add);
  llvm::for_each(site.op->getResults(), add);
  for (Value operand : site.op->getOperands())
    if (auto unsqueeze = operand.getDefiningOp<amp::onnx::UnsqueezeOp>();
        unsqueeze && isAnonymous(unsqueeze))
      add(unsqueeze.getData());
}

const ::onnx::TypeProto *NodeView::getType(StringRef name) const {
  Value value = values.lookup(name);
  if (!value || isa<amp::onnx::UnknownType>(value.getType()))
    return nullptr;
  proto::exportType(plan.constants.getType(value), types.emplace_back());
  return &types.back();
}

const ::onnx::TensorProto *NodeView::getConstant(StringRef name) const {
  Value value = values.lookup(name);
  if (!value)
    return nullptr;
  const Narrowing *narrowing = nullptr;
  if (auto cast = value.getDefiningOp<CastOp>();
      cast && plan.constants.getForm(cast) == CastForm::Merged)
    value = cast.getInput();
  ElementsAttr elements = amp::onnx::getConstantValue(value);
  if (!elements ||
      proto::getRawSize(elements.getShapedType()) > maxInlineTensor)
    return nullptr;
  narrowing = plan.constants.getNarrowing(value.getDefiningOp());
  ::onnx::TensorProto &tensor = tensors.emplace_back();
  proto::exportTensor(elements, tensor);
  if (!narrowing)
    return &tensor;
  std::string halves(tensor.raw_data().size() / 2, '\0');
  convertToHalf(tensor.raw_data().data(), halves.data(), halves.size() / 2,
                narrowing->getFormat(), narrowing->range);
  tensor.set_data_type(proto::exportElementType(narrowing->elementType));
  tensor.set_raw_data(std::move(halves));
  return &tensor;
}

StringRef NodeView::getUnsqueezed(StringRef name) const {
  Value value = values.lookup(name);
  auto unsqueeze =
      value ? value.getDefiningOp<amp::onnx::UnsqueezeOp>() : nullptr;
  if (!unsqueeze || !isAnonymous(unsqueeze))
    return {};
  return plan.names.get(unsqueeze.getData()).getValue();
}

std::string NodeView::freshName(StringRef base) {
  return isTrial ? (base + "_trial").str()
                 : plan.names.makeValueName(base).str();
}

bool NodeView::isUsed(StringRef name) const {
  Value value = values.lookup(name);
  return !value || !value.use_empty();
}
