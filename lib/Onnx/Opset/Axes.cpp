//===- Axes.cpp - Axes, sizes and counts that became inputs
//----------------===//
// Attributes of integers that turned into inputs at opsets 5, 10, 13, 18 and
// 20, and negative axes (opset 11).
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;

/// INTS attribute `name` -> input `index`; absent stays absent.
static void moveToInput(Rewriter &rewriter, StringRef name, int index) {
  std::optional<Ints> values = rewriter.intsAttribute(name);
  if (!values)
    return;
  rewriter.erase(name);
  rewriter.setInput(index, rewriter.addInts(name, *values));
}

/// Constant input `index` -> INTS attribute `name`; absent stays absent.
static Error moveToAttribute(Rewriter &rewriter, StringRef name, int index) {
  if (!rewriter.hasInput(index))
    return Error::success();
  std::optional<Ints> values = rewriter.ints(rewriter.input(index));
  if (!values)
    return rewriter.fail(name + " are not constant");
  rewriter.set(name, *values);
  rewriter.dropInput(index);
  return Error::success();
}

/// Adds `rank` to what is negative in attribute `name`.
static Error dropSign(Rewriter &rewriter, StringRef name, int64_t extraRank) {
  const onnx::AttributeProto *attr = rewriter.attribute(name);
  if (!attr)
    return Error::success();
  Ints axes(attr->ints().begin(), attr->ints().end());
  bool single = attr->type() == onnx::AttributeProto::INT;
  if (single)
    axes = {attr->i()};
  if (llvm::none_of(axes, [](int64_t axis) { return axis < 0; }))
    return Error::success();
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!rank)
    return rewriter.fail(name +
                         " is negative and the rank of the input is not known");
  for (int64_t &axis : axes)
    axis = axis < 0 ? axis + *rank + extraRank : axis;
  if (single)
    rewriter.set(name, axes.front());
  else
    rewriter.set(name, axes);
  return Error::success();
}

/// Before opset 11 an axis is not negative.
Error amp::onnx_opset::lowerAxisSign(Rewriter &rewriter) {
  if (Error error = dropSign(rewriter, "axis", 0))
    return error;
  return dropSign(rewriter, "axes", 0);
}

/// The axes of Unsqueeze are those of its output.
Error amp::onnx_opset::lowerUnsqueezeSign(Rewriter &rewriter) {
  std::optional<Ints> axes = rewriter.intsAttribute("axes");
  return dropSign(rewriter, "axes", axes ? axes->size() : 0);
}

//===----------------------------------------------------------------------===//
// Reduce*, Squeeze, Unsqueeze, DFT
//===----------------------------------------------------------------------===//

Error amp::onnx_opset::raiseSqueezeAxes(Rewriter &rewriter) {
  moveToInput(rewriter, "axes", 1);
  return Error::success();
}

Error amp::onnx_opset::lowerSqueezeAxes(Rewriter &rewriter) {
  return moveToAttribute(rewriter, "axes", 1);
}

/// An empty list of axes means all of them on both sides.
Error amp::onnx_opset::raiseReduceAxes(Rewriter &rewriter) {
  std::optional<Ints> axes = rewriter.intsAttribute("axes");
  if (axes && axes->empty())
    rewriter.erase("axes");
  moveToInput(rewriter, "axes", 1);
  return Error::success();
}

Error amp::onnx_opset::lowerReduceAxes(Rewriter &rewriter) {
  bool emptyMeansNone = rewriter.intAttribute("noop_with_empty_axes", 0) != 0;
  rewriter.erase("noop_with_empty_axes");
  if (Error error = moveToAttribute(rewriter, "axes", 1))
    return error;
  std::optional<Ints> axes = rewriter.intsAttribute("axes");
  if (axes && !axes->empty())
    return Error::success();
  if (emptyMeansNone)
    return rewriter.fail(
        "no axes with noop_with_empty_axes cannot be said in the older opset");
  rewriter.erase("axes");
  return Error::success();
}

/// axis = k (default 1) -> input 2
Error amp::onnx_opset::raiseDft(Rewriter &rewriter) {
  int64_t axis = rewriter.intAttribute("axis", 1);
  rewriter.erase("axis");
  rewriter.setInput(2, rewriter.addInts("axis", axis, /*scalar=*/true));
  return Error::success();
}

Error amp::onnx_opset::lowerDft(Rewriter &rewriter) {
  std::optional<Ints> axis = Ints{-2};
  if (rewriter.hasInput(2))
    axis = rewriter.ints(rewriter.input(2));
  if (!axis || axis->size() != 1)
    return rewriter.fail("axis is not constant");
  rewriter.dropInput(2);
  rewriter.set("axis", axis->front());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reshape, Slice, TopK
//===----------------------------------------------------------------------===//

Error amp::onnx_opset::raiseReshape(Rewriter &rewriter) {
  rewriter.erase("consumed_inputs");
  if (!rewriter.hasAttribute("shape"))
    return rewriter.fail("attribute 'shape' is missing");
  moveToInput(rewriter, "shape", 1);
  return Error::success();
}

Error amp::onnx_opset::lowerReshape(Rewriter &rewriter) {
  return moveToAttribute(rewriter, "shape", 1);
}

Error amp::onnx_opset::raiseSlice(Rewriter &rewriter) {
  moveToInput(rewriter, "starts", 1);
  moveToInput(rewriter, "ends", 2);
  moveToInput(rewriter, "axes", 3);
  return Error::success();
}

/// Opset 10 takes steps but says nothing about negative ones, nor about
/// negative axes.
Error amp::onnx_opset::lowerSliceSteps(Rewriter &rewriter) {
  auto isNegative = [](int64_t value) { return value < 0; };
  std::optional<Ints> steps = rewriter.ints(rewriter.input(4));
  if (steps && llvm::any_of(*steps, isNegative))
    return rewriter.fail("steps are negative");
  std::optional<Ints> axes = rewriter.ints(rewriter.input(3));
  if (!axes || llvm::none_of(*axes, isNegative))
    return Error::success();
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!rank)
    return rewriter.fail(
        "axes are negative and the rank of the input is not known");
  for (int64_t &axis : *axes)
    axis = axis < 0 ? axis + *rank : axis;
  rewriter.setInput(3, rewriter.addInts("axes", *axes));
  return Error::success();
}

Error amp::onnx_opset::lowerSlice(Rewriter &rewriter) {
  if (rewriter.hasInput(4)) {
    std::optional<Ints> steps = rewriter.ints(rewriter.input(4));
    if (!steps || llvm::any_of(*steps, [](int64_t step) { return step != 1; }))
      return rewriter.fail("steps are not constant ones");
    rewriter.dropInput(4);
  }
  if (Error error = moveToAttribute(rewriter, "axes", 3))
    return error;
  if (Error error = moveToAttribute(rewriter, "ends", 2))
    return error;
  return moveToAttribute(rewriter, "starts", 1);
}

/// shape(x) {start, end} -> slice(shape(x), start, end)
Error amp::onnx_opset::lowerShapeRange(Rewriter &rewriter) {
  int64_t start = rewriter.intAttribute("start", 0);
  int64_t end =
      rewriter.intAttribute("end", std::numeric_limits<int64_t>::max());
  bool whole = start == 0 && !rewriter.hasAttribute("end");
  rewriter.erase("start");
  rewriter.erase("end");
  if (whole)
    return Error::success();
  std::string result = rewriter.node.output(0);
  std::string starts = rewriter.addInts("starts", start);
  std::string ends = rewriter.addInts("ends", end);
  std::string shape = rewriter.freshName("shape");
  rewriter.node.set_output(0, shape);
  rewriter.addAfter("Slice", {shape, starts, ends}, result);
  return Error::success();
}

/// k -> input 1, a tensor of one element
Error amp::onnx_opset::raiseTopK(Rewriter &rewriter) {
  if (!rewriter.hasAttribute("k"))
    return rewriter.fail("attribute 'k' is missing");
  int64_t k = rewriter.intAttribute("k", 0);
  rewriter.erase("k");
  rewriter.setInput(1, rewriter.addInts("K", k));
  return Error::success();
}

Error amp::onnx_opset::lowerTopK(Rewriter &rewriter) {
  std::optional<Ints> k = rewriter.ints(rewriter.input(1));
  if (!k || k->size() != 1)
    return rewriter.fail("k is not constant");
  rewriter.dropInput(1);
  rewriter.set("k", k->front());
  return Error::success();
}

/// The older op always sorts, which is one of the orders that sorted = 0
/// allows.
Error amp::onnx_opset::lowerTopKOrder(Rewriter &rewriter) {
  rewriter.erase("sorted");
  return lowerAxisSign(rewriter);
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

/// Version 1 takes the sizes as an attribute or as an input, and has no default
/// axis.
Error amp::onnx_opset::raiseSplitAxis(Rewriter &rewriter) {
  if (!rewriter.hasAttribute("axis"))
    return rewriter.fail(
        "attribute 'axis' is missing, and opset 1 has no default");
  return moveToAttribute(rewriter, "split", 1);
}

Error amp::onnx_opset::lowerSplitAxis(Rewriter &rewriter) {
  rewriter.set("axis", rewriter.intAttribute("axis", 0));
  return Error::success();
}

Error amp::onnx_opset::raiseSplitSizes(Rewriter &rewriter) {
  moveToInput(rewriter, "split", 1);
  return Error::success();
}

Error amp::onnx_opset::lowerSplitSizes(Rewriter &rewriter) {
  return moveToAttribute(rewriter, "split", 1);
}

/// Without sizes, the older op makes as many equal parts as it has outputs.
Error amp::onnx_opset::raiseSplitCount(Rewriter &rewriter) {
  if (!rewriter.hasInput(1))
    rewriter.set("num_outputs", rewriter.node.output_size());
  return Error::success();
}

/// Parts that are not all equal need their sizes spelled out.
Error amp::onnx_opset::lowerSplitCount(Rewriter &rewriter) {
  int64_t parts = rewriter.intAttribute("num_outputs", 0);
  rewriter.erase("num_outputs");
  if (rewriter.hasInput(1))
    return Error::success();
  if (parts != rewriter.node.output_size())
    return rewriter.fail("num_outputs is not the number of outputs");
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  int64_t axis = rewriter.intAttribute("axis", 0);
  if (dims && axis < 0)
    axis += dims->size();
  if (!dims || axis < 0 || axis >= static_cast<int64_t>(dims->size()) ||
      (*dims)[axis] < 0)
    return rewriter.fail("the size of axis " + llvm::Twine(axis) +
                         " is not known, so the parts may differ");
  int64_t size = (*dims)[axis], part = (size + parts - 1) / parts;
  if (size % parts == 0)
    return Error::success();
  Ints sizes(parts - 1, part);
  sizes.push_back(size - part * (parts - 1));
  if (sizes.back() < 0)
    return rewriter.fail("there are more outputs than elements to split");
  rewriter.setInput(1, rewriter.addInts("split", sizes));
  return Error::success();
}
