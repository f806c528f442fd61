//===- Reductions.cpp - Decomposition of reductions -----------------------===//
//
// To ReduceSum and ReduceMax of an elementwise function.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// The reduced axes: all when none are given, unless that means none.
template <typename OpTy>
FailureOr<SmallVector<int64_t>> getAxes(OpTy op, Decomposition &d) {
  int64_t rank = getStaticShape(d.input(0)).size();
  SmallVector<int64_t> axes;
  if (d.input(1)) {
    FailureOr<SmallVector<int64_t>> given = d.constantInts(1);
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (axes.empty() && !op.getNoopWithEmptyAxes())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t &axis : axes) {
    FailureOr<int64_t> fromFront = d.axisOf(axis, rank);
    if (failed(fromFront))
      return failure();
    axis = *fromFront;
  }
  return axes;
}

/// Integers are summed in their own type; only what needs a fraction is wide.
template <typename OpTy, typename Fn>
LogicalResult decomposeReduction(OpTy op, Decomposition &d, Fn build) {
  FailureOr<SmallVector<int64_t>> axes = getAxes(op, d);
  if (failed(axes))
    return failure();
  Value y = build(d.wide(0), *axes);
  d.set(0, d.reshape(y, d.resultShape(0)));
  return success();
}

LogicalResult decomposeReduceL1(ReduceL1Op op, Decomposition &d) {
  return decomposeReduction(op, d, [&](Value x, ArrayRef<int64_t> axes) {
    return d.reduceSum(d.unary("Abs", x), axes);
  });
}

LogicalResult decomposeReduceL2(ReduceL2Op op, Decomposition &d) {
  if (!isa<FloatType>(getElementType(d.input(0))))
    return success();
  return decomposeReduction(op, d, [&](Value x, ArrayRef<int64_t> axes) {
    return d.unary("Sqrt", d.reduceSum(d.mul(x, x), axes));
  });
}

LogicalResult decomposeReduceLogSum(ReduceLogSumOp op, Decomposition &d) {
  if (!isa<FloatType>(getElementType(d.input(0))))
    return success();
  return decomposeReduction(op, d, [&](Value x, ArrayRef<int64_t> axes) {
    return d.unary("Log", d.reduceSum(x, axes));
  });
}

/// max + log(sum(exp(x - max))); an infinite max is not subtracted
LogicalResult decomposeReduceLogSumExp(ReduceLogSumExpOp op, Decomposition &d) {
  if (!isa<FloatType>(getElementType(d.input(0))))
    return success();
  return decomposeReduction(op, d, [&](Value x, ArrayRef<int64_t> axes) {
    Value most = d.reduce("ReduceMax", x, axes);
    Value isInfinite = d.create("IsInf", {most});
    Value shift = d.where(isInfinite, d.scalarLike(0, most), most);
    Value sum = d.reduceSum(d.unary("Exp", d.sub(x, shift)), axes);
    return d.add(d.unary("Log", sum), shift);
  });
}

LogicalResult decomposeReduceSumSquare(ReduceSumSquareOp op, Decomposition &d) {
  return decomposeReduction(op, d, [&](Value x, ArrayRef<int64_t> axes) {
    return d.reduceSum(d.mul(x, x), axes);
  });
}

/// A reduction over all axes but batch and channel.
template <typename OpTy>
LogicalResult decomposeGlobalPool(OpTy op, Decomposition &d) {
  int64_t rank = getStaticShape(d.input(0)).size();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  if constexpr (std::is_same_v<OpTy, GlobalMaxPoolOp>)
    d.set(0, d.reduce("ReduceMax", d.input(0), axes));
  else
    d.set(0, d.reduceMean(d.wide(0), axes));
  return success();
}

} // namespace

void amp::onnx::addReductionRules(RuleTable &table) {
  table.add(decomposeGlobalPool<GlobalAveragePoolOp>);
  table.add(decomposeGlobalPool<GlobalMaxPoolOp>);
  table.add(decomposeReduceL1);
  table.add(decomposeReduceL2);
  table.add(decomposeReduceLogSum);
  table.add(decomposeReduceLogSumExp);
  table.add(decomposeReduceSumSquare);
}
