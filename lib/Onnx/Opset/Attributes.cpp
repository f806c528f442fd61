//===- Attributes.cpp - Attributes that came, went or changed meaning
//------===//
// Rules that touch nothing but the attributes of a node.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::TensorProto;

/// The newer schema takes fewer types; the check of the converted node says so
/// where it matters.
Error amp::onnx_opset::recheck(Rewriter &rewriter) { return Error::success(); }

/// A hint to the allocator of the first versions.
Error amp::onnx_opset::raiseConsumed(Rewriter &rewriter) {
  rewriter.erase("consumed_inputs");
  return Error::success();
}

Error amp::onnx_opset::raiseConcatAxis(Rewriter &rewriter) {
  rewriter.set("axis", rewriter.intAttribute("axis", 1));
  return Error::success();
}

/// The defaults of alpha and gamma got more digits.
Error amp::onnx_opset::raiseSelu(Rewriter &rewriter) {
  rewriter.erase("consumed_inputs");
  rewriter.setFloat("alpha", rewriter.floatAttribute("alpha", 1.6732f));
  rewriter.setFloat("gamma", rewriter.floatAttribute("gamma", 1.0507f));
  return Error::success();
}

Error amp::onnx_opset::lowerSelu(Rewriter &rewriter) {
  rewriter.setFloat(
      "alpha", rewriter.floatAttribute("alpha", 1.67326319217681884765625f));
  rewriter.setFloat(
      "gamma", rewriter.floatAttribute("gamma", 1.05070102214813232421875f));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Cast and Constant
//===----------------------------------------------------------------------===//

/// to = "FLOAT" -> to = 1
Error amp::onnx_opset::raiseCastName(Rewriter &rewriter) {
  std::string name =
      llvm::StringRef(rewriter.stringAttribute("to", "")).upper();
  TensorProto::DataType type;
  if (!TensorProto::DataType_Parse(name, &type) ||
      type == TensorProto::UNDEFINED)
    return rewriter.fail("'" + name + "' is not a type to cast to");
  rewriter.set("to", static_cast<int64_t>(type));
  return Error::success();
}

Error amp::onnx_opset::lowerCastName(Rewriter &rewriter) {
  int64_t type = rewriter.intAttribute("to", TensorProto::UNDEFINED);
  if (type <= TensorProto::UNDEFINED || type > TensorProto::UINT64)
    return rewriter.fail("the type to cast to needs a newer opset");
  rewriter.set("to", StringRef(TensorProto::DataType_Name(
                         static_cast<TensorProto::DataType>(type))));
  return Error::success();
}

/// Means something for the types of 8 bits only, which the older schema does
/// not take.
Error amp::onnx_opset::lowerSaturate(Rewriter &rewriter) {
  rewriter.erase("saturate");
  return Error::success();
}

/// As above, for FLOAT8E8M0.
Error amp::onnx_opset::lowerRoundMode(Rewriter &rewriter) {
  rewriter.erase("round_mode");
  return Error::success();
}

/// As above, for float16 and bfloat16.
Error amp::onnx_opset::lowerRangePrecision(Rewriter &rewriter) {
  rewriter.erase("stash_type");
  return Error::success();
}

/// value_float, value_ints, ... -> value
Error amp::onnx_opset::lowerConstantValue(Rewriter &rewriter) {
  for (const onnx::AttributeProto &attr : rewriter.node.attribute()) {
    if (!StringRef(attr.name()).starts_with("value_"))
      continue;
    TensorProto tensor;
    int64_t size = attr.floats_size() + attr.ints_size() + attr.strings_size();
    switch (attr.type()) {
    case onnx::AttributeProto::FLOATS:
      tensor.add_dims(size);
      [[fallthrough]];
    case onnx::AttributeProto::FLOAT:
      tensor.set_data_type(TensorProto::FLOAT);
      *tensor.mutable_float_data() = attr.floats();
      if (attr.type() == onnx::AttributeProto::FLOAT)
        tensor.add_float_data(attr.f());
      break;
    case onnx::AttributeProto::INTS:
      tensor.add_dims(size);
      [[fallthrough]];
    case onnx::AttributeProto::INT:
      tensor.set_data_type(TensorProto::INT64);
      *tensor.mutable_int64_data() = attr.ints();
      if (attr.type() == onnx::AttributeProto::INT)
        tensor.add_int64_data(attr.i());
      break;
    case onnx::AttributeProto::STRINGS:
      tensor.add_dims(size);
      [[fallthrough]];
    case onnx::AttributeProto::STRING:
      tensor.set_data_type(TensorProto::STRING);
      *tensor.mutable_string_data() = attr.strings();
      if (attr.type() == onnx::AttributeProto::STRING)
        tensor.add_string_data(attr.s());
      break;
    default:
      return rewriter.fail("attribute '" + attr.name() +
                           "' is of an unknown kind");
    }
    rewriter.erase(std::string(attr.name()));
    rewriter.setTensor("value", std::move(tensor));
    break;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// p was a float in version 1 of LpPool and GlobalLpPool.
Error amp::onnx_opset::raiseNorm(Rewriter &rewriter) {
  float p = rewriter.floatAttribute("p", 2);
  if (!rewriter.hasAttribute("p"))
    return Error::success();
  if (p != std::floor(p) || p < 1 || p > 1e9f)
    return rewriter.fail(
        "p is not a whole number, which it must be since opset 2");
  rewriter.set("p", static_cast<int64_t>(p));
  return Error::success();
}

Error amp::onnx_opset::lowerNorm(Rewriter &rewriter) {
  if (rewriter.hasAttribute("p"))
    rewriter.setFloat("p", rewriter.intAttribute("p", 2));
  return Error::success();
}

static Error dropDilations(Rewriter &rewriter) {
  std::optional<Ints> dilations = rewriter.intsAttribute("dilations");
  if (dilations &&
      llvm::any_of(*dilations, [](int64_t dilation) { return dilation != 1; }))
    return rewriter.fail("dilations need a newer opset");
  rewriter.erase("dilations");
  return Error::success();
}

Error amp::onnx_opset::lowerDilations(Rewriter &rewriter) {
  return dropDilations(rewriter);
}

/// Only the indices depend on the storage order, and they need a newer opset
/// anyway.
Error amp::onnx_opset::lowerStorageOrder(Rewriter &rewriter) {
  if (!rewriter.hasOutput(1))
    rewriter.erase("storage_order");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Recurrent networks
//===----------------------------------------------------------------------===//

/// Whether the sequence of hidden states is wanted shows in the outputs.
Error amp::onnx_opset::raiseOutputSequence(Rewriter &rewriter) {
  rewriter.erase("output_sequence");
  return Error::success();
}

Error amp::onnx_opset::lowerOutputSequence(Rewriter &rewriter) {
  rewriter.set("output_sequence", rewriter.hasOutput(0) ? 1 : 0);
  return Error::success();
}

/// The default direction was misspelt in version 1.
Error amp::onnx_opset::raiseGru(Rewriter &rewriter) {
  if (rewriter.stringAttribute("direction", "") == "foward")
    rewriter.set("direction", "forward");
  return Error::success();
}

/// Version 1 insists on the last hidden state, and on a direction.
Error amp::onnx_opset::lowerGru(Rewriter &rewriter) {
  rewriter.set("direction",
               StringRef(rewriter.stringAttribute("direction", "forward")));
  while (rewriter.node.output_size() < 2)
    rewriter.node.add_output();
  if (!rewriter.hasOutput(1))
    rewriter.node.set_output(1, rewriter.freshName("Y_h"));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// Before opset 13 there is one scale for the whole tensor, and `axis` means
/// nothing. A scale of unknown shape is taken to be one number.
Error amp::onnx_opset::lowerQuantizationAxis(Rewriter &rewriter) {
  std::optional<Dims> scale = rewriter.dims(rewriter.input(1));
  if (scale && llvm::any_of(*scale, [](int64_t size) { return size != 1; }))
    return rewriter.fail("a scale for each index of an axis needs opset 13");
  rewriter.erase("axis");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Image operators and the rest
//===----------------------------------------------------------------------===//

/// half_pixel came with version 16; before, coordinates were not shifted.
Error amp::onnx_opset::raiseRoiAlign(Rewriter &rewriter) {
  rewriter.set("coordinate_transformation_mode", "output_half_pixel");
  return Error::success();
}

Error amp::onnx_opset::lowerRoiAlign(Rewriter &rewriter) {
  if (rewriter.stringAttribute("coordinate_transformation_mode",
                               "half_pixel") != "output_half_pixel")
    return rewriter.fail(
        "coordinate_transformation_mode \"half_pixel\" needs opset 16");
  rewriter.erase("coordinate_transformation_mode");
  return Error::success();
}

/// bilinear -> linear, bicubic -> cubic
Error amp::onnx_opset::raiseGridSample(Rewriter &rewriter) {
  std::string mode = rewriter.stringAttribute("mode", "bilinear");
  if (rewriter.hasAttribute("mode") &&
      (mode == "bilinear" || mode == "bicubic"))
    rewriter.set("mode", StringRef(mode).drop_front(2));
  return Error::success();
}

Error amp::onnx_opset::lowerGridSample(Rewriter &rewriter) {
  std::optional<int64_t> rank = rewriter.rank(rewriter.input(0));
  if (!rank || *rank != 4)
    return rewriter.fail(
        "an input that is not known to be an image (rank 4) needs opset 20");
  std::string mode = rewriter.stringAttribute("mode", "linear");
  if (rewriter.hasAttribute("mode") && (mode == "linear" || mode == "cubic"))
    rewriter.set("mode", StringRef("bi" + mode));
  return Error::success();
}

Error amp::onnx_opset::lowerReduction(Rewriter &rewriter) {
  std::string reduction = rewriter.stringAttribute("reduction", "none");
  if (reduction == "max" || reduction == "min")
    return rewriter.fail("reduction \"" + reduction + "\" needs opset 18");
  return Error::success();
}

/// scatter(x, i, u) -> scatter_elements(x, i, u), under another name
Error amp::onnx_opset::raiseScatter(Rewriter &rewriter) {
  rewriter.node.set_op_type("ScatterElements");
  return Error::success();
}

Error amp::onnx_opset::lowerScatterElements(Rewriter &rewriter) {
  rewriter.node.set_op_type("Scatter");
  return lowerAxisSign(rewriter);
}
