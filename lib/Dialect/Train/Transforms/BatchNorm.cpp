//===- BatchNorm.cpp - Normalization with batch statistics ----------------===//
//
// ONNX updates the running variance with the biased variance of the batch,
// PyTorch with the unbiased one; the step does as PyTorch.
//
//===----------------------------------------------------------------------===//

#include "BatchNorm.h"
#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

/// With r the old running variance, m the momentum and b the biased variance:
/// m r + (1 - m) b -> m r + (1 - m) b n / (n - 1)
static Value makeUnbiased(onnx::OnnxBuilder &builder, Value updated, Value old,
                          double momentum, int64_t count) {
  Value share = builder.sub(updated, builder.scale(old, momentum));
  return builder.add(updated, builder.scale(share, 1.0 / (count - 1)));
}

LogicalResult amp::train::trainBatchNorm(onnx::BatchNormalizationOp op,
                                         llvm::DenseMap<Value, Value> &next) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 2)
    return op.emitOpError()
           << "has an input of type " << op->getOperand(0).getType()
           << ", but training needs static shapes: bind the "
              "symbolic dimensions";
  int64_t count = type.getNumElements() / type.getDimSize(1);
  if (count < 2)
    return op.emitOpError() << "has one value per channel, of which there is "
                               "no variance to train with";
  OpBuilder builder(op);
  onnx::OnnxBuilder onnx(builder, op.getLoc());
  SmallVector<Value> inputs(op->getOperands());
  Value mean = inputs[3], variance = inputs[4];
  for (Value &input : MutableArrayRef(inputs).drop_front(3))
    if (Value latest = next.lookup(input))
      input = latest;
  auto momentum = op->getAttrOfType<FloatAttr>("momentum");
  auto epsilon = op->getAttrOfType<FloatAttr>("epsilon");
  float keep = momentum ? momentum.getValue().convertToFloat() : 0.9f;
  SmallVector<NamedAttribute> attributes{onnx.attr("training_mode", int64_t(1)),
                                         onnx.attr("momentum", keep)};
  if (epsilon)
    attributes.push_back(builder.getNamedAttr("epsilon", epsilon));
  SmallVector<Value> results =
      onnx.createMulti("BatchNormalization", inputs, 3, attributes);
  Operation *trained = results[0].getDefiningOp();
  StringRef nameKey = onnx::OnnxDialect::getNameAttrName();
  if (Attribute name = op->getAttr(nameKey))
    trained->setAttr(nameKey, name);
  if (StringRef name = onnx::getValueName(op->getResult(0)); !name.empty())
    onnx::setValueName(cast<OpResult>(results[0]), name);
  next[mean] = results[1];
  next[variance] = makeUnbiased(onnx, results[2], inputs[4], keep, count);
  for (auto [old, now] : llvm::zip(op->getResults(), results))
    old.replaceAllUsesWith(now);
  op->erase();
  return success();
}
