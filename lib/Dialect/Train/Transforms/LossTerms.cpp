//===- LossTerms.cpp - Losses as onnx operators ---------------------------===//
//
// The formulas are those of torch.nn.functional.
//
//===----------------------------------------------------------------------===//

#include "LossTerms.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

using Kind = LossTerm::Kind;

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

static int64_t getClassAxis(const LossTerm &term, RankedTensorType logits) {
  return term.classAxis < 0 ? term.classAxis + logits.getRank()
                            : term.classAxis;
}

RankedTensorType amp::train::getLabelType(Operation *op, const LossTerm &term,
                                          Value logits) {
  auto type = dyn_cast<RankedTensorType>(logits.getType());
  if (!type || !type.hasStaticShape() || !type.getElementType().isF32()) {
    op->emitError() << "'" << term.path << ".logits': '" << term.logits
                    << "' is a " << logits.getType()
                    << ", but a loss needs a float32 tensor of static shape";
    return {};
  }
  if (term.kind != Kind::SoftmaxCrossEntropy)
    return type;
  int64_t axis = getClassAxis(term, type), rank = type.getRank();
  if (rank < 2 || axis < 1 || axis >= rank || (axis != 1 && axis != rank - 1)) {
    op->emitError() << "'" << term.path << ".class_axis': " << term.classAxis
                    << " is neither the second nor the last dimension of '"
                    << term.logits << "', a " << type;
    return {};
  }
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, IntegerType::get(op->getContext(), 64));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// All elements of `value`, summed or averaged.
static Value reduceAll(onnx::OnnxBuilder &builder, const LossTerm &term,
                       Value value) {
  StringRef name = term.sums ? "ReduceSum" : "ReduceMean";
  return builder.create(name, {value}, builder.attr("keepdims", int64_t(0)));
}

/// -mean over classes of log p, reduced over the labels that are not ignored.
static Value buildSmoothing(onnx::OnnxBuilder &builder, const LossTerm &term,
                            Value logits, Value labels) {
  Value logp =
      builder.create("LogSoftmax", {logits}, builder.attr("axis", int64_t(1)));
  Value each =
      builder.neg(builder.reduce("ReduceMean", logp, {1}, /*keepDims=*/false));
  if (!term.ignoreIndex)
    return reduceAll(builder, term, each);
  Value ignored = builder.create(
      "Equal", {labels, builder.scalarLike(*term.ignoreIndex, labels)});
  Value kept = builder.where(ignored, builder.scalarLike(0, each), each);
  auto none = builder.attr("keepdims", int64_t(0));
  Value sum = builder.create("ReduceSum", {kept}, none);
  if (term.sums)
    return sum;
  Value counted =
      builder.cast(builder.unary("Not", ignored), onnx::getElementType(each));
  return builder.div(sum, builder.create("ReduceSum", {counted}, none));
}

static Value buildCrossEntropy(onnx::OnnxBuilder &builder, const LossTerm &term,
                               Value logits, Value labels) {
  auto type = cast<RankedTensorType>(logits.getType());
  int64_t axis = getClassAxis(term, type);
  if (axis != 1) {
    // Classes last: one row per label.
    int64_t classes = type.getDimSize(axis);
    int64_t rows = type.getNumElements() / classes;
    logits = builder.reshape(logits, {rows, classes});
    labels = builder.reshape(labels, {rows});
  }
  SmallVector<NamedAttribute> attributes{
      builder.attr("reduction", StringRef(term.sums ? "sum" : "mean"))};
  if (term.ignoreIndex)
    attributes.push_back(builder.attr("ignore_index", *term.ignoreIndex));
  Value loss =
      builder.create("SoftmaxCrossEntropyLoss", {logits, labels}, attributes);
  if (term.labelSmoothing == 0)
    return loss;
  Value smooth = buildSmoothing(builder, term, logits, labels);
  return builder.add(builder.scale(loss, 1 - term.labelSmoothing),
                     builder.scale(smooth, term.labelSmoothing));
}

/// |d| < delta: d^2 / 2, else delta (|d| - delta / 2)
static Value buildHuber(onnx::OnnxBuilder &builder, const LossTerm &term,
                        Value difference) {
  Value size = builder.unary("Abs", difference);
  Value square = builder.scale(builder.mul(difference, difference), 0.5);
  Value line = builder.scale(
      builder.sub(size, builder.scalarLike(term.delta / 2, size)), term.delta);
  Value isSmall =
      builder.create("Less", {size, builder.scalarLike(term.delta, size)});
  return builder.where(isSmall, square, line);
}

/// (1 - y) x + softplus(-x): its gradient is smooth, also at 0.
static Value buildBce(onnx::OnnxBuilder &builder, Value logits, Value labels) {
  Value rest = builder.sub(builder.scalarLike(1, labels), labels);
  return builder.add(builder.mul(rest, logits),
                     builder.unary("Softplus", builder.neg(logits)));
}

Value amp::train::buildLossTerm(onnx::OnnxBuilder &builder,
                                const LossTerm &term, Value logits,
                                Value labels) {
  switch (term.kind) {
  case Kind::Output:
    return builder.reshape(logits, {});
  case Kind::SoftmaxCrossEntropy:
    return buildCrossEntropy(builder, term, logits, labels);
  case Kind::BceWithLogits:
    return reduceAll(builder, term, buildBce(builder, logits, labels));
  case Kind::Mse:
  case Kind::L1:
  case Kind::Huber:
    break;
  }
  Value difference = builder.sub(logits, labels);
  if (term.kind == Kind::Huber)
    return reduceAll(builder, term, buildHuber(builder, term, difference));
  return reduceAll(builder, term,
                   term.kind == Kind::L1 ? builder.unary("Abs", difference)
                                         : builder.mul(difference, difference));
}
