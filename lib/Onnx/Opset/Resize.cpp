//===- Resize.cpp - Upsample and Resize
//------------------------------------===//
// Upsample gave way to Resize at opset 10; Resize says how coordinates are
// mapped since opset 11.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::TensorProto;

/// Inputs of Resize since opset 11.
enum ResizeInput { roiInput = 1, scalesInput = 2, sizesInput = 3 };

static bool isZeroElements(const Rewriter &rewriter, StringRef value) {
  std::optional<Dims> dims = rewriter.dims(value);
  return dims && llvm::is_contained(*dims, 0);
}

//===----------------------------------------------------------------------===//
// Upsample
//===----------------------------------------------------------------------===//

/// height_scale, width_scale -> scales; bilinear -> linear
Error amp::onnx_opset::raiseUpsampleScales(Rewriter &rewriter) {
  if (!rewriter.hasAttribute("height_scale") ||
      !rewriter.hasAttribute("width_scale"))
    return rewriter.fail(
        "attribute 'height_scale' or 'width_scale' is missing");
  float height = rewriter.floatAttribute("height_scale", 1);
  float width = rewriter.floatAttribute("width_scale", 1);
  rewriter.erase("height_scale");
  rewriter.erase("width_scale");
  rewriter.setFloats("scales", {1, 1, height, width});
  if (rewriter.stringAttribute("mode", "nearest") == "bilinear")
    rewriter.set("mode", "linear");
  return Error::success();
}

Error amp::onnx_opset::lowerUpsampleScales(Rewriter &rewriter) {
  const onnx::AttributeProto *scales = rewriter.attribute("scales");
  if (!scales || scales->floats_size() != 4 || scales->floats(0) != 1 ||
      scales->floats(1) != 1)
    return rewriter.fail(
        "scales are not those of the two spatial axes of an image");
  float height = scales->floats(2), width = scales->floats(3);
  rewriter.erase("scales");
  rewriter.setFloat("height_scale", height);
  rewriter.setFloat("width_scale", width);
  if (rewriter.stringAttribute("mode", "nearest") == "linear")
    rewriter.set("mode", "bilinear");
  return Error::success();
}

/// scales -> input 1
Error amp::onnx_opset::raiseUpsampleInput(Rewriter &rewriter) {
  const onnx::AttributeProto *scales = rewriter.attribute("scales");
  if (!scales)
    return rewriter.fail("attribute 'scales' is missing");
  llvm::SmallVector<double> values(scales->floats().begin(),
                                   scales->floats().end());
  rewriter.erase("scales");
  rewriter.setInput(1,
                    rewriter.addFloats("scales", TensorProto::FLOAT, values));
  return Error::success();
}

Error amp::onnx_opset::lowerUpsampleInput(Rewriter &rewriter) {
  auto scales = rewriter.floats(rewriter.input(1));
  if (!scales)
    return rewriter.fail("scales are not constant");
  rewriter.setFloats("scales",
                     llvm::SmallVector<float>(scales->begin(), scales->end()));
  rewriter.dropInput(1);
  return Error::success();
}

/// upsample(x, scales) -> resize(x, scales); the mode names are the same from
/// version 7 on.
Error amp::onnx_opset::raiseUpsample(Rewriter &rewriter) {
  if (rewriter.stringAttribute("mode", "nearest") == "bilinear")
    rewriter.set("mode", "linear"); // An alias that some exporters kept.
  rewriter.node.set_op_type("Resize");
  return Error::success();
}

/// Upsample only enlarges; scales that are not constant are taken to do so.
Error amp::onnx_opset::lowerResizeToUpsample(Rewriter &rewriter) {
  auto scales = rewriter.floats(rewriter.input(1));
  if (scales && llvm::any_of(*scales, [](double scale) { return scale < 1; }))
    return rewriter.fail("there are scales below 1, which need opset 10");
  rewriter.node.set_op_type("Upsample");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

/// How version 10 rounds in nearest mode: down where it enlarges, up where it
/// shrinks. Nothing if it does both. Scales that are not constant are taken to
/// enlarge, as the models of that time do.
static std::optional<StringRef> getOldNearestMode(const Rewriter &rewriter,
                                                  StringRef scales) {
  auto values = rewriter.floats(scales);
  if (!values)
    return StringRef("floor");
  bool enlarges = llvm::any_of(*values, [](double scale) { return scale > 1; });
  bool shrinks = llvm::any_of(*values, [](double scale) { return scale < 1; });
  if (enlarges && shrinks)
    return std::nullopt;
  return StringRef(shrinks ? "ceil" : "floor");
}

/// resize(x, scales) -> resize(x, roi, scales) with the coordinates that were
/// implied
Error amp::onnx_opset::raiseResizeCoordinates(Rewriter &rewriter) {
  std::string scales = rewriter.input(1).str();
  if (rewriter.stringAttribute("mode", "nearest") == "nearest") {
    std::optional<StringRef> rounding = getOldNearestMode(rewriter, scales);
    if (!rounding)
      return rewriter.fail("nearest mode that enlarges one axis and shrinks "
                           "another cannot be said since opset 11");
    rewriter.set("nearest_mode", *rounding);
  }
  rewriter.set("coordinate_transformation_mode", "asymmetric");
  rewriter.setInput(scalesInput, scales);
  // Versions 11 and 12 insist on the region of interest.
  if (rewriter.target() < 13)
    rewriter.setInput(roiInput,
                      rewriter.addFloats("roi", TensorProto::FLOAT, {}));
  else
    rewriter.dropInput(roiInput);
  return Error::success();
}

Error amp::onnx_opset::lowerResizeCoordinates(Rewriter &rewriter) {
  std::string mode = rewriter.stringAttribute("mode", "nearest");
  if (mode != "nearest" && mode != "linear")
    return rewriter.fail("mode \"" + mode + "\" needs opset 11");
  if (rewriter.stringAttribute("coordinate_transformation_mode",
                               "half_pixel") != "asymmetric")
    return rewriter.fail("coordinate_transformation_mode is not "
                         "\"asymmetric\", the only one before opset 11");
  if (rewriter.hasInput(sizesInput) || !rewriter.hasInput(scalesInput))
    return rewriter.fail("sizes instead of scales need opset 11");
  std::string scales = rewriter.input(scalesInput).str();
  if (mode == "nearest") {
    std::optional<StringRef> rounding = getOldNearestMode(rewriter, scales);
    if (!rounding || rewriter.stringAttribute(
                         "nearest_mode", "round_prefer_floor") != *rounding)
      return rewriter.fail(
          "nearest_mode is not that of the versions before opset 11");
  }
  for (StringRef name :
       {"coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a",
        "exclude_outside", "extrapolation_value"})
    rewriter.erase(name);
  rewriter.dropInput(scalesInput);
  rewriter.setInput(1, scales);
  return Error::success();
}

/// scales and sizes without elements are absent ones from version 13 on, and
/// tf_half_pixel_for_nn is gone. A roi without elements stays: it is as good as
/// none, and lowering the node finds it again under its own name.
Error amp::onnx_opset::raiseResizeInputs(Rewriter &rewriter) {
  for (int input : {scalesInput, sizesInput})
    if (isZeroElements(rewriter, rewriter.input(input)))
      rewriter.dropInput(input);
  std::string coordinates =
      rewriter.stringAttribute("coordinate_transformation_mode", "half_pixel");
  if (coordinates != "tf_half_pixel_for_nn")
    return Error::success();
  // floor((x + 0.5) / s) is (x + 0.5) / s - 0.5, rounded with halves up.
  if (rewriter.stringAttribute("mode", "nearest") != "nearest" ||
      rewriter.stringAttribute("nearest_mode", "round_prefer_floor") != "floor")
    return rewriter.fail("tf_half_pixel_for_nn ended with opset 13 (it has an "
                         "equivalent for nearest_mode = "
                         "\"floor\" only)");
  rewriter.set("coordinate_transformation_mode", "half_pixel");
  rewriter.set("nearest_mode", "round_prefer_ceil");
  return Error::success();
}

/// roi and scales must be there before opset 13; they have no elements when
/// they say nothing.
Error amp::onnx_opset::lowerResizeInputs(Rewriter &rewriter) {
  for (auto [input, name] :
       {std::pair(roiInput, "roi"), std::pair(scalesInput, "scales")})
    if (!rewriter.hasInput(input))
      rewriter.setInput(input,
                        rewriter.addFloats(name, TensorProto::FLOAT, {}));
  return Error::success();
}

/// Writes `some` over the entries of `all` that `axes` names.
template <typename Some, typename All>
static bool spread(const Some &some, const Ints &axes, All &all) {
  if (some.size() != axes.size())
    return false;
  for (auto [value, axis] : llvm::zip_equal(some, axes)) {
    size_t at = axis < 0 ? axis + all.size() : axis;
    if (at >= all.size())
      return false;
    all[at] = value;
  }
  return true;
}

/// Scales or sizes of some axes -> of all axes
static Error spreadOverAxes(Rewriter &rewriter, const Ints &axes) {
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  if (!dims || rewriter.hasInput(roiInput))
    return rewriter.fail("axes with a region of interest, or with an input of "
                         "unknown rank, need opset 18");
  if (auto scales = rewriter.floats(rewriter.input(scalesInput))) {
    llvm::SmallVector<double> all(dims->size(), 1);
    if (!spread(*scales, axes, all))
      return rewriter.fail("scales do not fit axes");
    rewriter.setInput(scalesInput,
                      rewriter.addFloats("scales", TensorProto::FLOAT, all));
    return Error::success();
  }
  std::optional<Ints> sizes = rewriter.ints(rewriter.input(sizesInput));
  if (!sizes)
    return rewriter.fail(
        "axes with sizes or scales that are not constant need opset 18");
  if (!spread(*sizes, axes, *dims))
    return rewriter.fail("sizes do not fit axes");
  if (llvm::any_of(*dims, [](int64_t size) { return size < 0; }))
    return rewriter.fail("axes with sizes need opset 18 where the size of "
                         "another axis is not known");
  rewriter.setInput(sizesInput, rewriter.addInts("sizes", *dims));
  return Error::success();
}

Error amp::onnx_opset::lowerResizeAxes(Rewriter &rewriter) {
  std::optional<Ints> axes = rewriter.intsAttribute("axes");
  if (!axes)
    return Error::success();
  rewriter.erase("axes");
  return spreadOverAxes(rewriter, *axes);
}

Error amp::onnx_opset::lowerResizeSymmetric(Rewriter &rewriter) {
  if (rewriter.stringAttribute("coordinate_transformation_mode",
                               "half_pixel") == "half_pixel_symmetric")
    return rewriter.fail("coordinate_transformation_mode "
                         "\"half_pixel_symmetric\" needs opset 19");
  return Error::success();
}
