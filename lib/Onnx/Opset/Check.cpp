//===- Check.cpp - Hold a node against a schema
//----------------------------===//
// What all steps down have in common, and the test that a converted node is
// legal where it went.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include <onnx/defs/data_type_utils.h>
#include <onnx/defs/schema.h>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;
using onnx::AttributeProto;
using onnx::OpSchema;

/// Whether two attributes of the kinds that have defaults say the same.
static bool sameValue(const AttributeProto &a, const AttributeProto &b) {
  if (a.type() != b.type())
    return false;
  switch (a.type()) {
  case AttributeProto::INT:
    return a.i() == b.i();
  case AttributeProto::FLOAT:
    return a.f() == b.f();
  case AttributeProto::STRING:
    return a.s() == b.s();
  case AttributeProto::INTS:
    return std::equal(a.ints().begin(), a.ints().end(), b.ints().begin(),
                      b.ints().end());
  case AttributeProto::FLOATS:
    return std::equal(a.floats().begin(), a.floats().end(), b.floats().begin(),
                      b.floats().end());
  case AttributeProto::STRINGS:
    return std::equal(a.strings().begin(), a.strings().end(),
                      b.strings().begin(), b.strings().end());
  default:
    return false;
  }
}

/// Drops the attributes that only the newer schema knows where they have its
/// default: that is what the older one means.
static Error dropNewAttributes(Rewriter &rewriter, const OpSchema &newer,
                               const OpSchema &older) {
  llvm::SmallVector<std::string, 2> implied;
  for (const AttributeProto &attr : rewriter.node.attribute()) {
    if (older.attributes().count(attr.name()))
      continue;
    auto known = newer.attributes().find(attr.name());
    if (known == newer.attributes().end() ||
        !sameValue(attr, known->second.default_value))
      return rewriter.fail("attribute '" + attr.name() + "' needs opset " +
                           Twine(newer.since_version()) +
                           " with the value it has");
    implied.push_back(attr.name());
  }
  for (const std::string &name : implied)
    rewriter.erase(name);
  return Error::success();
}

static Error addRequiredAttributes(Rewriter &rewriter, const OpSchema &newer,
                                   const OpSchema &older) {
  for (const auto &[name, attr] : older.attributes()) {
    if (!attr.required || rewriter.hasAttribute(name))
      continue;
    auto known = newer.attributes().find(name);
    if (known == newer.attributes().end() ||
        known->second.default_value.name().empty())
      return rewriter.fail("attribute '" + name +
                           "' must be there before opset " +
                           Twine(newer.since_version()));
    *rewriter.node.add_attribute() = known->second.default_value;
  }
  return Error::success();
}

static Error checkCounts(const Rewriter &rewriter, const OpSchema &schema,
                         int version) {
  auto check = [&](StringRef kind, int count, int min, int max) -> Error {
    if (count > max)
      return rewriter.fail("opset " + Twine(version) + " has no " + kind + " " +
                           Twine(max));
    if (count < min)
      return rewriter.fail("opset " + Twine(version) + " needs " + kind + " " +
                           Twine(count));
    return Error::success();
  };
  const onnx::NodeProto &node = rewriter.node;
  if (Error error = check("input", node.input_size(), schema.min_input(),
                          schema.max_input()))
    return error;
  return check("output", node.output_size(), schema.min_output(),
               schema.max_output());
}

Error amp::onnx_opset::narrow(Rewriter &rewriter, const OpSchema &newer,
                              const OpSchema &older) {
  if (Error error = dropNewAttributes(rewriter, newer, older))
    return error;
  if (Error error = addRequiredAttributes(rewriter, newer, older))
    return error;
  rewriter.trim();
  return checkCounts(rewriter, older, newer.since_version() - 1);
}

static const OpSchema::FormalParameter *
getFormal(const std::vector<OpSchema::FormalParameter> &formals, int index) {
  if (formals.empty())
    return nullptr;
  if (index < static_cast<int>(formals.size()))
    return &formals[index];
  return formals.back().GetOption() == OpSchema::Variadic ? &formals.back()
                                                          : nullptr;
}

/// The element type that an attribute gives output 0 of some ops.
static int getElementTypeByAttribute(const Rewriter &rewriter) {
  StringRef op = rewriter.node.op_type();
  if (op == "Cast")
    return rewriter.intAttribute("to", onnx::TensorProto::UNDEFINED);
  const AttributeProto *value = rewriter.attribute("value");
  if ((op == "Constant" || op == "ConstantOfShape") && value)
    return value->t().data_type();
  if (op != "SequenceEmpty")
    return rewriter.intAttribute("dtype", onnx::TensorProto::UNDEFINED);
  return onnx::TensorProto::UNDEFINED;
}

/// The registry's name of a type, or null if it has none: a tensor of unknown
/// elements, for example.
static onnx::DataType getTypeName(const onnx::TypeProto *type) {
  if (!type)
    return nullptr;
  try {
    return onnx::Utils::DataTypeUtils::ToType(*type);
  } catch (const std::exception &) {
    return nullptr;
  }
}

namespace {
/// Checks the known types of a node's values against what a schema allows at
/// their places, and that values of one type variable have one type.
class TypeChecker {
public:
  TypeChecker(const Rewriter &rewriter, int version)
      : rewriter(rewriter), version(version) {}

  using Values = google::protobuf::RepeatedPtrField<std::string>;
  using Formals = std::vector<OpSchema::FormalParameter>;

  Error check(StringRef kind, const Values &values, const Formals &formals) {
    for (int i = 0, e = values.size(); i != e; ++i) {
      const OpSchema::FormalParameter *formal = getFormal(formals, i);
      if (!formal || values[i].empty())
        continue;
      onnx::DataType name = getTypeName(rewriter.type(values[i]));
      if (!name && kind == "output" && i == 0)
        name = getTypeByAttribute();
      if (!name)
        continue;
      if (Error error = checkOne((kind + " " + Twine(i)).str(), *formal, name))
        return error;
    }
    return Error::success();
  }

private:
  onnx::DataType getTypeByAttribute() const {
    int elementType = getElementTypeByAttribute(rewriter);
    if (elementType == onnx::TensorProto::UNDEFINED)
      return nullptr;
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(elementType);
    return getTypeName(&type);
  }

  Error checkOne(const std::string &where,
                 const OpSchema::FormalParameter &formal, onnx::DataType name) {
    if (!formal.GetTypes().count(name))
      return rewriter.fail("opset " + Twine(version) + " does not take " +
                           *name + " as " + where + " ('" + formal.GetName() +
                           "')");
    if (!formal.GetIsHomogeneous())
      return Error::success();
    auto [first, isNew] = bound.try_emplace(formal.GetTypeStr(), name, where);
    if (!isNew && first->second.first != name)
      return rewriter.fail("opset " + Twine(version) + " needs the types of " +
                           first->second.second + " and " + where +
                           " to be the same, and they are " +
                           *first->second.first + " and " + *name);
    return Error::success();
  }

  const Rewriter &rewriter;
  const int version;
  /// Type variable -> its type, and who said so.
  llvm::StringMap<std::pair<onnx::DataType, std::string>> bound;
};
} // namespace

Error amp::onnx_opset::checkForm(const Rewriter &rewriter,
                                 const OpSchema &schema) {
  const onnx::NodeProto &node = rewriter.node;
  if (node.input_size() < schema.min_input())
    return rewriter.fail("input " + Twine(node.input_size()) + " is missing");
  if (node.output_size() < std::min(1, schema.min_output()))
    return rewriter.fail("output 0 is missing");
  for (const AttributeProto &attr : node.attribute()) {
    auto known = schema.attributes().find(attr.name());
    if (known != schema.attributes().end() && known->second.type != attr.type())
      return rewriter.fail("attribute '" + attr.name() +
                           "' is not of the type it must have");
  }
  return Error::success();
}

Error amp::onnx_opset::checkNode(Rewriter &rewriter, const OpSchema &schema,
                                 int version) {
  for (const AttributeProto &attr : rewriter.node.attribute())
    if (!schema.attributes().count(attr.name()))
      return rewriter.fail("attribute '" + attr.name() +
                           "' does not exist in opset " + Twine(version));
  for (const auto &[name, attr] : schema.attributes())
    if (attr.required && !rewriter.hasAttribute(name))
      return rewriter.fail("attribute '" + name + "' is missing");
  if (Error error = checkCounts(rewriter, schema, version))
    return error;
  for (int i = 0, e = rewriter.node.input_size(); i != e; ++i) {
    const OpSchema::FormalParameter *formal = getFormal(schema.inputs(), i);
    if (formal && formal->GetOption() == OpSchema::Single &&
        !rewriter.hasInput(i))
      return rewriter.fail("input " + Twine(i) + " ('" + formal->GetName() +
                           "') is missing");
  }
  TypeChecker types(rewriter, version);
  if (Error error =
          types.check("input", rewriter.node.input(), schema.inputs()))
    return error;
  return types.check("output", rewriter.node.output(), schema.outputs());
}
