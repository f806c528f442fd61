//===- Normalization.cpp - BatchNormalization, Dropout, GroupNormalization
//-===//
// How training mode is told, what the outputs are, and scales per group.
//===----------------------------------------------------------------------===//

#include "Rules.h"

using namespace amp::onnx_opset;
using llvm::Error;
using llvm::StringRef;
using onnx::TensorProto;

/// Takes away output `index` and those after it; an error if one is in use.
static Error dropOutputs(Rewriter &rewriter, int index) {
  for (int i = index, e = rewriter.node.output_size(); i < e; ++i)
    if (rewriter.isOutputUsed(i))
      return rewriter.fail("output " + llvm::Twine(i) +
                           " is used, and has no equivalent");
  while (rewriter.node.output_size() > index)
    rewriter.node.mutable_output()->RemoveLast();
  return Error::success();
}

static bool hasMoreThanOneOutput(const Rewriter &rewriter) {
  for (int i = 1, e = rewriter.node.output_size(); i < e; ++i)
    if (rewriter.hasOutput(i))
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// BatchNormalization
//===----------------------------------------------------------------------===//

/// Version 1 insists on this attribute; the running mean and variance are
/// updated in place.
Error amp::onnx_opset::lowerBatchNormConsumed(Rewriter &rewriter) {
  rewriter.set("consumed_inputs", {0, 0, 0, 1, 1});
  return Error::success();
}

/// From version 7 on, the outputs tell test mode (only Y) from training mode.
Error amp::onnx_opset::raiseBatchNormIsTest(Rewriter &rewriter) {
  bool isTest = rewriter.intAttribute("is_test", 0) != 0;
  rewriter.erase("is_test");
  return isTest ? dropOutputs(rewriter, 1) : Error::success();
}

Error amp::onnx_opset::lowerBatchNormIsTest(Rewriter &rewriter) {
  rewriter.set("is_test", hasMoreThanOneOutput(rewriter) ? 0 : 1);
  return Error::success();
}

Error amp::onnx_opset::raiseBatchNormSpatial(Rewriter &rewriter) {
  if (rewriter.intAttribute("spatial", 1) == 0)
    return rewriter.fail(
        "spatial = 0 (statistics for each element) ended with opset 9");
  rewriter.erase("spatial");
  return Error::success();
}

Error amp::onnx_opset::raiseBatchNormTraining(Rewriter &rewriter) {
  if (hasMoreThanOneOutput(rewriter))
    rewriter.set("training_mode", 1);
  return dropOutputs(rewriter, 3);
}

Error amp::onnx_opset::lowerBatchNormTraining(Rewriter &rewriter) {
  bool training = rewriter.intAttribute("training_mode", 0) != 0;
  rewriter.erase("training_mode");
  if (!training)
    return dropOutputs(rewriter, 1);
  static constexpr StringRef names[] = {"y", "mean", "var", "saved_mean",
                                        "saved_var"};
  for (int i = 0; i != 5; ++i) {
    if (rewriter.node.output_size() == i)
      rewriter.node.add_output();
    if (!rewriter.hasOutput(i))
      rewriter.node.set_output(i, rewriter.freshName(names[i]));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Versions 7 to 11 cannot train. Where the way goes on to 12, `is_test` says
/// so to raiseDropoutRatio.
Error amp::onnx_opset::raiseDropoutIsTest(Rewriter &rewriter) {
  bool isTest = rewriter.intAttribute("is_test", 0) != 0;
  if (!isTest && rewriter.target() < 12)
    return rewriter.fail(
        "training mode (is_test = 0) cannot be said in opsets 7 to 11");
  if (isTest)
    rewriter.erase("is_test");
  else
    rewriter.set("is_test", 0);
  return Error::success();
}

Error amp::onnx_opset::lowerDropoutIsTest(Rewriter &rewriter) {
  rewriter.set("is_test", 1);
  return Error::success();
}

/// mask -> cast(mask), to `elementType`; a mask that nobody reads goes.
static Error castMask(Rewriter &rewriter, int elementType) {
  if (!rewriter.isOutputUsed(1))
    return dropOutputs(rewriter, 1);
  if (elementType == TensorProto::UNDEFINED)
    return rewriter.fail(
        "the mask is used, and the type of the input is not known");
  std::string mask = rewriter.node.output(1);
  std::string made = rewriter.freshName("mask");
  rewriter.node.set_output(1, made);
  addAttribute(rewriter.addAfter("Cast", {made}, mask), "to", elementType);
  return Error::success();
}

/// The mask was of the input's type before opset 10.
Error amp::onnx_opset::raiseDropoutMask(Rewriter &rewriter) {
  return castMask(rewriter, rewriter.elementType(rewriter.input(0)));
}

Error amp::onnx_opset::lowerDropoutMask(Rewriter &rewriter) {
  return castMask(rewriter, TensorProto::BOOL);
}

Error amp::onnx_opset::raiseDropoutRatio(Rewriter &rewriter) {
  if (const onnx::AttributeProto *ratio = rewriter.attribute("ratio")) {
    double value = ratio->f();
    rewriter.erase("ratio");
    rewriter.setInput(1, rewriter.addFloats("ratio", TensorProto::FLOAT, value,
                                            /*scalar=*/true));
  }
  if (!rewriter.hasAttribute("is_test"))
    return Error::success();
  rewriter.erase("is_test");
  TensorProto on;
  on.set_data_type(TensorProto::BOOL);
  on.add_int32_data(1);
  rewriter.setInput(2, rewriter.addConstant("training_mode", std::move(on)));
  return Error::success();
}

/// dropout(x) -> x, true everywhere. What the mask holds outside of training is
/// said since opset 12 only.
static void replaceMask(Rewriter &rewriter) {
  std::string shape = rewriter.freshName("shape");
  rewriter.addAfter("Shape", {rewriter.input(0)}, shape);
  onnx::NodeProto &fill =
      rewriter.addAfter("ConstantOfShape", {shape}, rewriter.node.output(1));
  onnx::AttributeProto &value = *fill.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(TensorProto::BOOL);
  value.mutable_t()->add_dims(1);
  value.mutable_t()->add_int32_data(1);
}

/// Outside of training the ratio and the seed mean nothing; the ratio is kept
/// if it is known.
Error amp::onnx_opset::lowerDropoutRatio(Rewriter &rewriter) {
  if (rewriter.hasInput(2)) {
    std::optional<Ints> training = rewriter.ints(rewriter.input(2));
    if (!training || training->size() != 1 || training->front() != 0)
      return rewriter.fail("training_mode is not a constant false");
    rewriter.dropInput(2);
  }
  if (std::optional<llvm::SmallVector<double>> ratio =
          rewriter.floats(rewriter.input(1)))
    if (ratio->size() == 1)
      rewriter.setFloat("ratio", ratio->front());
  if (rewriter.hasInput(1))
    rewriter.dropInput(1);
  rewriter.erase("seed");
  if (rewriter.isOutputUsed(1))
    replaceMask(rewriter);
  while (rewriter.node.output_size() > 1)
    rewriter.node.mutable_output()->RemoveLast();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// GroupNormalization
//===----------------------------------------------------------------------===//

/// scale per group -> scale per channel: reshape(expand(reshape(scale, [G, 1]),
/// [G, C / G]), [C])
Error amp::onnx_opset::raiseGroupNorm(Rewriter &rewriter) {
  int64_t groups = rewriter.intAttribute("num_groups", 0);
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  if (!dims || dims->size() < 2 || (*dims)[1] < 0)
    return rewriter.fail("the number of channels is not known");
  int64_t channels = (*dims)[1];
  if (groups <= 0 || channels % groups != 0)
    return rewriter.fail("num_groups does not divide the channels");
  if (groups == channels)
    return Error::success();
  std::string column = rewriter.addInts("column", {groups, 1});
  std::string table = rewriter.addInts("table", {groups, channels / groups});
  std::string row = rewriter.addInts("row", {channels});
  for (int index : {1, 2}) {
    StringRef kind = index == 1 ? "scale" : "bias";
    std::string grouped = rewriter.freshName((kind + "_grouped").str());
    std::string spread = rewriter.freshName((kind + "_spread").str());
    std::string flat = rewriter.freshName(kind);
    rewriter.addBefore("Reshape", {rewriter.input(index), column}, grouped);
    rewriter.addBefore("Expand", {grouped, table}, spread);
    rewriter.addBefore("Reshape", {spread, row}, flat);
    rewriter.setInput(index, flat);
  }
  return Error::success();
}

/// More groups than any model has, where the number of channels is not known.
static constexpr int64_t maxGroups = 4096;

/// groupnorm(x, scale, bias) -> groupnorm(x, 1, 0) * scale + bias, with scale
/// and bias as columns
Error amp::onnx_opset::lowerGroupNorm(Rewriter &rewriter) {
  int64_t groups = rewriter.intAttribute("num_groups", 0);
  std::optional<Dims> dims = rewriter.dims(rewriter.input(0));
  int type = rewriter.elementType(rewriter.input(0));
  bool isFloat = type == TensorProto::FLOAT || type == TensorProto::FLOAT16 ||
                 type == TensorProto::BFLOAT16 || type == TensorProto::DOUBLE;
  if (!dims || dims->size() < 2 || !isFloat || groups <= 0)
    return rewriter.fail("the type of the input is not known");
  if ((*dims)[1] == groups)
    return Error::success();
  if (groups > std::max<int64_t>((*dims)[1], maxGroups))
    return rewriter.fail("num_groups is larger than the number of channels");
  std::string x = rewriter.input(0).str(), y = rewriter.node.output(0);
  Ints columnShape(dims->size() - 1, 1);
  columnShape.front() = -1;
  std::string column = rewriter.addInts("column", columnShape);
  std::string scale = rewriter.freshName("scale"),
              bias = rewriter.freshName("bias");
  rewriter.addBefore("Reshape", {rewriter.input(1), column}, scale);
  rewriter.addBefore("Reshape", {rewriter.input(2), column}, bias);
  std::string normalized = rewriter.freshName("normalized"),
              scaled = rewriter.freshName("scaled");
  rewriter.setInput(1, rewriter.addFloats(
                           "ones", type, llvm::SmallVector<double>(groups, 1)));
  rewriter.setInput(
      2,
      rewriter.addFloats("zeros", type, llvm::SmallVector<double>(groups, 0)));
  rewriter.node.set_output(0, normalized);
  rewriter.addAfter("Mul", {normalized, scale}, scaled);
  rewriter.addAfter("Add", {scaled, bias}, y);
  return Error::success();
}
