//===- GradientRules.cpp - Registration of the gradient rules -------------===//
//
// The one list of families, and helpers of several.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/GradientRules.h"
#include "Rules.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

void amp::train::registerGradientRules(DialectRegistry &registry) {
  // The train dialect is loaded whenever a graph is differentiated.
  registry.addExtension(+[](MLIRContext *context, AmpDialect *,
                            onnx::OnnxDialect *, TrainDialect *) {
    attachActivationRules(context);
    attachAttentionRules(context);
    attachConvRules(context);
    attachEinsumRules(context);
    attachElementwiseRules(context);
    attachIndexingRules(context);
    attachLossRules(context);
    attachMatMulRules(context);
    attachMovementRules(context);
    attachNormalizationRules(context);
    attachPadRules(context);
    attachPoolingRules(context);
    attachRecurrentRules(context);
    attachReductionRules(context);
    attachScatterRules(context);
    attachSliceRules(context);
    attachSoftmaxRules(context);
    attachSpatialRules(context);
    attachStopRules(context);
    attachUnaryRules(context);
  });
}

FailureOr<SmallVector<int64_t>>
amp::train::getConstantOperand(Operation *op, Value value, StringRef name) {
  if (auto constant = onnx::getConstantInts(value))
    return *constant;
  auto error = op->emitOpError();
  if (StringRef node = onnx::getNodeName(op); !node.empty())
    error << "'" << node << "' ";
  error << "has a gradient only for constant " << name
        << ": fold constants first (--canonicalize)";
  return failure();
}

Value amp::train::zeros(Vjp &vjp, ArrayRef<int64_t> shape, Type elementType) {
  return vjp.expand(vjp.scalar(0, elementType), shape);
}

Value amp::train::addRows(Vjp &vjp, Value updates, Value indices, int64_t axis,
                          int64_t dim) {
  updates = vjp.widen(updates);
  ArrayRef<int64_t> shape = onnx::getStaticShape(updates);
  // The indexed dimension first, and back after.
  SmallVector<int64_t> forward{axis}, back;
  for (int64_t i : llvm::seq<int64_t>(0, shape.size()))
    if (i != axis)
      forward.push_back(i);
  for (int64_t i : llvm::seq<int64_t>(1, axis + 1))
    back.push_back(i);
  back.push_back(0);
  llvm::append_range(back, llvm::seq<int64_t>(axis + 1, shape.size()));
  Value rows = vjp.transpose(updates, forward);
  SmallVector<int64_t> into(onnx::getStaticShape(rows));
  into[0] = dim;
  Value places = vjp.reshape(indices, {shape[axis], 1});
  Value sum = vjp.create(
      "ScatterND",
      {zeros(vjp, into, onnx::getElementType(updates)), places, rows},
      vjp.attr("reduction", "add"));
  return vjp.transpose(sum, back);
}
