//===- Attributes.cpp - Attributes of operators from Python ---------------===//
//
// Python numbers, texts, lists and arrays in the form that the IR has for each
// kind.
//
//===----------------------------------------------------------------------===//

#include "Attributes.h"
#include "Arrays.h"
#include "Context.h"
#include "mlir/IR/Builders.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

using namespace mlir;
using namespace amp::python;
using amp::onnx::AttrKind;
using amp::onnx::AttrSpec;
namespace nb = nanobind;

static const char *describeKind(AttrKind kind) {
  switch (kind) {
  case AttrKind::INT:
    return "an int";
  case AttrKind::INTS:
    return "a list of ints";
  case AttrKind::FLOAT:
    return "a float";
  case AttrKind::FLOATS:
    return "a list of floats";
  case AttrKind::STRING:
    return "a str";
  case AttrKind::STRINGS:
    return "a list of str";
  case AttrKind::TENSOR:
    return "an array";
  case AttrKind::SPARSE_TENSOR:
  case AttrKind::TYPE_PROTO:
  case AttrKind::GRAPH:
    return "of a kind that can't be built";
  }
  llvm_unreachable("all kinds are named");
}

/// Null when `value` is of another kind.
static Attribute convert(AttrKind kind, nb::handle value, StringRef name,
                         Builder &builder) {
  int64_t integer;
  double number;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<float> numbers;
  std::vector<std::string> texts;
  switch (kind) {
  case AttrKind::INT:
    return nb::try_cast(value, integer) ? builder.getI64IntegerAttr(integer)
                                        : Attribute();
  case AttrKind::FLOAT:
    return nb::try_cast(value, number) ? builder.getF32FloatAttr(number)
                                       : Attribute();
  case AttrKind::STRING:
    if (nb::isinstance<nb::bytes>(value)) {
      auto bytes = nb::borrow<nb::bytes>(value);
      return builder.getStringAttr(StringRef(bytes.c_str(), bytes.size()));
    }
    return nb::try_cast(value, text) ? builder.getStringAttr(text)
                                     : Attribute();
  case AttrKind::INTS:
    return nb::try_cast(value, integers)
               ? builder.getDenseI64ArrayAttr(integers)
               : Attribute();
  case AttrKind::FLOATS:
    return nb::try_cast(value, numbers) ? builder.getDenseF32ArrayAttr(numbers)
                                        : Attribute();
  case AttrKind::STRINGS:
    if (!nb::try_cast(value, texts))
      return {};
    return builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(texts));
  case AttrKind::TENSOR:
    return makeElements(value, nb::none(), nb::none(), name,
                        builder.getContext());
  case AttrKind::SPARSE_TENSOR:
  case AttrKind::TYPE_PROTO:
  case AttrKind::GRAPH:
    return {};
  }
  llvm_unreachable("all kinds are handled");
}

/// Attributes that no schema knows: bools, ints, floats and texts.
static Attribute convertDiscardable(nb::handle value, StringRef name,
                                    Builder &builder) {
  if (nb::isinstance<nb::bool_>(value))
    return builder.getBoolAttr(nb::cast<bool>(value));
  for (AttrKind kind : {AttrKind::INT, AttrKind::FLOAT, AttrKind::STRING})
    if (Attribute converted = convert(kind, value, name, builder))
      return converted;
  throw Error("attribute '" + name.str() +
              "' is a bool, an int, a float or a str, but got " +
              nb::cast<std::string>(nb::repr(value)));
}

void amp::python::addAttributes(const onnx::OpSpec &spec, nb::dict attributes,
                                OperationState &state) {
  Builder builder(state.getContext());
  for (auto [key, value] : attributes) {
    auto name = nb::cast<std::string>(key);
    if (StringRef(name).contains('.')) {
      state.addAttribute(name, convertDiscardable(value, name, builder));
      continue;
    }
    auto found = llvm::find_if(spec.attributes, [&](const AttrSpec &attribute) {
      return attribute.name == name;
    });
    if (found == spec.attributes.end())
      throw Error("it takes no attribute '" + name + "'");
    if (value.is_none())
      continue;
    Attribute converted = convert(found->kind, value, name, builder);
    if (!converted)
      throw Error("attribute '" + name + "' is " + describeKind(found->kind) +
                  ", but got " + nb::cast<std::string>(nb::repr(value)));
    state.addAttribute(found->odsName, converted);
  }
  for (const AttrSpec &attribute : spec.attributes)
    if (attribute.required && !state.attributes.get(attribute.odsName))
      throw Error("the attribute '" + attribute.name.str() + "' (" +
                  describeKind(attribute.kind) + ") is missing");
}
