//===- InferenceExport.cpp - Signs of a model exported for inference ------===//
//
// What exporters leave behind when they fold a model.
//
//===----------------------------------------------------------------------===//

#include "InferenceExport.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

/// PyTorch's exporter calls a weight it has folded a normalization into
/// `onnx::Conv_123`.
static bool hasFoldedWeight(onnx::ConvOp conv) {
  return onnx::getValueName(conv->getOperand(1)).starts_with("onnx::Conv_");
}

/// Whether training_mode is absent or false.
static bool isIdle(onnx::DropoutOp dropout) {
  SmallVector<Value> inputs = onnx::getPositionalInputs(dropout);
  if (inputs.size() < 3 || !inputs[2])
    return true;
  auto value =
      dyn_cast_or_null<DenseElementsAttr>(onnx::getConstantValue(inputs[2]));
  return value && value.isSplat() && !value.getSplatValue<bool>();
}

void amp::train::warnAboutInferenceExport(func::FuncOp function) {
  auto folded =
      llvm::make_filter_range(function.getOps<onnx::ConvOp>(), hasFoldedWeight);
  if (!folded.empty())
    function.emitWarning()
        << "BatchNormalization was folded into '"
        << onnx::getNodeName(*folded.begin())
        << "' and others when this model was exported for inference; export it "
           "in training mode, without constant folding, to train it";
  auto idle =
      llvm::make_filter_range(function.getOps<onnx::DropoutOp>(), isIdle);
  if (!idle.empty())
    function.emitWarning()
        << "Dropout '" << onnx::getNodeName(*idle.begin())
        << "' does nothing, as in inference; export the model in training mode "
           "if it should drop in training";
}
