//===- Dropout.cpp - Dropout that backward can follow ---------------------===//
//
// Adds the mask that an exporter left out, and what tells the random numbers of
// each apart.
//
//===----------------------------------------------------------------------===//

#include "Dropout.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

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

void amp::train::seedDropouts(func::FuncOp function, int64_t seed) {
  llvm::StringSet<> names;
  int64_t number = 0;
  function.walk([&](onnx::DropoutOp op) {
    if (!op.getTrainingMode())
      return;
    std::string text = onnx::getNodeName(op).str();
    if (text.empty() || !names.insert(text).second)
      text += "#" + std::to_string(number);
    ++number;
    if (std::optional<uint64_t> own = op.getSeed()) {
      if (seed == 0)
        return;
      text = std::to_string(*own);
    }
    if (seed != 0)
      text += ":" + std::to_string(seed);
    int64_t stream = llvm::xxh3_64bits(text) & 0xffffffff;
    op.setSeedAttr(Builder(op.getContext()).getI64IntegerAttr(stream));
  });
}
