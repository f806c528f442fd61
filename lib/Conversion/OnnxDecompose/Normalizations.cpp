//===- Normalizations.cpp - Decomposition of normalizations ---------------===//
//
// (x - mean) / sqrt(variance + epsilon) over different axes; variances are the
// mean of squared differences, in two passes.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// Numbers from `first` up to `last`, which is left out.
SmallVector<int64_t> range(int64_t first, int64_t last) {
  return llvm::to_vector(llvm::seq<int64_t>(first, last));
}

struct Moments {
  Value mean, centered, variance;
};

Moments getMoments(Decomposition &d, Value x, ArrayRef<int64_t> axes) {
  Value mean = d.reduceMean(x, axes);
  Value centered = d.sub(x, mean);
  return {mean, centered, d.reduceMean(d.mul(centered, centered), axes)};
}

LogicalResult decomposeLayerNormalization(LayerNormalizationOp op,
                                          Decomposition &d) {
  Value x = d.wide(0);
  int64_t rank = getStaticShape(x).size();
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), rank);
  if (failed(axis))
    return failure();
  Moments moments = getMoments(d, x, range(*axis, rank));
  Value inverse =
      d.inverseRoot(moments.variance, op.getEpsilon().convertToFloat());
  Value y = d.mul(d.mul(moments.centered, inverse), d.wide(1));
  d.set(0, d.input(2) ? d.add(y, d.wide(2)) : y);
  d.set(1, moments.mean);
  d.set(2, inverse);
  return success();
}

/// x / sqrt(mean(x x) + epsilon) scale
LogicalResult decomposeRMSNormalization(RMSNormalizationOp op,
                                        Decomposition &d) {
  Value x = d.wide(0);
  int64_t rank = getStaticShape(x).size();
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), rank);
  if (failed(axis))
    return failure();
  Value square = d.reduceMean(d.mul(x, x), range(*axis, rank));
  Value inverse = d.inverseRoot(square, op.getEpsilon().convertToFloat());
  d.set(0, d.mul(d.mul(x, inverse), d.wide(1)));
  return success();
}

/// Scale and bias per channel, the second dimension.
Value scaleChannels(Decomposition &d, Value x, Value scale, Value bias) {
  int64_t rank = getStaticShape(x).size();
  return d.add(d.mul(x, d.alongAxis(scale, 1, rank)),
               d.alongAxis(bias, 1, rank));
}

LogicalResult decomposeGroupNormalization(GroupNormalizationOp op,
                                          Decomposition &d) {
  Value x = d.wide(0);
  SmallVector<int64_t> shape(getStaticShape(x));
  int64_t groups = op.getNumGroups();
  if (groups <= 0 || shape.size() < 2 || shape[1] % groups != 0)
    return d.emitError() << "cannot split " << x.getType() << " into " << groups
                         << " groups of channels";
  SmallVector<int64_t> split(shape);
  split[1] = shape[1] / groups;
  split.insert(split.begin() + 1, groups);
  Moments moments = getMoments(d, d.reshape(x, split), range(2, split.size()));
  Value inverse =
      d.inverseRoot(moments.variance, op.getEpsilon().convertToFloat());
  Value y = d.reshape(d.mul(moments.centered, inverse), shape);
  d.set(0, scaleChannels(d, y, d.wide(1), d.wide(2)));
  return success();
}

LogicalResult decomposeInstanceNormalization(InstanceNormalizationOp op,
                                             Decomposition &d) {
  Value x = d.wide(0);
  Moments moments = getMoments(d, x, range(2, getStaticShape(x).size()));
  Value inverse =
      d.inverseRoot(moments.variance, op.getEpsilon().convertToFloat());
  Value y = d.mul(moments.centered, inverse);
  d.set(0, scaleChannels(d, y, d.wide(1), d.wide(2)));
  return success();
}

//===----------------------------------------------------------------------===//
// Batch normalization
//===----------------------------------------------------------------------===//

/// momentum old + (1 - momentum) batch
Value updateRunning(Decomposition &d, Value old, Value batch, double momentum) {
  Value flat = d.reshape(batch, getStaticShape(old));
  return d.add(d.scale(old, momentum), d.scale(flat, 1 - momentum));
}

/// With the statistics of the batch; the running ones are results, too.
LogicalResult decomposeTraining(BatchNormalizationOp op, Decomposition &d,
                                Value x) {
  SmallVector<int64_t> axes = range(1, getStaticShape(x).size());
  axes.front() = 0;
  Moments moments = getMoments(d, x, axes);
  double momentum = op.getMomentum().convertToFloat();
  if (d.wants(1))
    d.set(1, updateRunning(d, d.wide(3), moments.mean, momentum));
  if (d.wants(2))
    d.set(2, updateRunning(d, d.wide(4), moments.variance, momentum));
  Value inverse =
      d.inverseRoot(moments.variance, op.getEpsilon().convertToFloat());
  d.set(0, scaleChannels(d, d.mul(moments.centered, inverse), d.wide(1),
                         d.wide(2)));
  return success();
}

LogicalResult decomposeBatchNormalization(BatchNormalizationOp op,
                                          Decomposition &d) {
  Value x = d.wide(0);
  int64_t rank = getStaticShape(x).size();
  if (rank < 2)
    return d.emitError() << "needs an operand with a channel dimension, but "
                            "got "
                         << x.getType();
  if (op.getTrainingMode())
    return decomposeTraining(op, d, x);
  Value centered = d.sub(x, d.alongAxis(d.wide(3), 1, rank));
  Value inverse = d.inverseRoot(d.wide(4), op.getEpsilon().convertToFloat());
  d.set(0, scaleChannels(d, centered, d.mul(d.wide(1), inverse), d.wide(2)));
  return success();
}

//===----------------------------------------------------------------------===//
// Without parameters
//===----------------------------------------------------------------------===//

/// x / norm(x); 0 where the norm is 0
LogicalResult decomposeLpNormalization(LpNormalizationOp op, Decomposition &d) {
  Value x = d.wide(0);
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), getStaticShape(x).size());
  if (failed(axis))
    return failure();
  Value norm;
  if (op.getP() == 1)
    norm = d.reduceSum(d.unary("Abs", x), {*axis});
  else if (op.getP() == 2)
    norm = d.unary("Sqrt", d.reduceSum(d.mul(x, x), {*axis}));
  else
    return d.emitError() << "has the order p = " << op.getP()
                         << "; only 1 and 2 are defined";
  Value isZero = d.create("Equal", {norm, d.scalarLike(0, norm)});
  Value divisor = d.where(isZero, d.scalarLike(1, norm), norm);
  d.set(0, d.div(x, divisor));
  return success();
}

/// (x - mean) / (sqrt(variance) + 1e-9)
LogicalResult decomposeMeanVarianceNormalization(MeanVarianceNormalizationOp op,
                                                 Decomposition &d) {
  Value x = d.wide(0);
  SmallVector<int64_t> axes{0, 2, 3};
  if (std::optional<ArrayRef<int64_t>> given = op.getAxes())
    axes.assign(given->begin(), given->end());
  Moments moments = getMoments(d, x, axes);
  Value deviation = d.addScalar(d.unary("Sqrt", moments.variance), 1e-9);
  d.set(0, d.div(moments.centered, deviation));
  return success();
}

/// x / (bias + alpha / size sum(x x over neighbouring channels)) ^ beta
LogicalResult decomposeLRN(LRNOp op, Decomposition &d) {
  Value x = d.wide(0);
  ArrayRef<int64_t> shape = getStaticShape(x);
  int64_t size = op.getSize(), rank = shape.size();
  SmallVector<int64_t> before(rank, 0), after(rank, 0);
  before[1] = (size - 1) / 2;
  after[1] = size - 1 - before[1];
  Value squares = d.pad(d.mul(x, x), before, after), sum;
  for (int64_t i = 0; i < size; ++i) {
    Value part = d.slice(squares, {i}, {i + shape[1]}, {1});
    sum = sum ? d.add(sum, part) : part;
  }
  double alpha = op.getAlpha().convertToFloat() / size;
  Value base = d.addScalar(d.scale(sum, alpha), op.getBias().convertToFloat());
  Value exponent = d.scalarLike(op.getBeta().convertToFloat(), x);
  d.set(0, d.div(x, d.create("Pow", {base, exponent})));
  return success();
}

} // namespace

void amp::onnx::addNormalizationRules(RuleTable &table) {
  table.add(decomposeBatchNormalization);
  table.add(decomposeGroupNormalization);
  table.add(decomposeInstanceNormalization);
  table.add(decomposeLayerNormalization);
  table.add(decomposeLRN);
  table.add(decomposeLpNormalization);
  table.add(decomposeMeanVarianceNormalization);
  table.add(decomposeRMSNormalization);
}
