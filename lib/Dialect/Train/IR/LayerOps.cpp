//===- LayerOps.cpp - Verifiers of the gradients of layers ----------------===//
//
// Windows that fit their tensors, axes within their rank.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace amp::train;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Checks a window of `kernel` that slides over the spatial dimensions of
/// `input` (the dimensions after the first two) and stops at those of
/// `output`. A last window may hang over the padding if `mayHang`.
template <typename OpTy>
static LogicalResult verifyWindow(OpTy op, RankedTensorType input,
                                  RankedTensorType output,
                                  ArrayRef<int64_t> kernel, bool mayHang) {
  ArrayRef<int64_t> strides = op.getStrides(), dilations = op.getDilations(),
                    pads = op.getPads();
  size_t spatial = strides.size();
  if (spatial == 0 || kernel.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial)
    return op.emitOpError()
           << "expects one stride, dilation and kernel size and two pads for "
              "each spatial dimension";
  if (size_t(input.getRank()) != spatial + 2 ||
      size_t(output.getRank()) != spatial + 2)
    return op.emitOpError()
           << "slides over " << spatial << " spatial dimensions, but got "
           << input << " and " << output;
  if (!input.hasStaticShape() || !output.hasStaticShape())
    return op.emitOpError() << "expects static shapes";
  auto isPositive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(strides, isPositive) ||
      !llvm::all_of(dilations, isPositive) || !llvm::all_of(kernel, isPositive))
    return op.emitOpError()
           << "expects positive strides, dilations and kernel sizes";
  for (size_t i = 0; i < spatial; ++i) {
    int64_t slack = input.getDimSize(i + 2) + pads[i] + pads[i + spatial] -
                    (kernel[i] - 1) * dilations[i] - 1;
    int64_t last = (output.getDimSize(i + 2) - 1) * strides[i];
    if (last > slack + (mayHang ? strides[i] - 1 : 0) ||
        last <= slack - strides[i])
      return op.emitOpError()
             << "has a window that gives no dimension of size "
             << output.getDimSize(i + 2) << " from one of size "
             << input.getDimSize(i + 2);
  }
  return success();
}

/// Checks a convolution of `x` by `weight` to `y`.
template <typename OpTy>
static LogicalResult verifyConvolution(OpTy op, RankedTensorType x,
                                       RankedTensorType weight,
                                       RankedTensorType y) {
  if (weight.getRank() != x.getRank())
    return op.emitOpError()
           << "expects tensors of one rank, but got " << x << " and " << weight;
  if (failed(verifyWindow(op, x, y, weight.getShape().drop_front(2),
                          /*mayHang=*/false)))
    return failure();
  int64_t group = op.getGroup();
  if (group < 1 || y.getDimSize(0) != x.getDimSize(0) ||
      y.getDimSize(1) != weight.getDimSize(0) || y.getDimSize(1) % group ||
      x.getDimSize(1) != weight.getDimSize(1) * group)
    return op.emitOpError() << "has batch or channel dimensions that do not "
                               "fit: input "
                            << x << ", weight " << weight << ", output " << y
                            << ", " << group << " groups";
  return success();
}

LogicalResult ConvInputGradientOp::verify() {
  return verifyConvolution(*this, getType(), getWeight().getType(),
                           getGradient().getType());
}

LogicalResult ConvWeightGradientOp::verify() {
  return verifyConvolution(*this, getX().getType(), getType(),
                           getGradient().getType());
}

/// Batch and channels of pooling's input and output are the same.
template <typename OpTy>
static LogicalResult verifyPooling(OpTy op, RankedTensorType input) {
  RankedTensorType output = op.getGradient().getType();
  if (failed(verifyWindow(op, input, output, op.getKernelShape(),
                          /*mayHang=*/true)))
    return failure();
  if (input.getShape().take_front(2) != output.getShape().take_front(2))
    return op.emitOpError() << "expects batch and channels alike, but got "
                            << input << " and " << output;
  return success();
}

LogicalResult MaxPoolGradientOp::verify() {
  return verifyPooling(*this, getType());
}

LogicalResult AveragePoolGradientOp::verify() {
  return verifyPooling(*this, getType());
}

//===----------------------------------------------------------------------===//
// Norms, softmax and losses
//===----------------------------------------------------------------------===//

/// Whether a tensor of `shape` broadcasts to `target` and leaves it as it is.
static bool broadcastsTo(ArrayRef<int64_t> shape, ArrayRef<int64_t> target) {
  SmallVector<int64_t> result;
  return OpTrait::util::getBroadcastedShape(shape, target, result) &&
         ArrayRef(result) == target;
}

LogicalResult NormGradientOp::verify() {
  RankedTensorType type = getDx().getType();
  llvm::SmallDenseSet<int64_t> seen;
  SmallVector<int64_t> statistics(type.getShape());
  for (int64_t axis : getAxes()) {
    if (axis < 0 || axis >= type.getRank() || !seen.insert(axis).second)
      return emitOpError() << "expects distinct axes of " << type
                           << ", but got " << axis;
    statistics[axis] = 1;
  }
  if (seen.empty())
    return emitOpError() << "expects at least one axis";
  for (Value gradient : {getMeanGradient(), getInvStdGradient()})
    if (gradient &&
        cast<ShapedType>(gradient.getType()).getShape() != ArrayRef(statistics))
      return emitOpError() << "expects cotangents of statistics of shape ("
                           << statistics << "), but got " << gradient.getType();
  if (getScale() &&
      !broadcastsTo(getScale().getType().getShape(), type.getShape()))
    return emitOpError() << "has a scale " << getScale().getType()
                         << " that does not broadcast to " << type;
  if (getDscale() && (!getScale() || getScale().getType().getShape() !=
                                         getDscale().getType().getShape()))
    return emitOpError()
           << "expects the gradient of the scale in the scale's shape, but got "
           << getDscale().getType();
  return success();
}

template <typename OpTy> static LogicalResult verifyAxis(OpTy op) {
  int64_t axis = op.getAxis(), rank = op.getType().getRank();
  if (axis < 0 || axis >= rank)
    return op.emitOpError()
           << "expects an axis of " << op.getType() << ", but got " << axis;
  return success();
}

LogicalResult SoftmaxGradientOp::verify() { return verifyAxis(*this); }
LogicalResult LogSoftmaxGradientOp::verify() { return verifyAxis(*this); }

/// Checks labels, class weights and the loss's cotangent of a loss of `scores`.
template <typename OpTy>
static LogicalResult verifyLoss(OpTy op, RankedTensorType scores) {
  if (scores.getRank() < 2)
    return op.emitOpError() << "expects scores of at least two dimensions";
  SmallVector<int64_t> expected{scores.getDimSize(0)};
  llvm::append_range(expected, scores.getShape().drop_front(2));
  if (op.getLabels().getType().getShape() != ArrayRef(expected))
    return op.emitOpError() << "expects labels of shape (" << expected
                            << "), but got " << op.getLabels().getType();
  if (op.getWeights() &&
      op.getWeights().getType().getShape() != scores.getShape().slice(1, 1))
    return op.emitOpError() << "expects one weight a class, but got "
                            << op.getWeights().getType();
  if (op.getReduction() != Reduction::None)
    expected.clear();
  if (op.getGradient() &&
      op.getGradient().getType().getShape() != ArrayRef(expected))
    return op.emitOpError()
           << "expects a cotangent of the loss of shape (" << expected
           << "), but got " << op.getGradient().getType();
  return success();
}

LogicalResult SoftmaxCrossEntropyGradientOp::verify() {
  RankedTensorType scores = getScores().getType();
  if (failed(verifyLoss(*this, scores)))
    return failure();
  if (!getGradient() && !getLogProbGradient())
    return emitOpError() << "expects a cotangent of the loss or of the "
                            "log-probabilities";
  if (getLogProbGradient() &&
      getLogProbGradient().getType().getShape() != scores.getShape())
    return emitOpError() << "expects a cotangent of the log-probabilities like "
                            "the scores, but got "
                         << getLogProbGradient().getType();
  return success();
}

LogicalResult NegativeLogLikelihoodGradientOp::verify() {
  return verifyLoss(*this, getType());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionGradientOp::verify() {
  ArrayRef<int64_t> q = getQuery().getType().getShape(),
                    k = getKey().getType().getShape(),
                    v = getValue().getType().getShape();
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return emitOpError() << "expects operands of four dimensions";
  if (k[1] == 0 || q[1] % k[1] || q[0] != k[0] || q[3] != k[3] ||
      k.take_front(3) != v.take_front(3))
    return emitOpError() << "has operands that do not fit: query "
                         << getQuery().getType() << ", key "
                         << getKey().getType() << ", value "
                         << getValue().getType();
  SmallVector<int64_t> expected{q[0], q[1], q[2], v[3]};
  if (getGradient().getType().getShape() != ArrayRef(expected))
    return emitOpError() << "expects a cotangent of shape (" << expected
                         << "), but got " << getGradient().getType();
  if (getMask()) {
    SmallVector<int64_t> mask(getMask().getType().getShape());
    SmallVector<int64_t> scores{q[0], q[1], q[2], k[2]};
    if (!mask.empty() && mask.back() < k[2])
      mask.back() = k[2];
    if (mask.empty() || !broadcastsTo(mask, scores))
      return emitOpError() << "has a mask " << getMask().getType()
                           << " that does not broadcast to (" << scores << ")";
  }
  if (getLengths() && getLengths().getType().getShape() != q.take_front(1))
    return emitOpError() << "expects one length a batch, but got "
                         << getLengths().getType();
  if (getDmask() && (!getMask() || getMask().getType() != getDmask().getType()))
    return emitOpError() << "expects the cotangent of the mask in the mask's "
                            "type, but got "
                         << getDmask().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// Recurrent layers
//===----------------------------------------------------------------------===//

static int64_t getNumGates(RecurrentCell cell) {
  switch (cell) {
  case RecurrentCell::Lstm:
    return 4;
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter:
    return 3;
  case RecurrentCell::RnnTanh:
  case RecurrentCell::RnnRelu:
    return 1;
  }
  llvm_unreachable("a cell without a case");
}

static LogicalResult verifyShape(Operation *op, Value value, StringRef what,
                                 ArrayRef<int64_t> shape) {
  if (!value || cast<ShapedType>(value.getType()).getShape() == shape)
    return success();
  return op->emitOpError() << "expects " << what << " of shape (" << shape
                           << "), but got " << value.getType();
}

/// Operands and results of `gates` rows for `hidden` states.
static LogicalResult verifyRecurrentShapes(RecurrentGradientOp op,
                                           int64_t gates, int64_t hidden) {
  RankedTensorType x = op.getX().getType();
  int64_t time = x.getDimSize(0), batch = x.getDimSize(1),
          input = x.getDimSize(2);
  auto check = [&](Value value, StringRef what, ArrayRef<int64_t> shape) {
    return verifyShape(op, value, what, shape);
  };
  if (failed(check(op.getWeight(), "a weight", {gates, input})) ||
      failed(check(op.getRecurrence(), "a recurrence", {gates, hidden})) ||
      failed(check(op.getBias(), "a bias", {2 * gates})) ||
      failed(check(op.getSequenceLens(), "lengths", {batch})) ||
      failed(check(op.getPeepholes(), "peepholes", {3 * hidden})) ||
      failed(
          check(op.getYGradient(), "a cotangent of y", {time, batch, hidden})))
    return failure();
  for (Value state : {Value(op.getInitialH()), Value(op.getInitialC()),
                      Value(op.getHGradient()), Value(op.getCGradient()),
                      Value(op.getDinitialH())})
    if (failed(check(state, "states", {batch, hidden})))
      return failure();
  if (failed(
          check(op.getDweight(), "a gradient of the weight", {gates, input})) ||
      failed(check(op.getDrecurrence(), "a gradient of the recurrence",
                   {gates, hidden})))
    return failure();
  return check(op.getDbias(), "a gradient of the bias", {2 * gates});
}

LogicalResult RecurrentGradientOp::verify() {
  RankedTensorType x = getX().getType();
  if (x.getRank() != 3 || getRecurrence().getType().getRank() != 2)
    return emitOpError() << "expects x of three dimensions and weights of two";
  int64_t hidden = getRecurrence().getType().getDimSize(1);
  if (failed(verifyRecurrentShapes(*this, getNumGates(getCell()) * hidden,
                                   hidden)))
    return failure();
  bool isLstm = getCell() == RecurrentCell::Lstm;
  if (!isLstm && (getInitialC() || getCGradient() || getPeepholes()))
    return emitOpError() << "has a cell state or peepholes, which only an LSTM "
                            "has";
  size_t expected = !isLstm ? 0 : getPeepholes() ? 2 : 1;
  if (getDcell().size() != expected)
    return emitOpError() << "expects " << expected
                         << " results of the cell, but got "
                         << getDcell().size();
  if (isLstm && failed(verifyShape(*this, getDcell()[0], "states",
                                   {x.getDimSize(1), hidden})))
    return failure();
  return verifyShape(*this, expected == 2 ? getDcell()[1] : Value(),
                     "a gradient of the peepholes", {3 * hidden});
}
