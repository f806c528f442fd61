//===- GeneratorKernels.cpp - Elements made from where they are -----------===//
//
// OneHot, Trilu, Range, ConstantOfShape.
//
//===----------------------------------------------------------------------===//

#include "MovementKernels.h"
#include "PointLoops.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

using IPred = arith::CmpIPredicate;

namespace {

KernelCalls callOnce(KernelCall call) { return {{std::move(call)}, {}}; }

/// An element of any number type as i64.
Value toI64(Emitter &e, Value x, Type type) {
  Type i64 = e.b().getI64Type();
  if (isa<FloatType>(type))
    return e.convert<arith::FPToSIOp>(i64, x);
  if (getComputeType(type) == i64)
    return x;
  return type.isUnsignedInteger() ? e.convert<arith::ExtUIOp>(i64, x)
                                  : e.convert<arith::ExtSIOp>(i64, x);
}

/// result[b, d, a] = d == indices[b, a] ? values[1] : values[0]; an index from
/// -depth on counts from the end, others are nowhere.
FailureOr<KernelCalls> emitOneHot(Operation *op, KernelModule &kernels) {
  Value indices = op->getOperand(0), values = op->getOperand(2),
        result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(result);
  AxisSplit split = splitAtAxis(
      shape, normalizeAxis(getIntAttr(op, "axis", -1), shape.size()));
  Type bits = getBitsType(getElement(result)), type = getElement(indices);
  SmallVector<int64_t> sizes{split.before, split.size};
  bool isLast = split.after == 1;
  if (!isLast)
    sizes.push_back(split.after);
  PointLoops loops(sizes);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value row = e.muli(point[0], e.i64(split.after));
      Value index = isLast ? e.loadScalar(buffers[0], row, type)
                           : e.load(buffers[0], e.addi(row, point[2]), type);
      index = toI64(e, index, type);
      Value isNegative = e.cmpi(IPred::slt, index, e.i64(0));
      index = e.select(isNegative, e.addi(index, e.i64(split.size)), index);
      Value depth = isLast ? e.countUp(point[1]) : point[1];
      Value element = e.select(e.cmpi(IPred::eq, index, depth),
                               e.loadScalar(buffers[1], e.i64(1), bits),
                               e.loadScalar(buffers[1], e.i64(0), bits));
      Value to = e.addi(e.muli(point[0], e.i64(split.size)), point[1]);
      if (!isLast)
        to = e.addi(e.muli(to, e.i64(split.after)), point[2]);
      e.store(element, buffers[2], to, bits);
    });
  };
  std::string key =
      makeKey("one_hot", {split.before, split.size, split.after}, {bits, type});
  return callOnce(
      makeKernelCall(kernels, key, "one_hot", {indices, values, result},
                     loops.getIterations(), loops.getGrain(), print));
}

FailureOr<KernelCalls> emitTrilu(Operation *op, KernelModule &kernels) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(result);
  int64_t shift = 0;
  if (getInput(op, 1)) {
    auto k = getConstantOperand(op, 1, "k");
    if (failed(k))
      return failure();
    shift = k->front();
  }
  bool upper = getIntAttr(op, "upper", 1) != 0;
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  int64_t batch = plan::getNumElements(shape.drop_back(2));
  Type bits = getBitsType(getElement(result));
  PointLoops loops({batch, rows, columns});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value at = emitAddress(e, point, {rows * columns, columns, 1});
      Value diagonal = e.addi(point[1], e.i64(shift));
      Value keep = e.cmpi(upper ? IPred::sge : IPred::sle, e.countUp(point[2]),
                          diagonal);
      Value element =
          e.select(keep, e.load(buffers[0], at, bits), e.integer(bits, 0));
      e.store(element, buffers[1], at, bits);
    });
  };
  std::string key =
      makeKey("trilu", {batch, rows, columns, shift, upper}, {bits});
  return callOnce(makeKernelCall(kernels, key, "trilu", {input, result},
                                 loops.getIterations(), loops.getGrain(),
                                 print));
}

/// start + i * delta
FailureOr<KernelCalls> emitRange(Operation *op, KernelModule &kernels) {
  Value start = op->getOperand(0), delta = op->getOperand(2),
        result = op->getResult(0);
  Type type = getElement(result), compute = getComputeType(type);
  int64_t count = plan::getNumElements(plan::getShape(result));
  PointLoops loops(ArrayRef<int64_t>{count});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value i = e.countUp(point[0]);
      Value first = e.loadScalar(buffers[0], e.i64(0), type);
      Value step = e.loadScalar(buffers[1], e.i64(0), type);
      Value element;
      if (isa<FloatType>(type)) {
        Value number = e.convert<arith::SIToFPOp>(compute, i);
        element = e.roundTo(type, e.addf(first, e.mulf(number, step)));
      } else {
        Value number =
            compute.isInteger(64) ? i : e.convert<arith::TruncIOp>(compute, i);
        element = e.addi(first, e.muli(number, step));
      }
      e.store(element, buffers[2], point[0], type);
    });
  };
  return callOnce(makeKernelCall(
      kernels, makeKey("range", {count}, {type}), "range",
      {start, delta, result}, loops.getIterations(), loops.getGrain(), print));
}

FailureOr<KernelCalls> emitConstantOfShape(Operation *op,
                                           KernelModule &kernels) {
  Value result = op->getResult(0);
  Type type = getElement(result), compute = getComputeType(type);
  int64_t count = plan::getNumElements(plan::getShape(result));
  TypedAttr number = isa<FloatType>(compute)
                         ? TypedAttr(FloatAttr::get(compute, 0))
                         : TypedAttr(IntegerAttr::get(compute, 0));
  if (auto value = op->getAttrOfType<DenseElementsAttr>("value")) {
    if (isa<FloatType>(compute))
      number = FloatAttr::get(
          compute, (*value.getValues<APFloat>().begin()).convertToDouble());
    else
      number = IntegerAttr::get(compute, *value.getValues<APInt>().begin());
  }
  PointLoops loops(ArrayRef<int64_t>{count});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value element = arith::ConstantOp::create(b, number);
      e.store(element, buffers[0], point[0], type);
    });
  };
  std::string key = makeKey("constant", {count}, {type});
  llvm::raw_string_ostream(key) << number;
  return callOnce(makeKernelCall(kernels, key, "constant", {result},
                                 loops.getIterations(), loops.getGrain(),
                                 print));
}

} // namespace

void amp::cpu::addGeneratorKernels(KernelRegistry &registry) {
  registry.add("onnx.ConstantOfShape", emitConstantOfShape);
  registry.add("onnx.OneHot", emitOneHot);
  registry.add("onnx.Range", emitRange);
  registry.add("onnx.Trilu", emitTrilu);
}
