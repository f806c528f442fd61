//===- ScatterKernels.cpp - Updates at indices ----------------------------===//
//
// ScatterElements and ScatterND: a copy of the data, then the updates, in
// their order wherever two meet. Threads share out what never meets.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "MovementKernels.h"
#include "PointLoops.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

enum class Update { Replace, Add, Mul, Max, Min };

FailureOr<Update> getUpdate(Operation *op) {
  auto attr = op->getAttrOfType<StringAttr>("reduction");
  StringRef name = attr ? attr.getValue() : "none";
  for (auto [spelling, update] :
       {std::pair<StringRef, Update>{"none", Update::Replace},
        {"add", Update::Add},
        {"mul", Update::Mul},
        {"max", Update::Max},
        {"min", Update::Min}})
    if (name == spelling)
      return update;
  return op->emitError() << "cannot compile " << op->getName()
                         << ": reduction '" << name << "' has no kernel";
}

/// The element at `address` combined with `value`, in the tensor's type.
void emitUpdate(Emitter &e, Update update, Value value, Value pointer,
                Value address, Type type) {
  if (update != Update::Replace) {
    Value old = e.load(pointer, address, type);
    bool isFloat = isa<FloatType>(type);
    bool isUnsigned = type.isUnsignedInteger() || type.isInteger(1);
    switch (update) {
    case Update::Add:
      value = isFloat ? e.addf(old, value) : e.addi(old, value);
      break;
    case Update::Mul:
      value = isFloat ? e.mulf(old, value) : e.muli(old, value);
      break;
    case Update::Max:
      value = emitMax(e, old, value, isUnsigned);
      break;
    case Update::Min:
      value = emitMin(e, old, value, isUnsigned);
      break;
    case Update::Replace:
      break;
    }
    value = e.roundTo(type, value);
  }
  e.store(value, pointer, address, type);
}

int64_t getBytes(Value value) {
  return plan::getNumElements(plan::getShape(value)) *
         getStorageBytes(getElement(value));
}

/// The result begins as a copy of the data.
KernelCalls beginWithCopy(Operation *op, KernelModule &kernels) {
  KernelCall copy = makeByteCopy(kernels, getBytes(op->getResult(0)));
  copy.operands = {plan::stripViews(op->getOperand(0)), op->getResult(0)};
  return {{copy}, {}};
}

/// result[p with indices[p] along the axis] = updates[p]
FailureOr<KernelCalls> emitScatterElements(Operation *op,
                                           KernelModule &kernels) {
  Value indices = op->getOperand(1), updates = op->getOperand(2),
        result = op->getResult(0);
  FailureOr<Update> update = getUpdate(op);
  if (failed(update))
    return failure();
  ArrayRef<int64_t> shape = plan::getShape(result),
                    sizes = plan::getShape(indices);
  KernelCalls calls = beginWithCopy(op, kernels);
  if (plan::getNumElements(sizes) == 0)
    return calls;
  int64_t axis = normalizeAxis(getIntAttr(op, "axis", 0), shape.size());
  SmallVector<int64_t> strides = plan::getDenseStrides(shape),
                       indexStrides = plan::getDenseStrides(sizes);
  // Lines along the axis never meet; neighbouring ones are walked together.
  constexpr int64_t together = 64;
  SmallVector<int64_t> lineSizes(sizes);
  lineSizes[axis] = 1;
  int64_t numLines = plan::getNumElements(lineSizes);
  Type type = getElement(result), indexType = getElement(indices);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    Emitter e(b, /*isVector=*/false);
    Value begin = e.muli(lo, e.i64(together));
    Value end =
        e.binary<arith::MinSIOp>(e.muli(hi, e.i64(together)), e.i64(numLines));
    emitLoop(b, e.i64(0), e.i64(sizes[axis]), 1, [&](Value t) {
      emitLoop(b, begin, end, 1, [&](Value line) {
        SmallVector<Value> point = delinearize(e, line, lineSizes);
        point[axis] = t;
        Value from = emitAddress(e, point, indexStrides);
        point[axis] = emitIndex(e, buffers[0], from, indexType, shape[axis]);
        emitUpdate(e, *update, e.loadScalar(buffers[1], from, type), buffers[2],
                   emitAddress(e, point, strides), type);
      });
    });
  };
  SmallVector<int64_t> numbers(shape);
  numbers.append(sizes.begin(), sizes.end());
  numbers.append({axis, static_cast<int64_t>(*update)});
  calls.calls.push_back(makeKernelCall(
      kernels, makeKey("scatter_elements", numbers, {type, indexType}),
      "scatter_elements", {indices, updates, result},
      llvm::divideCeil(numLines, together),
      std::max<int64_t>(1, 4096 / (together * sizes[axis])), print));
  return calls;
}

/// result[indices[i, 0], indices[i, 1], ..., s] = updates[i, s]
FailureOr<KernelCalls> emitScatterND(Operation *op, KernelModule &kernels) {
  Value indices = op->getOperand(1), updates = op->getOperand(2),
        result = op->getResult(0);
  FailureOr<Update> update = getUpdate(op);
  if (failed(update))
    return failure();
  ArrayRef<int64_t> shape = plan::getShape(result),
                    indexShape = plan::getShape(indices);
  KernelCalls calls = beginWithCopy(op, kernels);
  int64_t depth = indexShape.back();
  int64_t count = plan::getNumElements(indexShape.drop_back());
  int64_t slice = plan::getNumElements(shape.drop_front(depth));
  if (count == 0 || slice == 0)
    return calls;
  constexpr int64_t piece = 16 * lanes;
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  Type type = getElement(result), indexType = getElement(indices);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    Emitter e(b, /*isVector=*/slice >= 4);
    emitLoop(b, lo, hi, 1, [&](Value number) {
      emitLoop(b, e.i64(0), e.i64(count), 1, [&](Value row) {
        Value to = e.i64(0);
        for (int64_t d = 0; d < depth; ++d) {
          Value at = e.addi(e.muli(row, e.i64(depth)), e.i64(d));
          Value index = emitIndex(e, buffers[0], at, indexType, shape[d]);
          to = e.addi(to, e.muli(index, e.i64(strides[d])));
        }
        Value from = e.muli(row, e.i64(slice));
        emitColumnPiece(e, slice, piece, number, [&](Value j) {
          Value value = e.load(buffers[1], e.addi(from, j), type);
          emitUpdate(e, *update, value, buffers[2], e.addi(to, j), type);
        });
      });
    });
  };
  SmallVector<int64_t> numbers(shape);
  numbers.append({depth, count, static_cast<int64_t>(*update)});
  calls.calls.push_back(makeKernelCall(
      kernels, makeKey("scatter_nd", numbers, {type, indexType}), "scatter_nd",
      {indices, updates, result}, llvm::divideCeil(slice, piece), 1, print));
  return calls;
}

} // namespace

void amp::cpu::addScatterKernels(KernelRegistry &registry) {
  registry.add("onnx.ScatterElements", emitScatterElements);
  registry.add("onnx.ScatterND", emitScatterND);
}
