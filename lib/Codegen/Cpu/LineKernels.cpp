//===- LineKernels.cpp - Operators that walk lines along an axis ----------===//
//
// ArgMax, ArgMin, CumSum, TopK: one line after another, lanes across lines
// where they lie side by side.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "MovementKernels.h"
#include "PointLoops.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

using FPred = arith::CmpFPredicate;
using IPred = arith::CmpIPredicate;
using Values = SmallVector<Value>;

namespace {

/// Whether `x` comes before `y` by value alone; NaN is the largest number.
Value emitBefore(Emitter &e, Value x, Value y, bool largest, bool isUnsigned) {
  if (!isa<FloatType>(getElementTypeOrSelf(x.getType()))) {
    if (largest)
      std::swap(x, y);
    return e.cmpi(isUnsigned ? IPred::ult : IPred::slt, x, y);
  }
  if (!largest)
    std::swap(x, y);
  // x > y, or x is NaN and y is not.
  Value isNan = e.cmpf(FPred::UNO, x, x);
  Value isNumber = e.cmpf(FPred::ORD, y, y);
  return e.ori(e.cmpf(FPred::OGT, x, y), e.andi(isNan, isNumber));
}

bool isUnsignedType(Type type) {
  return type.isUnsignedInteger() || type.isInteger(1);
}

FailureOr<KernelCalls> emitArgExtreme(Operation *op, KernelModule &kernels,
                                      bool isMax) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  AxisSplit split = splitAtAxis(
      shape, normalizeAxis(getIntAttr(op, "axis", 0), shape.size()));
  bool last = getIntAttr(op, "select_last_index", 0) != 0;
  Type type = getElement(input);
  PointLoops loops(ArrayRef<int64_t>{split.before, split.after});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      auto element = [&](Value t) {
        Value row = e.addi(e.muli(point[0], e.i64(split.size)), t);
        return e.load(buffers[0],
                      e.addi(e.muli(row, e.i64(split.after)), point[1]), type);
      };
      Values best{e.broadcast(element(e.i64(0))), e.broadcast(e.i64(0))};
      best = emitCarryingLoop(
          b, e.i64(1), e.i64(split.size), 1, best, [&](Value t, Values now) {
            Value next = element(t);
            bool isUnsigned = isUnsignedType(type);
            // NaN wins over everything in both directions, as in numpy.
            Value wins =
                isMax || !isa<FloatType>(type)
                    ? emitBefore(e, next, now[0], isMax, isUnsigned)
                    : e.ori(e.cmpf(FPred::OLT, next, now[0]),
                            e.andi(e.cmpf(FPred::UNO, next, next),
                                   e.cmpf(FPred::ORD, now[0], now[0])));
            if (last) {
              Value equal = isa<FloatType>(type)
                                ? e.cmpf(FPred::OEQ, next, now[0])
                                : e.cmpi(IPred::eq, next, now[0]);
              wins = e.ori(wins, equal);
            }
            return Values{e.select(wins, next, now[0]),
                          e.select(wins, e.broadcast(t), now[1])};
          });
      Value to = e.addi(e.muli(point[0], e.i64(split.after)), point[1]);
      e.store(best[1], buffers[1], to, b.getI64Type());
    });
  };
  std::string key =
      makeKey(isMax ? "arg_max" : "arg_min",
              {split.before, split.size, split.after, last}, {type});
  return KernelCalls{
      {makeKernelCall(kernels, key, isMax ? "arg_max" : "arg_min",
                      {input, result}, loops.getIterations(),
                      std::max<int64_t>(1, loops.getGrain() / split.size),
                      print)},
      {}};
}

FailureOr<KernelCalls> emitCumSum(Operation *op, KernelModule &kernels) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  auto axis = getConstantOperand(op, 1, "axis");
  if (failed(axis))
    return failure();
  AxisSplit split =
      splitAtAxis(shape, normalizeAxis(axis->front(), shape.size()));
  bool exclusive = getIntAttr(op, "exclusive", 0) != 0;
  bool reverse = getIntAttr(op, "reverse", 0) != 0;
  Type type = getElement(input), compute = getComputeType(type);
  PointLoops loops(ArrayRef<int64_t>{split.before, split.after});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      bool isFloat = isa<FloatType>(compute);
      Value zero = isFloat ? e.number(compute, 0) : e.integer(compute, 0);
      emitCarryingLoop(
          b, e.i64(0), e.i64(split.size), 1, {e.broadcast(zero)},
          [&](Value step, Values sum) {
            Value t = reverse ? e.subi(e.i64(split.size - 1), step) : step;
            Value row = e.addi(e.muli(point[0], e.i64(split.size)), t);
            Value at = e.addi(e.muli(row, e.i64(split.after)), point[1]);
            Value next = e.load(buffers[0], at, type);
            Value total = isFloat ? e.addf(sum[0], next) : e.addi(sum[0], next);
            // Sums go on in f32; each result is rounded once.
            e.store(e.roundTo(type, exclusive ? sum[0] : total), buffers[1], at,
                    type);
            return Values{total};
          });
    });
  };
  std::string key = makeKey(
      "cum_sum", {split.before, split.size, split.after, exclusive, reverse},
      {type});
  return KernelCalls{
      {makeKernelCall(
          kernels, key, "cum_sum", {input, result}, loops.getIterations(),
          std::max<int64_t>(1, loops.getGrain() / split.size), print)},
      {}};
}

/// Picks, K times, the first of those that come after the last one picked:
/// order by value, equal ones by index.
class TopKPrinter {
public:
  TopKPrinter(AxisSplit split, int64_t k, Type type, bool largest)
      : split(split), k(k), type(type), largest(largest) {}

  void print(Emitter &e, ValueRange buffers, ArrayRef<Value> point);

private:
  Value comesBefore(Emitter &e, Value x, Value i, Value y, Value j) {
    bool isUnsigned = isUnsignedType(type);
    Value before = emitBefore(e, x, y, largest, isUnsigned);
    Value after = emitBefore(e, y, x, largest, isUnsigned);
    Value tie = e.xori(e.ori(before, after), e.integer(e.b().getI1Type(), 1));
    return e.ori(before, e.andi(tie, e.cmpi(IPred::slt, i, j)));
  }

  AxisSplit split;
  int64_t k;
  Type type;
  bool largest;
};

void TopKPrinter::print(Emitter &e, ValueRange buffers, ArrayRef<Value> point) {
  ImplicitLocOpBuilder &b = e.b();
  auto element = [&](Value t) {
    Value row = e.addi(e.muli(point[0], e.i64(split.size)), t);
    return e.loadScalar(
        buffers[0], e.addi(e.muli(row, e.i64(split.after)), point[1]), type);
  };
  Value none = e.i64(-1);
  // The last one picked: its value and index; index -1 before the first.
  emitCarryingLoop(
      b, e.i64(0), e.i64(k), 1, {element(e.i64(0)), none},
      [&](Value rank, Values last) {
        Values best = emitCarryingLoop(
            b, e.i64(0), e.i64(split.size), 1, {last[0], none},
            [&](Value t, Values now) {
              Value x = element(t);
              Value open = e.ori(e.cmpi(IPred::slt, last[1], e.i64(0)),
                                 comesBefore(e, last[0], last[1], x, t));
              Value better = e.ori(e.cmpi(IPred::slt, now[1], e.i64(0)),
                                   comesBefore(e, x, t, now[0], now[1]));
              Value wins = e.andi(open, better);
              return Values{e.select(wins, x, now[0]),
                            e.select(wins, t, now[1])};
            });
        Value row = e.addi(e.muli(point[0], e.i64(k)), rank);
        Value to = e.addi(e.muli(row, e.i64(split.after)), point[1]);
        e.store(best[0], buffers[1], to, type);
        e.store(best[1], buffers[2], to, b.getI64Type());
        return best;
      });
}

FailureOr<KernelCalls> emitTopK(Operation *op, KernelModule &kernels) {
  Value input = op->getOperand(0), values = op->getResult(0),
        indices = op->getResult(1);
  ArrayRef<int64_t> shape = plan::getShape(input);
  int64_t axis = normalizeAxis(getIntAttr(op, "axis", -1), shape.size());
  AxisSplit split = splitAtAxis(shape, axis);
  int64_t k = plan::getShape(values)[axis];
  bool largest = getIntAttr(op, "largest", 1) != 0;
  Type type = getElement(input);
  TopKPrinter printer(split, k, type, largest);
  PointLoops loops(ArrayRef<int64_t>{split.before, split.after},
                   /*vector=*/false);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      printer.print(e, buffers, point);
    });
  };
  std::string key = makeKey(
      "top_k", {split.before, split.size, split.after, k, largest}, {type});
  return KernelCalls{
      {makeKernelCall(kernels, key, "top_k", {input, values, indices},
                      loops.getIterations(), 1, print)},
      {}};
}

} // namespace

void amp::cpu::addLineKernels(KernelRegistry &registry) {
  registry.add("onnx.ArgMax", [](Operation *op, KernelModule &kernels) {
    return emitArgExtreme(op, kernels, true);
  });
  registry.add("onnx.ArgMin", [](Operation *op, KernelModule &kernels) {
    return emitArgExtreme(op, kernels, false);
  });
  registry.add("onnx.CumSum", emitCumSum);
  registry.add("onnx.TopK", emitTopK);
}
