//===- GatherKernels.cpp - Elements picked by indices ---------------------===//
//
// Gather, GatherElements, GatherND.
//
//===----------------------------------------------------------------------===//

#include "MovementKernels.h"
#include "PointLoops.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

Value amp::cpu::emitIndex(Emitter &e, Value pointer, Value address,
                          Type indexType, int64_t size) {
  Value index = isa<VectorType>(address.getType())
                    ? e.gatherAt(pointer, address, indexType)
                    : e.loadScalar(pointer, address, indexType);
  if (!indexType.isInteger(64))
    index = e.convert<arith::ExtSIOp>(e.b().getI64Type(), index);
  Value isNegative = e.cmpi(arith::CmpIPredicate::slt, index, e.i64(0));
  index = e.select(isNegative, e.addi(index, e.i64(size)), index);
  // Memory outside of the tensor is never touched.
  index = e.binary<arith::MaxSIOp>(index, e.i64(0));
  return e.binary<arith::MinSIOp>(index, e.i64(size - 1));
}

namespace {

/// result[b, i, a] = data[b, indices[i], a]
FailureOr<KernelCalls> emitGather(Operation *op, KernelModule &kernels) {
  Value data = op->getOperand(0), indices = op->getOperand(1),
        result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(data);
  AxisSplit split = splitAtAxis(
      shape, normalizeAxis(getIntAttr(op, "axis", 0), shape.size()));
  int64_t count = plan::getNumElements(plan::getShape(indices));
  Type bits = getBitsType(getElement(data)), indexType = getElement(indices);
  // Lanes run along the indices when nothing lies behind the axis.
  bool single = split.after == 1;
  SmallVector<int64_t> sizes{split.before, count};
  if (!single)
    sizes.push_back(split.after);
  PointLoops loops(sizes);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value position = single ? e.countUp(point[1]) : point[1];
      Value index = emitIndex(e, buffers[1], position, indexType, split.size);
      Value from = e.addi(e.muli(point[0], e.i64(split.size)), index);
      Value to = e.addi(e.muli(point[0], e.i64(count)), point[1]);
      Value element;
      if (single) {
        element = e.gatherAt(buffers[0], from, bits);
      } else {
        from = e.addi(e.muli(from, e.i64(split.after)), point[2]);
        to = e.addi(e.muli(to, e.i64(split.after)), point[2]);
        element = e.load(buffers[0], from, bits);
      }
      e.store(element, buffers[2], to, bits);
    });
  };
  std::string key =
      makeKey("gather", {split.before, split.size, split.after, count},
              {bits, indexType});
  return KernelCalls{
      {makeKernelCall(kernels, key, "gather", {data, indices, result},
                      loops.getIterations(), loops.getGrain(), print)},
      {}};
}

/// result[p] = data[p with indices[p] along the axis]
FailureOr<KernelCalls> emitGatherElements(Operation *op,
                                          KernelModule &kernels) {
  Value data = op->getOperand(0), indices = op->getOperand(1),
        result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(data),
                    sizes = plan::getShape(result);
  int64_t axis = normalizeAxis(getIntAttr(op, "axis", 0), shape.size());
  SmallVector<int64_t> strides = plan::getDenseStrides(shape),
                       resultStrides = plan::getDenseStrides(sizes);
  Type bits = getBitsType(getElement(data)), indexType = getElement(indices);
  PointLoops loops(sizes);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      SmallVector<Value> at(point);
      at.back() = e.countUp(point.back());
      Value position = emitAddress(e, at, resultStrides);
      Value to = emitAddress(e, point, resultStrides);
      at[axis] = emitIndex(e, buffers[1], position, indexType, shape[axis]);
      Value element = e.gatherAt(buffers[0], emitAddress(e, at, strides), bits);
      e.store(element, buffers[2], to, bits);
    });
  };
  SmallVector<int64_t> numbers(shape);
  numbers.append(sizes.begin(), sizes.end());
  numbers.push_back(axis);
  return KernelCalls{
      {makeKernelCall(kernels,
                      makeKey("gather_elements", numbers, {bits, indexType}),
                      "gather_elements", {data, indices, result},
                      loops.getIterations(), loops.getGrain(), print)},
      {}};
}

/// result[b, i, s] = data[b, indices[b, i, 0], indices[b, i, 1], ..., s]
FailureOr<KernelCalls> emitGatherND(Operation *op, KernelModule &kernels) {
  Value data = op->getOperand(0), indices = op->getOperand(1),
        result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(data),
                    indexShape = plan::getShape(indices);
  int64_t batchDims = getIntAttr(op, "batch_dims", 0);
  int64_t depth = indexShape.back();
  int64_t batch = plan::getNumElements(shape.take_front(batchDims));
  int64_t perBatch =
      plan::getNumElements(indexShape.drop_front(batchDims).drop_back());
  int64_t slice = plan::getNumElements(shape.drop_front(batchDims + depth));
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  int64_t batchStride = plan::getNumElements(shape.drop_front(batchDims));
  Type bits = getBitsType(getElement(data)), indexType = getElement(indices);
  PointLoops loops({batch, perBatch, slice});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value row = e.addi(e.muli(point[0], e.i64(perBatch)), point[1]);
      Value from = e.muli(point[0], e.i64(batchStride));
      for (int64_t d = 0; d < depth; ++d) {
        Value at = e.addi(e.muli(row, e.i64(depth)), e.i64(d));
        Value index =
            emitIndex(e, buffers[1], at, indexType, shape[batchDims + d]);
        from = e.addi(from, e.muli(index, e.i64(strides[batchDims + d])));
      }
      Value to = e.addi(e.muli(row, e.i64(slice)), point[2]);
      Value element = e.load(buffers[0], e.addi(from, point[2]), bits);
      e.store(element, buffers[2], to, bits);
    });
  };
  SmallVector<int64_t> numbers(shape);
  numbers.append({batchDims, depth, batch, perBatch, slice});
  return KernelCalls{
      {makeKernelCall(kernels, makeKey("gather_nd", numbers, {bits, indexType}),
                      "gather_nd", {data, indices, result},
                      loops.getIterations(), loops.getGrain(), print)},
      {}};
}

} // namespace

void amp::cpu::addGatherKernels(KernelRegistry &registry) {
  registry.add("onnx.Gather", emitGather);
  registry.add("onnx.GatherElements", emitGatherElements);
  registry.add("onnx.GatherND", emitGatherND);
}
