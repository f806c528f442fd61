//===- Accumulation.cpp - Reductions in a fixed order ---------------------===//
//
// Lanes times accumulators, pairwise over accumulators, then halves of lanes:
// the tree is in the code, so that every machine adds in the same order.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::cpu;
using plan::Combine;

Accumulation::Accumulation(Operation *op) : op(op) {
  plan::Reduction reduction = *plan::getReduction(op);
  kind = reduction.combine;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  type = getComputeType(element);
  isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  count = 1;
  for (int64_t axis : reduction.axes)
    count *= plan::getShape(op->getOperand(0))[axis];
}

Value Accumulation::getInit(Emitter &e) const {
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case Combine::Sum:
  case Combine::Mean:
    return isFloat ? e.number(type, 0) : e.integer(type, 0);
  case Combine::Prod:
    return isFloat ? e.number(type, 1) : e.integer(type, 1);
  case Combine::Max:
  case Combine::Min:
    break;
  }
  bool isMax = kind == Combine::Max;
  if (isFloat)
    return e.number(type, isMax ? -INFINITY : INFINITY);
  unsigned width = type.getIntOrFloatBitWidth();
  APInt extreme = isMax ? (isUnsigned ? APInt::getMinValue(width)
                                      : APInt::getSignedMinValue(width))
                        : (isUnsigned ? APInt::getMaxValue(width)
                                      : APInt::getSignedMaxValue(width));
  return arith::ConstantOp::create(e.b(), IntegerAttr::get(type, extreme));
}

Value Accumulation::combine(Emitter &e, Value x, Value y) const {
  bool isFloat = isa<FloatType>(type);
  switch (kind) {
  case Combine::Sum:
  case Combine::Mean:
    return isFloat ? e.addf(x, y) : e.addi(x, y);
  case Combine::Prod:
    return isFloat ? e.mulf(x, y) : e.muli(x, y);
  case Combine::Max:
    return emitMax(e, x, y, isUnsigned);
  case Combine::Min:
    return emitMin(e, x, y, isUnsigned);
  }
  llvm_unreachable("all kinds are covered");
}

Value Accumulation::acrossLanes(Emitter &e, Value x) const {
  if (!isa<VectorType>(x.getType()))
    return x;
  int64_t size = cast<VectorType>(x.getType()).getDimSize(0);
  for (int64_t width = size / 2; width >= 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < width; ++lane) {
      low.push_back(lane);
      high.push_back(lane + width);
    }
    Value lower = vector::ShuffleOp::create(e.b(), x, x, low);
    Value upper = vector::ShuffleOp::create(e.b(), x, x, high);
    x = combine(e, lower, upper);
  }
  return vector::ExtractOp::create(e.b(), x, ArrayRef<int64_t>{0});
}

Value Accumulation::finish(Emitter &e, Value x) const {
  if (kind == Combine::Mean)
    x = isa<FloatType>(type)
            ? e.divf(x, e.number(type, count))
            : e.binary<arith::DivSIOp>(x, e.integer(type, count));
  return e.roundTo(getElementTypeOrSelf(op->getResult(0).getType()), x);
}

//===----------------------------------------------------------------------===//
// ColumnReducer
//===----------------------------------------------------------------------===//

ColumnReducer::ColumnReducer(Emitter &e, int64_t n,
                             ArrayRef<Accumulation> reductions)
    : e(e), n(n), unroll(1), reductions(reductions) {
  // Several accumulators hide the latency of adding. How many is a matter of
  // the length alone: what is fused to a sum does not change it.
  if (e.vector() && !reductions.empty())
    unroll = std::clamp<int64_t>(n / lanes, 1, 4);
  if (unroll == 3)
    unroll = 2;
}

SmallVector<Value> ColumnReducer::getInit() {
  SmallVector<Value> result;
  for (int64_t u = 0; u < unroll; ++u)
    for (const Accumulation &reduction : reductions)
      result.push_back(e.broadcast(reduction.getInit(e)));
  return result;
}

/// Combines `values` into accumulator `which` of each reduction, leaving alone
/// the lanes that the mask leaves out.
void ColumnReducer::step(MutableArrayRef<Value> accumulators, int64_t which,
                         ArrayRef<Value> values) {
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    Value &accumulator = accumulators[which * reductions.size() + i];
    Value next = reduction.combine(e, accumulator, e.broadcast(values[i]));
    accumulator = e.mask ? e.select(e.mask, next, accumulator) : next;
  }
}

SmallVector<Value> ColumnReducer::run(SmallVector<Value> accumulators,
                                      Body body) {
  int64_t width = e.vector() ? lanes : 1, stride = width * unroll;
  int64_t whole = n / stride * stride;
  auto steps = [&](Value j, SmallVector<Value> carried) {
    for (int64_t u = 0; u < unroll; ++u) {
      Value at = u ? e.addi(j, e.i64(u * width)) : j;
      step(carried, u, body(at));
    }
    return carried;
  };
  if (whole == stride)
    accumulators = steps(e.i64(0), accumulators);
  else if (whole)
    accumulators = emitCarryingLoop(e.b(), e.i64(0), e.i64(whole), stride,
                                    accumulators, steps);
  for (int64_t j = whole, which = 0; j < n; j += width, ++which) {
    e.setMask(std::min(width, n - j) == width ? lanes : n - j);
    step(accumulators, which, body(e.i64(j)));
    e.setMask(lanes);
  }
  return accumulators;
}

SmallVector<Value> ColumnReducer::finish(SmallVector<Value> accumulators) {
  size_t count = reductions.size();
  for (int64_t width = unroll / 2; width >= 1; width /= 2)
    for (int64_t u = 0; u < width; ++u)
      for (size_t i = 0; i < count; ++i)
        accumulators[u * count + i] =
            reductions[i].combine(e, accumulators[u * count + i],
                                  accumulators[(u + width) * count + i]);
  SmallVector<Value> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(reductions[i].acrossLanes(e, accumulators[i]));
  return result;
}
