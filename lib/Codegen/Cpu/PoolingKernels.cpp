//===- PoolingKernels.cpp - MaxPool, AveragePool and their gradients ------===//
//
// Forward: lanes along the innermost dimension of the result. Backward: one
// plane (image and channel) after another, windows in order, so that what meets
// in one element is added in that order.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "MovementKernels.h"
#include "PointLoops.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

using FPred = arith::CmpFPredicate;
using IPred = arith::CmpIPredicate;
using Values = SmallVector<Value>;

namespace {

/// A window that slides over the spatial dimensions of a tensor.
struct Window {
  SmallVector<int64_t> input, output, kernel, strides, dilations, pads;

  int64_t getInputCount() const { return plan::getNumElements(input); }
  int64_t getOutputCount() const { return plan::getNumElements(output); }
  SmallVector<int64_t> getNumbers() const {
    SmallVector<int64_t> numbers(input);
    for (ArrayRef<int64_t> part :
         {ArrayRef<int64_t>(output), ArrayRef<int64_t>(kernel),
          ArrayRef<int64_t>(strides), ArrayRef<int64_t>(dilations),
          ArrayRef<int64_t>(pads)})
      numbers.append(part.begin(), part.end());
    return numbers;
  }
};

SmallVector<int64_t> getInts(Operation *op, StringRef name, size_t size,
                             int64_t otherwise) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(name);
  return attr ? llvm::to_vector(attr.asArrayRef())
              : SmallVector<int64_t>(size, otherwise);
}

Window getWindow(Operation *op, ArrayRef<int64_t> input,
                 ArrayRef<int64_t> output) {
  Window window;
  window.input.assign(input.begin() + 2, input.end());
  window.output.assign(output.begin() + 2, output.end());
  size_t dims = window.input.size();
  window.kernel = getInts(op, "kernel_shape", dims, 1);
  window.strides = getInts(op, "strides", dims, 1);
  window.dilations = getInts(op, "dilations", dims, 1);
  window.pads = getInts(op, "pads", 2 * dims, 0);
  auto attr = op->getAttrOfType<StringAttr>("auto_pad");
  StringRef automatic = attr ? attr.getValue() : "NOTSET";
  if (automatic == "VALID")
    window.pads.assign(2 * dims, 0);
  if (!automatic.starts_with("SAME"))
    return window;
  for (size_t d = 0; d < dims; ++d) {
    int64_t extent = (window.kernel[d] - 1) * window.dilations[d] + 1;
    int64_t total = std::max<int64_t>(
        0, (window.output[d] - 1) * window.strides[d] + extent - input[d + 2]);
    int64_t before = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
    window.pads[d] = before;
    window.pads[d + dims] = total - before;
  }
  return window;
}

/// One element under a window.
struct Tap {
  /// Whether it lies in the tensor, and in the tensor with its padding.
  Value inside, padded;
  /// Where it lies in the plane; a place in the tensor in any case.
  Value address;
};

/// Walks the window over the output element `out`, row-major.
class WindowWalk {
public:
  using Body = function_ref<Values(const Tap &tap, Values carried)>;

  WindowWalk(Emitter &e, const Window &window, ArrayRef<Value> out)
      : e(e), window(window), out(out),
        strides(plan::getDenseStrides(window.input)) {}

  Values run(Values carried, Body body) {
    Value yes = e.integer(e.b().getI1Type(), 1);
    return walk(0, {yes, yes, e.i64(0)}, carried, body);
  }

private:
  Values walk(size_t d, const Tap &tap, Values carried, Body body);

  Emitter &e;
  const Window &window;
  ArrayRef<Value> out;
  SmallVector<int64_t> strides;
};

Values WindowWalk::walk(size_t d, const Tap &tap, Values carried, Body body) {
  if (d == window.kernel.size())
    return body(tap, carried);
  Value first =
      e.subi(e.muli(out[d], e.i64(window.strides[d])), e.i64(window.pads[d]));
  int64_t size = window.input[d];
  int64_t end = size + window.pads[d + window.kernel.size()];
  return emitCarryingLoop(
      e.b(), e.i64(0), e.i64(window.kernel[d]), 1, carried,
      [&](Value k, Values inner) {
        Value at = e.addi(first, e.muli(k, e.i64(window.dilations[d])));
        Value inside = e.andi(e.cmpi(IPred::sge, at, e.i64(0)),
                              e.cmpi(IPred::slt, at, e.i64(size)));
        Value padded = e.cmpi(IPred::slt, at, e.i64(end));
        Value near = e.binary<arith::MinSIOp>(
            e.binary<arith::MaxSIOp>(at, e.i64(0)), e.i64(size - 1));
        Tap next{e.andi(tap.inside, inside), e.andi(tap.padded, padded),
                 e.addi(tap.address, e.muli(near, e.i64(strides[d])))};
        return walk(d + 1, next, inner, body);
      });
}

/// Whether `x` takes the place of `best`: larger, or the first NaN.
Value emitWins(Emitter &e, Value x, Value best, bool isUnsigned) {
  if (!isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return e.cmpi(isUnsigned ? IPred::ugt : IPred::sgt, x, best);
  return e.ori(
      e.cmpf(FPred::OGT, x, best),
      e.andi(e.cmpf(FPred::UNO, x, x), e.cmpf(FPred::ORD, best, best)));
}

/// The largest element of a window and where it lies in the plane.
Values emitWinner(Emitter &e, const Window &window, ArrayRef<Value> out,
                  Value plane, Value pointer, Type type) {
  Type compute = getComputeType(type);
  Value none = isa<FloatType>(compute) ? e.number(compute, -INFINITY)
                                       : e.integer(compute, 0);
  Values best{e.broadcast(none), e.broadcast(e.i64(-1))};
  return WindowWalk(e, window, out).run(best, [&](const Tap &tap, Values now) {
    Value x = e.gatherAt(pointer, e.addi(plane, tap.address), type);
    Value wins = e.ori(
        e.cmpi(IPred::slt, now[1], e.i64(0)),
        emitWins(e, x, now[0], type.isUnsignedInteger() || type.isInteger(1)));
    wins = e.andi(wins, tap.inside);
    return Values{e.select(wins, x, now[0]),
                  e.select(wins, tap.address, now[1])};
  });
}

/// How many elements the window over `out` averages, as a float.
Value emitCount(Emitter &e, const Window &window, ArrayRef<Value> out,
                bool includePad, Type compute) {
  Values count =
      WindowWalk(e, window, out)
          .run({e.broadcast(e.number(compute, 0))},
               [&](const Tap &tap, Values now) {
                 Value counts = includePad ? tap.padded : tap.inside;
                 return Values{e.select(
                     counts, e.addf(now[0], e.number(compute, 1)), now[0])};
               });
  return count[0];
}

SmallVector<int64_t> getLoopSizes(Value result) {
  ArrayRef<int64_t> shape = plan::getShape(result);
  SmallVector<int64_t> sizes{shape[0] * shape[1]};
  sizes.append(shape.begin() + 2, shape.end());
  return sizes;
}

/// Indices of the output element, lanes along the last.
Values getOutputPoint(Emitter &e, ArrayRef<Value> point) {
  Values out(point.drop_front());
  out.back() = e.countUp(out.back());
  return out;
}

FailureOr<KernelCalls> emitMaxPool(Operation *op, KernelModule &kernels) {
  Value input = op->getOperand(0), result = op->getResult(0);
  bool hasIndices = op->getNumResults() > 1;
  if (hasIndices && getIntAttr(op, "storage_order", 0) != 0)
    return op->emitError() << "cannot compile " << op->getName()
                           << ": indices in column-major order have no kernel";
  Window window = getWindow(op, plan::getShape(input), plan::getShape(result));
  Type type = getElement(input);
  SmallVector<int64_t> sizes = getLoopSizes(result);
  SmallVector<int64_t> strides = plan::getDenseStrides(sizes);
  PointLoops loops(sizes);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value plane = e.muli(point[0], e.i64(window.getInputCount()));
      Values best = emitWinner(e, window, getOutputPoint(e, point), plane,
                               buffers[0], type);
      Value to = emitAddress(e, point, strides);
      e.store(best[0], buffers[1], to, type);
      if (hasIndices)
        e.store(e.addi(best[1], plane), buffers[2], to, b.getI64Type());
    });
  };
  Values operands{input, result};
  if (hasIndices)
    operands.push_back(op->getResult(1));
  std::string key = makeKey("max_pool", window.getNumbers(), {type});
  key += hasIndices ? " indices" : "";
  key += " " + std::to_string(sizes[0]);
  return KernelCalls{
      {makeKernelCall(kernels, key, "max_pool", operands, loops.getIterations(),
                      loops.getGrain(), print)},
      {}};
}

FailureOr<KernelCalls> emitAveragePool(Operation *op, KernelModule &kernels) {
  Value input = op->getOperand(0), result = op->getResult(0);
  bool includePad = getIntAttr(op, "count_include_pad", 0) != 0;
  Window window = getWindow(op, plan::getShape(input), plan::getShape(result));
  Type type = getElement(input), compute = getComputeType(type);
  SmallVector<int64_t> sizes = getLoopSizes(result);
  SmallVector<int64_t> strides = plan::getDenseStrides(sizes);
  PointLoops loops(sizes);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value plane = e.muli(point[0], e.i64(window.getInputCount()));
      Values out = getOutputPoint(e, point);
      Values sum =
          WindowWalk(e, window, out)
              .run({e.broadcast(e.number(compute, 0))}, [&](const Tap &tap,
                                                            Values now) {
                Value x =
                    e.gatherAt(buffers[0], e.addi(plane, tap.address), type);
                return Values{e.select(tap.inside, e.addf(now[0], x), now[0])};
              });
      Value mean =
          e.divf(sum[0], emitCount(e, window, out, includePad, compute));
      e.store(e.roundTo(type, mean), buffers[1], emitAddress(e, point, strides),
              type);
    });
  };
  std::string key = makeKey("average_pool", window.getNumbers(), {type});
  key += includePad ? " padded" : "";
  key += " " + std::to_string(sizes[0]);
  return KernelCalls{
      {makeKernelCall(kernels, key, "average_pool", {input, result},
                      loops.getIterations(), loops.getGrain(), print)},
      {}};
}

/// The sums of one plane of the input, while a gradient is added up.
struct PlaneSums {
  Value pointer, plane;
  Type type;

  void add(Emitter &scalar, Value at, Value value) const {
    Value address = scalar.addi(plane, at);
    Value old = scalar.loadScalar(pointer, address, type);
    scalar.store(scalar.addf(old, value), pointer, address, type);
  }
};

/// Adds the part of output plane `outPlane` to the sums, in row-major order.
using GradientBody =
    function_ref<void(ImplicitLocOpBuilder &b, ValueRange buffers,
                      Value outPlane, const PlaneSums &sums)>;

/// Plane by plane: sums to zero, every output element in order, then rounded
/// to the result. Buffers: `operands`, of which the last is the cotangent, then
/// the result and the sums.
KernelCalls emitPlaneGradient(Operation *op, KernelModule &kernels,
                              const Window &window, StringRef name,
                              ArrayRef<Value> operands, GradientBody body) {
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(result);
  int64_t planes = shape[0] * shape[1], count = window.getInputCount();
  Type type = getElement(result), sumType = getComputeType(type);
  bool isNarrow = sumType != type;
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    Emitter vector(b, count >= 4);
    Value into = buffers[operands.size()];
    emitLoop(b, lo, hi, 1, [&](Value number) {
      Value plane = vector.muli(number, vector.i64(count));
      PlaneSums sums{buffers.back(), plane, sumType};
      emitColumns(vector, count, [&](Value j) {
        vector.store(vector.number(sumType, 0), sums.pointer,
                     vector.addi(plane, j), sumType);
      });
      body(b, buffers, vector.muli(number, vector.i64(window.getOutputCount())),
           sums);
      if (isNarrow)
        emitColumns(vector, count, [&](Value j) {
          Value at = vector.addi(plane, j);
          Value sum = vector.load(sums.pointer, at, sumType);
          vector.store(vector.roundTo(type, sum), into, at, type);
        });
    });
  };
  Values buffers(operands);
  buffers.push_back(result);
  KernelCalls calls;
  KernelCall call;
  std::string key =
      makeKey(name, window.getNumbers(), {type, getElement(operands.back())});
  unsigned numBuffers = buffers.size() + (isNarrow ? 1 : 0);
  call.kernel = kernels.getOrCreate(key, name, numBuffers, print);
  for (Value buffer : buffers)
    call.operands.push_back(plan::stripViews(buffer));
  if (isNarrow) {
    calls.scratch.push_back(planes * count * getStorageBytes(sumType));
    call.operands.push_back(KernelOperand::scratch(0));
  }
  call.iterations = planes;
  call.grain = std::max<int64_t>(1, 1024 / std::max<int64_t>(1, count));
  calls.calls.push_back(std::move(call));
  return calls;
}

/// Winners of a row of windows are found in lanes, and kept until their
/// cotangents are added one by one.
void addWinners(ImplicitLocOpBuilder &b, const Window &window,
                ValueRange buffers, Value outPlane, const PlaneSums &sums,
                Type type, Type gradientType) {
  int64_t columns = window.output.back();
  Emitter e(b, /*isVector=*/columns >= 4), scalar(b, /*isVector=*/false);
  Type i64 = b.getI64Type();
  Value winners;
  {
    OpBuilder::InsertionGuard guard(b);
    auto kernel =
        b.getInsertionBlock()->getParentOp()->getParentOfType<func::FuncOp>();
    b.setInsertionPointToStart(&kernel.front());
    Value size = LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(lanes));
    winners = LLVM::AllocaOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext()), i64, size, 64);
  }
  ArrayRef<int64_t> rowSizes = ArrayRef(window.output).drop_back();
  Value rows = e.i64(plan::getNumElements(rowSizes));
  emitLoop(b, e.i64(0), rows, 1, [&](Value row) {
    Values out = delinearize(scalar, row, rowSizes);
    out.push_back(Value());
    Value rowStart = e.addi(outPlane, e.muli(row, e.i64(columns)));
    emitColumns(e, columns, [&](Value j) {
      out.back() = e.countUp(j);
      Values best = emitWinner(e, window, out, sums.plane, buffers[0], type);
      e.store(best[1], winners, e.i64(0), i64);
      int64_t step = e.vector() ? lanes : 1;
      Value left = e.subi(e.i64(columns), j);
      Value count = e.binary<arith::MinSIOp>(left, e.i64(step));
      emitLoop(b, e.i64(0), count, 1, [&](Value lane) {
        Value at = scalar.loadScalar(winners, lane, i64);
        // A window of padding alone has no winner.
        Value has = scalar.cmpi(IPred::sge, at, scalar.i64(0));
        auto branch = scf::IfOp::create(b, has);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(branch.thenBlock());
        Value from = scalar.addi(scalar.addi(rowStart, j), lane);
        sums.add(scalar, at, scalar.loadScalar(buffers[1], from, gradientType));
      });
    });
  });
}

FailureOr<KernelCalls> emitMaxPoolGradient(Operation *op,
                                           KernelModule &kernels) {
  auto gradient = cast<train::MaxPoolGradientOp>(op);
  Value x = gradient.getX();
  Window window =
      getWindow(op, plan::getShape(x), plan::getShape(gradient.getGradient()));
  Type type = getElement(x), gradientType = getElement(gradient.getGradient());
  return emitPlaneGradient(
      op, kernels, window, "max_pool_gradient", {x, gradient.getGradient()},
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value outPlane,
          const PlaneSums &sums) {
        addWinners(b, window, buffers, outPlane, sums, type, gradientType);
      });
}

FailureOr<KernelCalls> emitAveragePoolGradient(Operation *op,
                                               KernelModule &kernels) {
  auto gradient = cast<train::AveragePoolGradientOp>(op);
  Value g = gradient.getGradient();
  Window window =
      getWindow(op, plan::getShape(op->getResult(0)), plan::getShape(g));
  bool includePad = gradient.getCountIncludePad();
  Type type = getElement(g), compute = getComputeType(type);
  return emitPlaneGradient(
      op, kernels, window,
      includePad ? "average_pool_gradient_padded" : "average_pool_gradient",
      {g},
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value outPlane,
          const PlaneSums &sums) {
        Emitter e(b, /*isVector=*/false);
        emitLoop(b, e.i64(0), e.i64(window.getOutputCount()), 1, [&](Value o) {
          Values out = delinearize(e, o, window.output);
          Value value = e.loadScalar(buffers[0], e.addi(outPlane, o), type);
          Value share =
              e.divf(value, emitCount(e, window, out, includePad, compute));
          WindowWalk(e, window, out).run({}, [&](const Tap &tap, Values) {
            Value part = e.select(tap.inside, share, e.number(compute, 0));
            sums.add(e, tap.address, part);
            return Values{};
          });
        });
      });
}

} // namespace

void amp::cpu::addPoolingKernels(KernelRegistry &registry) {
  registry.add("onnx.AveragePool", emitAveragePool);
  registry.add("onnx.MaxPool", emitMaxPool);
  registry.add("train.average_pool_gradient", emitAveragePoolGradient);
  registry.add("train.max_pool_gradient", emitMaxPoolGradient);
}
