//===- Vjp.cpp - What a gradient rule works with --------------------------===//
//
// Tells weights from activations.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/Vjp.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

void Vjp::setFormal(unsigned position, Value gradient) {
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (needs(i) && onnx::getFormalOfOperand(op, i) == position)
      set(i, gradient);
}

bool Vjp::isWeight(unsigned index) const {
  if (!wideWeights)
    return false;
  Value value = operand(index);
  while (Operation *producer = value.getDefiningOp()) {
    if (!isa<amp::CastOp, onnx::CastOp, onnx::ReshapeOp, onnx::TransposeOp,
             onnx::IdentityOp, onnx::SqueezeOp, onnx::UnsqueezeOp,
             onnx::FlattenOp, onnx::ExpandOp, onnx::SliceOp, onnx::SplitOp>(
            producer))
      return false;
    value = producer->getOperand(0);
  }
  auto argument = mlir::cast<BlockArgument>(value);
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function &&
         getArgumentRole(function, argument.getArgNumber()) == Role::Parameter;
}

Type Vjp::getGradientType(unsigned index) const {
  Type type = onnx::getElementType(operand(index));
  return onnx::isHalf(type) && isWeight(index)
             ? Float32Type::get(type.getContext())
             : type;
}

void Vjp::setSummed(unsigned index, Value gradient) {
  set(index, unbroadcast(gradient, onnx::getStaticShape(operand(index)),
                         getGradientType(index)));
}
