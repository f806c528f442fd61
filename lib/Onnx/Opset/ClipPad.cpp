//===- ClipPad.cpp - Clip and Pad
//------------------------------------------===//
// Bounds, pads and the padding value became inputs at opset 11.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include <cmath>
#include <limits>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::TensorProto;

/// FLOAT attribute `name` -> scalar input `index`, of the type of input 0.
static Error moveToInput(Rewriter &rewriter, StringRef name, int index,
                         StringRef inputName) {
  const onnx::AttributeProto *attr = rewriter.attribute(name);
  if (!attr)
    return Error::success();
  int type = rewriter.elementType(rewriter.input(0));
  if (type != TensorProto::FLOAT && type != TensorProto::DOUBLE &&
      type != TensorProto::FLOAT16 && type != TensorProto::BFLOAT16)
    return rewriter.fail("the type of the input is not known, so '" + name +
                         "' cannot become a constant of that type");
  double value = attr->f();
  rewriter.erase(name);
  rewriter.setInput(
      index, rewriter.addFloats(inputName, type, value, /*scalar=*/true));
  return Error::success();
}

/// Constant scalar input `index` -> FLOAT attribute `name`.
static Error moveToAttribute(Rewriter &rewriter, StringRef name, int index) {
  if (!rewriter.hasInput(index))
    return Error::success();
  auto values = rewriter.floats(rewriter.input(index));
  if (!values || values->size() != 1)
    return rewriter.fail(name + " is not a floating-point constant");
  double value = values->front();
  if (static_cast<double>(static_cast<float>(value)) != value &&
      !std::isnan(value))
    return rewriter.fail(name + " does not fit an attribute of f32");
  rewriter.setFloat(name, value);
  rewriter.dropInput(index);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Clip
//===----------------------------------------------------------------------===//

/// The default of the attributes is that of the absent inputs.
Error amp::onnx_opset::raiseClip(Rewriter &rewriter) {
  constexpr float most = std::numeric_limits<float>::max();
  if (rewriter.floatAttribute("min", -most) == -most)
    rewriter.erase("min");
  if (rewriter.floatAttribute("max", most) == most)
    rewriter.erase("max");
  if (Error error = moveToInput(rewriter, "min", 1, "min"))
    return error;
  return moveToInput(rewriter, "max", 2, "max");
}

Error amp::onnx_opset::lowerClip(Rewriter &rewriter) {
  if (Error error = moveToAttribute(rewriter, "min", 1))
    return error;
  return moveToAttribute(rewriter, "max", 2);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// paddings -> pads
Error amp::onnx_opset::raisePadName(Rewriter &rewriter) {
  std::optional<Ints> pads = rewriter.intsAttribute("paddings");
  if (!pads)
    return rewriter.fail("attribute 'paddings' is missing");
  rewriter.erase("paddings");
  rewriter.set("pads", *pads);
  return Error::success();
}

Error amp::onnx_opset::lowerPadName(Rewriter &rewriter) {
  std::optional<Ints> pads = rewriter.intsAttribute("pads");
  if (!pads)
    return rewriter.fail("attribute 'pads' is missing");
  rewriter.erase("pads");
  rewriter.set("paddings", *pads);
  return Error::success();
}

Error amp::onnx_opset::raisePad(Rewriter &rewriter) {
  std::optional<Ints> pads = rewriter.intsAttribute("pads");
  if (!pads)
    return rewriter.fail("attribute 'pads' is missing");
  rewriter.erase("pads");
  rewriter.setInput(1, rewriter.addInts("pads", *pads));
  if (rewriter.floatAttribute("value", 0) == 0)
    rewriter.erase("value");
  return moveToInput(rewriter, "value", 2, "constant_value");
}

Error amp::onnx_opset::lowerPad(Rewriter &rewriter) {
  std::optional<Ints> pads = rewriter.ints(rewriter.input(1));
  if (!pads)
    return rewriter.fail("pads are not constant");
  rewriter.set("pads", *pads);
  if (Error error = moveToAttribute(rewriter, "value", 2))
    return error;
  rewriter.dropInput(1);
  return Error::success();
}

/// pads of some axes -> pads of all axes
Error amp::onnx_opset::lowerPadAxes(Rewriter &rewriter) {
  if (!rewriter.hasInput(3))
    return Error::success();
  std::optional<Ints> axes = rewriter.ints(rewriter.input(3));
  std::optional<Ints> pads = rewriter.ints(rewriter.input(1));
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!axes || !pads || !rank || pads->size() != 2 * axes->size())
    return rewriter.fail("axes, pads or the rank of the input are not known");
  Ints all(2 * *rank, 0);
  for (size_t i = 0, e = axes->size(); i != e; ++i) {
    int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + *rank : (*axes)[i];
    if (axis < 0 || axis >= *rank)
      return rewriter.fail("axes has one that the input has not");
    all[axis] = (*pads)[i];
    all[axis + *rank] = (*pads)[i + e];
  }
  rewriter.setInput(1, rewriter.addInts("pads", all));
  rewriter.dropInput(3);
  return Error::success();
}

Error amp::onnx_opset::lowerPadWrap(Rewriter &rewriter) {
  if (rewriter.stringAttribute("mode", "constant") == "wrap")
    return rewriter.fail("mode \"wrap\" needs opset 19");
  return Error::success();
}
