//===- OpFields.cpp - An operation's fields as protos ---------------------===//
//
// What the onnx library's functions ask about a node, converted when they ask.
//
//===----------------------------------------------------------------------===//

#include "OpFields.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;
using ::onnx::AttributeProto;
using ::onnx::TensorProto;
using ::onnx::TypeProto;

/// Constants with more data than this do not say anything about shapes.
static constexpr uint64_t maxConstantBytes = 1024;

/// More dimensions than any tensor has.
static constexpr int64_t maxRank = 1024;

//===----------------------------------------------------------------------===//
// Types and schemas
//===----------------------------------------------------------------------===//

void amp::onnx::detail::dropNegativeDims(TypeProto &proto) {
  auto drop = [](::onnx::TensorShapeProto &shape) {
    for (auto &dim : *shape.mutable_dim())
      if (dim.has_dim_value() && dim.dim_value() < 0)
        dim.clear_dim_value();
  };
  if (proto.has_tensor_type() && proto.tensor_type().has_shape())
    drop(*proto.mutable_tensor_type()->mutable_shape());
  else if (proto.has_sparse_tensor_type() &&
           proto.sparse_tensor_type().has_shape())
    drop(*proto.mutable_sparse_tensor_type()->mutable_shape());
  else if (proto.has_sequence_type())
    dropNegativeDims(*proto.mutable_sequence_type()->mutable_elem_type());
  else if (proto.has_optional_type())
    dropNegativeDims(*proto.mutable_optional_type()->mutable_elem_type());
}

const TypeProto *TypeProtos::get(Type type) {
  auto [entry, inserted] = protos.try_emplace(type, nullptr);
  if (!inserted)
    return entry->second;
  auto *proto = google::protobuf::Arena::CreateMessage<TypeProto>(&arena);
  amp::proto::exportType(type, *proto);
  if (proto->value_case() == TypeProto::VALUE_NOT_SET)
    return nullptr;
  dropNegativeDims(*proto);
  return entry->second = proto;
}

const ::onnx::OpSchema *Schemas::get(const OpSpec &spec) {
  auto [entry, inserted] = schemas.try_emplace(&spec, nullptr);
  if (inserted)
    entry->second = ::onnx::OpSchemaRegistry::Schema(
        spec.name.str(), pinnedOpset, ::onnx::ONNX_DOMAIN);
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

bool amp::onnx::detail::getSmallConstant(Value value, TensorProto &proto) {
  ElementsAttr elements = getConstantValue(value);
  if (!elements)
    return false;
  std::optional<uint64_t> size =
      amp::proto::getRawSize(elements.getShapedType());
  if (!size || *size > maxConstantBytes)
    return false;
  amp::proto::exportTensor(elements, proto);
  return proto.raw_data().size() == *size;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

/// As exportAttribute, but only type and shape of large tensors.
static void convertAttribute(Attribute value, AttributeProto &proto) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements)
    return amp::proto::exportAttribute(value, proto);
  std::optional<uint64_t> size =
      amp::proto::getRawSize(elements.getShapedType());
  if (size && *size <= maxConstantBytes)
    return amp::proto::exportAttribute(value, proto);
  proto.set_type(AttributeProto::TENSOR);
  TensorProto &tensor = *proto.mutable_t();
  tensor.set_data_type(
      amp::proto::exportElementType(elements.getElementType()));
  for (int64_t dim : elements.getShapedType().getShape())
    tensor.add_dims(dim);
}

/// Refuses dimension numbers that no tensor has: the library narrows them to
/// ints and uses some of them unchecked.
static void checkDimensions(const AttributeProto &proto) {
  StringRef name = proto.name();
  if (!name.contains("axis") && !name.contains("axes") && name != "perm" &&
      name != "batch_dims")
    return;
  auto check = [&](int64_t dimension) {
    // A number of dimensions is not counted from the back.
    int64_t least = name == "batch_dims" ? 0 : -maxRank;
    if (dimension < least || dimension > maxRank)
      throw ::onnx::InferenceError(
          "attribute '" + proto.name() +
          "' names no dimension: " + std::to_string(dimension));
  };
  check(proto.i());
  llvm::for_each(proto.ints(), check);
}

/// Refuses counts below one where the library divides by them.
static void checkCounts(const AttributeProto &proto) {
  static constexpr llvm::StringLiteral counts[] = {
      "blocksize",   "group",       "kv_num_heads", "num_groups",
      "num_outputs", "q_num_heads", "strides"};
  if (!llvm::is_contained(counts, StringRef(proto.name())))
    return;
  auto check = [&](int64_t count) {
    if (count < 1)
      throw ::onnx::InferenceError("attribute '" + proto.name() +
                                   "' must be at least 1, but is " +
                                   std::to_string(count));
  };
  if (proto.ints().empty())
    check(proto.i());
  llvm::for_each(proto.ints(), check);
}

const AttributeProto *OpAttributes::get(const std::string &name) const {
  const AttrSpec *attribute =
      llvm::find_if(spec.attributes,
                    [&](const AttrSpec &known) { return known.name == name; });
  if (attribute == spec.attributes.end() || attribute->kind == AttrKind::GRAPH)
    return nullptr;
  for (auto &[known, proto] : converted)
    if (known == attribute)
      return proto.get();
  Attribute value = op->getAttr(attribute->odsName);
  if (!value)
    return nullptr;
  auto proto = std::make_unique<AttributeProto>();
  proto->set_name(name);
  convertAttribute(value, *proto);
  checkDimensions(*proto);
  checkCounts(*proto);
  return converted.emplace_back(attribute, std::move(proto)).second.get();
}
