//===- Attributes.cpp - Node attributes between protobuf and IR -----------===//
//
// What the IR has no form for travels as the bytes of its message.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Onnx/Proto/Proto.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp::onnx;
using ::onnx::AttributeProto;

/// The attribute's kind; files of IR version 1 leave it out, so that the field
/// that is set tells.
static AttributeProto::AttributeType getKind(const AttributeProto &proto) {
  if (proto.type() != AttributeProto::UNDEFINED)
    return proto.type();
  if (proto.has_f())
    return AttributeProto::FLOAT;
  if (proto.has_i())
    return AttributeProto::INT;
  if (proto.has_s())
    return AttributeProto::STRING;
  if (proto.has_t())
    return AttributeProto::TENSOR;
  if (proto.has_g())
    return AttributeProto::GRAPH;
  if (proto.has_sparse_tensor())
    return AttributeProto::SPARSE_TENSOR;
  if (proto.has_tp())
    return AttributeProto::TYPE_PROTO;
  if (proto.floats_size())
    return AttributeProto::FLOATS;
  if (proto.ints_size())
    return AttributeProto::INTS;
  if (proto.strings_size())
    return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

/// The whole attribute as bytes, without its name, which is a key elsewhere.
static Attribute importVerbatim(const AttributeProto &proto,
                                MLIRContext *context) {
  AttributeProto copy = proto;
  copy.clear_name();
  return ProtoAttr::get(context, "AttributeProto", copy.SerializeAsString());
}

/// A type, unless the IR would lose part of it (denotations, element types
/// newer than this library).
static Attribute importTypeAttribute(const AttributeProto &proto,
                                     MLIRContext *context) {
  Type type = amp::proto::importType(proto.tp(), context);
  ::onnx::TypeProto again;
  amp::proto::exportType(type, again);
  if (again.SerializeAsString() != proto.tp().SerializeAsString())
    return importVerbatim(proto, context);
  return TypeAttr::get(type);
}

llvm::Expected<Attribute>
amp::proto::importAttribute(const AttributeProto &proto, MLIRContext *context) {
  Builder builder(context);
  if (!proto.ref_attr_name().empty())
    return importVerbatim(proto, context);
  switch (getKind(proto)) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(proto.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(proto.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(proto.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        ArrayRef<int64_t>(proto.ints().data(), proto.ints().size()));
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(
        ArrayRef<float>(proto.floats().data(), proto.floats().size()));
  case AttributeProto::STRINGS: {
    SmallVector<Attribute> strings;
    for (const std::string &string : proto.strings())
      strings.push_back(builder.getStringAttr(string));
    return builder.getArrayAttr(strings);
  }
  case AttributeProto::TENSOR: {
    llvm::Expected<ElementsAttr> tensor = importTensor(proto.t(), context);
    if (!tensor)
      return tensor.takeError();
    return *tensor;
  }
  case AttributeProto::TYPE_PROTO:
    return importTypeAttribute(proto, context);
  case AttributeProto::SPARSE_TENSOR:
    return ProtoAttr::get(context, "SparseTensorProto",
                          proto.sparse_tensor().SerializeAsString());
  case AttributeProto::GRAPH:
    return llvm::createStringError("attribute '" + Twine(proto.name()) +
                                   "' is a graph where none is allowed");
  default:
    return importVerbatim(proto, context);
  }
}

/// Bytes of a message back into the attribute.
static void exportVerbatim(ProtoAttr value, AttributeProto &proto) {
  if (value.getKind() == "SparseTensorProto") {
    proto.set_type(AttributeProto::SPARSE_TENSOR);
    proto.mutable_sparse_tensor()->ParseFromString(value.getBytes().str());
    return;
  }
  // Merging keeps the name, which the bytes do not have.
  proto.MergeFromString(value.getBytes().str());
}

void amp::proto::exportAttribute(Attribute value, AttributeProto &proto) {
  llvm::TypeSwitch<Attribute>(value)
      .Case<IntegerAttr>([&](auto integer) {
        proto.set_type(AttributeProto::INT);
        proto.set_i(integer.getInt());
      })
      .Case<FloatAttr>([&](auto number) {
        proto.set_type(AttributeProto::FLOAT);
        proto.set_f(number.getValue().convertToFloat());
      })
      .Case<StringAttr>([&](auto string) {
        proto.set_type(AttributeProto::STRING);
        proto.set_s(string.str());
      })
      .Case<DenseI64ArrayAttr>([&](auto list) {
        proto.set_type(AttributeProto::INTS);
        proto.mutable_ints()->Add(list.asArrayRef().begin(),
                                  list.asArrayRef().end());
      })
      .Case<DenseF32ArrayAttr>([&](auto list) {
        proto.set_type(AttributeProto::FLOATS);
        proto.mutable_floats()->Add(list.asArrayRef().begin(),
                                    list.asArrayRef().end());
      })
      .Case<ArrayAttr>([&](auto list) {
        proto.set_type(AttributeProto::STRINGS);
        for (auto string : list.template getAsRange<StringAttr>())
          proto.add_strings(string.str());
      })
      .Case<ElementsAttr>([&](auto tensor) {
        proto.set_type(AttributeProto::TENSOR);
        exportTensor(tensor, *proto.mutable_t());
      })
      .Case<TypeAttr>([&](auto type) {
        proto.set_type(AttributeProto::TYPE_PROTO);
        exportType(type.getValue(), *proto.mutable_tp());
      })
      .Case<ProtoAttr>([&](auto bytes) { exportVerbatim(bytes, proto); });
}
