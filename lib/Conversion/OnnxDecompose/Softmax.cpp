//===- Softmax.cpp - Decomposition of softmax and its kin -----------------===//
//
// The maximum is subtracted first, so that no exponential overflows.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

LogicalResult decomposeSoftmax(SoftmaxOp op, Decomposition &d) {
  Value x = d.wide(0);
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), getStaticShape(x).size());
  if (failed(axis))
    return failure();
  d.set(0, d.softmax(x, *axis));
  return success();
}

/// z - log(sum(exp(z))) with z = x - max(x)
LogicalResult decomposeLogSoftmax(LogSoftmaxOp op, Decomposition &d) {
  Value x = d.wide(0);
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), getStaticShape(x).size());
  if (failed(axis))
    return failure();
  Value shifted = d.sub(x, d.reduce("ReduceMax", x, {*axis}));
  Value sum = d.reduceSum(d.unary("Exp", shifted), {*axis});
  d.set(0, d.sub(shifted, d.unary("Log", sum)));
  return success();
}

/// 1 at the first maximum, else 0
LogicalResult decomposeHardmax(HardmaxOp op, Decomposition &d) {
  Value x = d.input(0);
  ArrayRef<int64_t> shape = getStaticShape(x);
  FailureOr<int64_t> axis = d.axisOf(op.getAxis(), shape.size());
  if (failed(axis))
    return failure();
  Value best = d.create("ArgMax", {x}, d.attr("axis", *axis));
  SmallVector<int64_t> positions(shape[*axis]);
  std::iota(positions.begin(), positions.end(), 0);
  Value index = d.alongAxis(d.ints(positions), *axis, shape.size());
  Value isBest = d.create("Equal", {best, index});
  d.set(0, d.where(isBest, d.scalarLike(1, x), d.scalarLike(0, x)));
  return success();
}

} // namespace

void amp::onnx::addSoftmaxRules(RuleTable &table) {
  table.add(decomposeHardmax);
  table.add(decomposeLogSoftmax);
  table.add(decomposeSoftmax);
}
