//===- ConvOps.cpp - The convolution that an operation is -----------------===//
//
// Attributes that are absent, and padding that follows from the shapes.
//
//===----------------------------------------------------------------------===//

#include "ConvOps.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static ArrayRef<int64_t>
orEmpty(const std::optional<ArrayRef<int64_t>> &numbers) {
  return numbers.value_or(ArrayRef<int64_t>());
}

ConvShape amp::cpu::getConvShape(onnx::ConvOp op) {
  ConvShape shape =
      ConvShape::get(getType(op.getX()), getType(op.getW()), getType(op.getY()),
                     op.getGroup(), orEmpty(op.getStrides()),
                     orEmpty(op.getDilations()), orEmpty(op.getPads()));
  StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    shape.pads = {0, 0, 0};
  if (autoPad.starts_with("SAME"))
    shape.padEvenly(/*moreAtStart=*/autoPad == "SAME_LOWER");
  return shape;
}

ConvShape amp::cpu::getConvShape(onnx::ConvTransposeOp op) {
  ConvShape shape =
      ConvShape::get(getType(op.getY()), getType(op.getW()), getType(op.getX()),
                     op.getGroup(), orEmpty(op.getStrides()),
                     orEmpty(op.getDilations()), orEmpty(op.getPads()));
  StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    shape.pads = {0, 0, 0};
  if (autoPad.starts_with("SAME") || op.getOutputShape())
    shape.padEvenly(/*moreAtStart=*/autoPad != "SAME_UPPER",
                    orEmpty(op.getOutputPadding()));
  return shape;
}

ConvShape amp::cpu::getConvShape(train::ConvInputGradientOp op) {
  return ConvShape::get(getType(op.getResult()), getType(op.getWeight()),
                        getType(op.getGradient()), op.getGroup(),
                        op.getStrides(), op.getDilations(), op.getPads());
}

ConvShape amp::cpu::getConvShape(train::ConvWeightGradientOp op) {
  return ConvShape::get(getType(op.getX()), getType(op.getResult()),
                        getType(op.getGradient()), op.getGroup(),
                        op.getStrides(), op.getDilations(), op.getPads());
}
