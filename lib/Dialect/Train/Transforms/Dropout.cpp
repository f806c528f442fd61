//===- Dropout.cpp - Dropout that backward can follow ---------------------===//
//
// Adds the mask that an exporter left out.
//
//===----------------------------------------------------------------------===//

#include "Dropout.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace amp;

void amp::train::addDropoutMasks(func::FuncOp function) {
  SmallVector<onnx::DropoutOp> ops;
  function.walk([&](onnx::DropoutOp op) {
    if (op.getTrainingMode() && !op.getMask() &&
        isa<TensorType>(op.getOutput().getType()))
      ops.push_back(op);
  });
  for (onnx::DropoutOp op : ops) {
    OpBuilder builder(op);
    auto type = cast<TensorType>(op.getOutput().getType());
    SmallVector<NamedAttribute> attributes(op->getDiscardableAttrs());
    if (IntegerAttr seed = op.getSeedAttr())
      attributes.push_back(builder.getNamedAttr("seed", seed));
    llvm::erase_if(attributes, [](NamedAttribute attribute) {
      return attribute.getName() == onnx::OnnxDialect::getOutputsAttrName();
    });
    auto masked = onnx::DropoutOp::create(
        builder, op.getLoc(), onnx::getPositionalInputs(op),
        {type, type.clone(builder.getI1Type())}, attributes);
    onnx::setValueName(cast<OpResult>(masked.getOutput()),
                       onnx::getValueName(op.getOutput()));
    op.getOutput().replaceAllUsesWith(masked.getOutput());
    op.erase();
  }
}
