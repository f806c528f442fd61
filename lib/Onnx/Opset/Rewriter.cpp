//===- Rewriter.cpp - What a step of the opset table works on
//--------------===//
// Access to attributes and known values of a node, and the making of constants
// and nodes beside it.
//===----------------------------------------------------------------------===//

#include "Rewriter.h"
#include "Steps.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <onnx/defs/tensor_proto_util.h>

using namespace amp::onnx_opset;
using llvm::ArrayRef;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

NodeContext::~NodeContext() = default;
bool NodeContext::isUsed(StringRef) const { return true; }
StringRef NodeContext::getUnsqueezed(StringRef) const { return {}; }

Error Rewriter::fail(const Twine &message) const {
  return llvm::createStringError(node.op_type() + ": " + message);
}

Error Rewriter::refuse() const {
  return fail("nothing in the other opset means the same (opset " +
              Twine(step->to) + ": " + step->what + ")");
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

StringRef Rewriter::input(int index) const {
  return index < node.input_size() ? StringRef(node.input(index)) : "";
}

void Rewriter::setInput(int index, StringRef value) {
  while (node.input_size() <= index)
    node.add_input();
  node.set_input(index, value.str());
  trim();
}

void Rewriter::trim() {
  while (node.input_size() && node.input(node.input_size() - 1).empty())
    node.mutable_input()->RemoveLast();
  while (node.output_size() && node.output(node.output_size() - 1).empty())
    node.mutable_output()->RemoveLast();
}

//===----------------------------------------------------------------------===//
// Known values
//===----------------------------------------------------------------------===//

const onnx::TypeProto *Rewriter::type(StringRef value) const {
  if (value.empty())
    return nullptr;
  if (const onnx::TypeProto *made = conversion.typeByName.lookup(value))
    return made;
  return conversion.context.getType(value);
}

int Rewriter::elementType(StringRef value) const {
  const onnx::TypeProto *known = type(value);
  return known && known->has_tensor_type() ? known->tensor_type().elem_type()
                                           : TensorProto::UNDEFINED;
}

std::optional<Dims> Rewriter::dims(StringRef value) const {
  const onnx::TypeProto *known = type(value);
  if (!known || !known->has_tensor_type() || !known->tensor_type().has_shape())
    return std::nullopt;
  Dims sizes;
  for (const auto &dim : known->tensor_type().shape().dim())
    sizes.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return sizes;
}

std::optional<int64_t> Rewriter::rank(StringRef value) const {
  if (std::optional<Dims> sizes = dims(value))
    return sizes->size();
  return std::nullopt;
}

static const TensorProto *findConstant(const Conversion &conversion,
                                       StringRef value) {
  if (value.empty())
    return nullptr;
  if (const TensorProto *made = conversion.constantByName.lookup(value))
    return made;
  const TensorProto *known = conversion.context.getConstant(value);
  return known && !known->has_data_location() ? known : nullptr;
}

std::optional<Ints> Rewriter::ints(StringRef value) const {
  const TensorProto *tensor = findConstant(conversion, value);
  if (!tensor)
    return std::nullopt;
  try {
    switch (tensor->data_type()) {
    case TensorProto::INT64: {
      std::vector<int64_t> data = onnx::ParseData<int64_t>(tensor);
      return Ints(data.begin(), data.end());
    }
    case TensorProto::INT32: {
      std::vector<int32_t> data = onnx::ParseData<int32_t>(tensor);
      return Ints(data.begin(), data.end());
    }
    case TensorProto::BOOL:
      if (tensor->has_raw_data())
        return Ints(tensor->raw_data().begin(), tensor->raw_data().end());
      return Ints(tensor->int32_data().begin(), tensor->int32_data().end());
    default:
      return std::nullopt;
    }
  } catch (const std::exception &) {
    return std::nullopt; // The data does not fit the declared shape: the
                         // checker's matter.
  }
}

static const llvm::fltSemantics *getHalfSemantics(int elementType) {
  switch (elementType) {
  case TensorProto::FLOAT16:
    return &llvm::APFloat::IEEEhalf();
  case TensorProto::BFLOAT16:
    return &llvm::APFloat::BFloat();
  default:
    return nullptr;
  }
}

/// The elements of an f16 or bf16 tensor.
static llvm::SmallVector<double>
parseHalves(const TensorProto &tensor, const llvm::fltSemantics &semantics) {
  llvm::SmallVector<double> values;
  auto add = [&](uint16_t bits) {
    values.push_back(
        llvm::APFloat(semantics, llvm::APInt(16, bits)).convertToDouble());
  };
  const std::string &raw = tensor.raw_data();
  for (size_t i = 0; i + 1 < raw.size(); i += 2)
    add(static_cast<uint8_t>(raw[i]) | static_cast<uint8_t>(raw[i + 1]) << 8);
  for (int32_t bits : tensor.int32_data())
    add(static_cast<uint16_t>(bits));
  return values;
}

std::optional<llvm::SmallVector<double>>
Rewriter::floats(StringRef value) const {
  const TensorProto *tensor = findConstant(conversion, value);
  if (!tensor)
    return std::nullopt;
  try {
    if (tensor->data_type() == TensorProto::FLOAT) {
      std::vector<float> data = onnx::ParseData<float>(tensor);
      return llvm::SmallVector<double>(data.begin(), data.end());
    }
    if (tensor->data_type() == TensorProto::DOUBLE) {
      std::vector<double> data = onnx::ParseData<double>(tensor);
      return llvm::SmallVector<double>(data.begin(), data.end());
    }
    if (const llvm::fltSemantics *semantics =
            getHalfSemantics(tensor->data_type()))
      return parseHalves(*tensor, *semantics);
  } catch (const std::exception &) {
    return std::nullopt; // As above.
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Rewriter::attribute(StringRef name) const {
  for (const AttributeProto &attr : node.attribute())
    if (attr.name() == name)
      return &attr;
  return nullptr;
}

int64_t Rewriter::intAttribute(StringRef name, int64_t otherwise) const {
  const AttributeProto *attr = attribute(name);
  return attr ? attr->i() : otherwise;
}

float Rewriter::floatAttribute(StringRef name, float otherwise) const {
  const AttributeProto *attr = attribute(name);
  return attr ? attr->f() : otherwise;
}

std::string Rewriter::stringAttribute(StringRef name,
                                      StringRef otherwise) const {
  const AttributeProto *attr = attribute(name);
  return attr ? attr->s() : otherwise.str();
}

std::optional<Ints> Rewriter::intsAttribute(StringRef name) const {
  const AttributeProto *attr = attribute(name);
  if (!attr)
    return std::nullopt;
  return Ints(attr->ints().begin(), attr->ints().end());
}

void Rewriter::erase(StringRef name) {
  auto &attributes = *node.mutable_attribute();
  attributes.erase(llvm::remove_if(attributes,
                                   [&](const AttributeProto &attr) {
                                     return attr.name() == name;
                                   }),
                   attributes.end());
}

AttributeProto &Rewriter::fresh(StringRef name,
                                AttributeProto::AttributeType type) {
  AttributeProto *attr = nullptr;
  for (AttributeProto &present : *node.mutable_attribute())
    if (present.name() == name)
      attr = &present;
  if (!attr)
    attr = node.add_attribute();
  attr->Clear();
  attr->set_name(name.str());
  attr->set_type(type);
  return *attr;
}

void Rewriter::set(StringRef name, int64_t value) {
  fresh(name, AttributeProto::INT).set_i(value);
}

void Rewriter::set(StringRef name, StringRef value) {
  fresh(name, AttributeProto::STRING).set_s(value.str());
}

void Rewriter::set(StringRef name, ArrayRef<int64_t> value) {
  fresh(name, AttributeProto::INTS)
      .mutable_ints()
      ->Assign(value.begin(), value.end());
}

void Rewriter::setFloat(StringRef name, float value) {
  fresh(name, AttributeProto::FLOAT).set_f(value);
}

void Rewriter::setFloats(StringRef name, ArrayRef<float> value) {
  fresh(name, AttributeProto::FLOATS)
      .mutable_floats()
      ->Assign(value.begin(), value.end());
}

void Rewriter::setTensor(StringRef name, TensorProto value) {
  *fresh(name, AttributeProto::TENSOR).mutable_t() = std::move(value);
}

void amp::onnx_opset::addAttribute(NodeProto &node, StringRef name,
                                   int64_t value) {
  AttributeProto &attr = *node.add_attribute();
  attr.set_name(name.str());
  attr.set_type(AttributeProto::INT);
  attr.set_i(value);
}

void amp::onnx_opset::addAttribute(NodeProto &node, StringRef name,
                                   ArrayRef<int64_t> value) {
  AttributeProto &attr = *node.add_attribute();
  attr.set_name(name.str());
  attr.set_type(AttributeProto::INTS);
  attr.mutable_ints()->Assign(value.begin(), value.end());
}

//===----------------------------------------------------------------------===//
// New values
//===----------------------------------------------------------------------===//

std::string Rewriter::freshName(StringRef base) {
  const std::string &stem = hasOutput(0) ? node.output(0) : node.op_type();
  return conversion.context.freshName(stem + "_" + base.str());
}

std::string Rewriter::addConstant(StringRef base, TensorProto tensor) {
  std::string name = freshName(base);
  tensor.set_name(name);
  onnx::TypeProto &type = conversion.types.emplace_back();
  type.mutable_tensor_type()->set_elem_type(tensor.data_type());
  auto *shape = type.mutable_tensor_type()->mutable_shape();
  for (int64_t size : tensor.dims())
    shape->add_dim()->set_dim_value(size);
  conversion.typeByName[name] = &type;
  conversion.constantByName[name] =
      &conversion.constants.emplace_back(std::move(tensor));
  return name;
}

std::string Rewriter::addInts(StringRef base, ArrayRef<int64_t> values,
                              bool scalar) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::INT64);
  if (!scalar)
    tensor.add_dims(values.size());
  tensor.mutable_int64_data()->Assign(values.begin(), values.end());
  return addConstant(base, std::move(tensor));
}

std::string Rewriter::addFloats(StringRef base, int elementType,
                                ArrayRef<double> values, bool scalar) {
  TensorProto tensor;
  tensor.set_data_type(elementType);
  if (!scalar)
    tensor.add_dims(values.size());
  for (double value : values) {
    if (elementType == TensorProto::FLOAT) {
      tensor.add_float_data(static_cast<float>(value));
    } else if (elementType == TensorProto::DOUBLE) {
      tensor.add_double_data(value);
    } else {
      const llvm::fltSemantics *semantics = getHalfSemantics(elementType);
      assert(semantics &&
             "not a floating-point type that a rule makes constants of");
      llvm::APFloat narrow(value);
      bool losesInfo;
      narrow.convert(*semantics, llvm::APFloat::rmNearestTiesToEven,
                     &losesInfo);
      tensor.add_int32_data(narrow.bitcastToAPInt().getZExtValue());
    }
  }
  return addConstant(base, std::move(tensor));
}

static NodeProto &addNode(std::vector<NodeProto> &nodes, StringRef op,
                          ArrayRef<StringRef> inputs, StringRef output) {
  NodeProto &made = nodes.emplace_back();
  made.set_op_type(op.str());
  for (StringRef input : inputs)
    made.add_input(input.str());
  made.add_output(output.str());
  return made;
}

NodeProto &Rewriter::addBefore(StringRef op, ArrayRef<StringRef> inputs,
                               StringRef output) {
  return addNode(before, op, inputs, output);
}

NodeProto &Rewriter::addAfter(StringRef op, ArrayRef<StringRef> inputs,
                              StringRef output) {
  return addNode(after, op, inputs, output);
}
