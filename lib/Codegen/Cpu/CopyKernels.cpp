//===- CopyKernels.cpp - Operators that copy regions ----------------------===//
//
// Transpose, Expand, Tile, Slice, Split, Concat, Pad: elements at strides to
// elements at strides.
//
//===----------------------------------------------------------------------===//

#include "MovementKernels.h"
#include "PointLoops.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

//===----------------------------------------------------------------------===//
// Shared with the other kernels of single operations
//===----------------------------------------------------------------------===//

Type amp::cpu::getBitsType(Type elementType) {
  return IntegerType::get(elementType.getContext(),
                          8 * getStorageBytes(elementType));
}

Type amp::cpu::getElement(Value value) {
  return getElementTypeOrSelf(value.getType());
}

Value amp::cpu::getInput(Operation *op, unsigned index) {
  SmallVector<Value> inputs = onnx::getPositionalInputs(op);
  return index < inputs.size() ? inputs[index] : Value();
}

int64_t amp::cpu::getIntAttr(Operation *op, StringRef name, int64_t otherwise) {
  auto attr = op->getAttrOfType<IntegerAttr>(name);
  return attr ? attr.getInt() : otherwise;
}

FailureOr<SmallVector<int64_t>>
amp::cpu::getConstantOperand(Operation *op, unsigned index, StringRef what) {
  Value operand = getInput(op, index);
  std::optional<SmallVector<int64_t>> values =
      operand ? onnx::getConstantInts(operand) : std::nullopt;
  if (values)
    return *values;
  StringRef name = onnx::getNodeName(op);
  return op->emitError() << "cannot compile " << op->getName()
                         << (name.empty() ? "" : " '") << name
                         << (name.empty() ? "" : "'") << ": its " << what
                         << " must be constant";
}

AxisSplit amp::cpu::splitAtAxis(ArrayRef<int64_t> shape, int64_t axis) {
  return {plan::getNumElements(shape.take_front(axis)), shape[axis],
          plan::getNumElements(shape.drop_front(axis + 1))};
}

std::string amp::cpu::makeKey(StringRef name, ArrayRef<int64_t> numbers,
                              ArrayRef<Type> types) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << name << ' ';
  llvm::interleave(numbers, os, ",");
  os << ' ';
  llvm::interleave(types, os, ",");
  return key;
}

KernelCall amp::cpu::makeKernelCall(KernelModule &kernels, StringRef key,
                                    StringRef name, ArrayRef<Value> operands,
                                    int64_t iterations, int64_t grain,
                                    KernelModule::Body body) {
  KernelCall call{kernels.getOrCreate(key, name, operands.size(), body),
                  {},
                  iterations,
                  grain};
  for (Value operand : operands)
    call.operands.push_back(plan::stripViews(operand));
  return call;
}

KernelCall amp::cpu::makeByteCopy(KernelModule &kernels, int64_t bytes) {
  constexpr int64_t piece = 64 * 1024;
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    Emitter e(b, /*isVector=*/false);
    Value begin = e.muli(lo, e.i64(piece));
    Value end =
        e.binary<arith::MinSIOp>(e.muli(hi, e.i64(piece)), e.i64(bytes));
    auto at = [&](Value buffer) -> Value {
      return LLVM::GEPOp::create(b, buffer.getType(), b.getI8Type(), buffer,
                                 ArrayRef<LLVM::GEPArg>{begin});
    };
    LLVM::MemcpyOp::create(b, at(buffers[1]), at(buffers[0]),
                           e.subi(end, begin), /*isVolatile=*/false);
  };
  func::FuncOp kernel =
      kernels.getOrCreate(makeKey("copy", {bytes}, {}), "copy", 2, print);
  return {kernel, {}, static_cast<int64_t>(llvm::divideCeil(bytes, piece)), 1};
}

KernelCall amp::cpu::makeMovement(KernelModule &kernels, Movement movement) {
  SmallVector<int64_t> kinds(movement.sizes.size(), 0);
  plan::CollapsedSpace space =
      plan::collapse(movement.sizes, kinds, {&movement.from, &movement.to});
  if (space.sizes.empty()) {
    space.sizes.push_back(1);
    movement.from.strides.push_back(0);
    movement.to.strides.push_back(0);
  }
  Type bits = getBitsType(movement.elementType);
  int64_t fromStride = movement.from.strides.back();
  // There is no store with a stride.
  PointLoops loops(space.sizes, movement.to.strides.back() == 1);
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value from =
          emitAddress(e, point, movement.from.strides, movement.from.offset);
      Value to = emitAddress(e, point, movement.to.strides, movement.to.offset);
      Value value;
      if (!e.vector() || fromStride == 0)
        value = e.loadScalar(buffers[0], from, bits);
      else
        value = fromStride == 1 ? e.load(buffers[0], from, bits)
                                : e.gather(buffers[0], from, fromStride, bits);
      e.store(value, buffers[1], to, bits);
    });
  };
  SmallVector<int64_t> numbers(space.sizes);
  numbers.append(movement.from.strides);
  numbers.append(movement.to.strides);
  numbers.append({movement.from.offset, movement.to.offset});
  func::FuncOp kernel =
      kernels.getOrCreate(makeKey("move", numbers, {bits}), "move", 2, print);
  return {kernel, {}, loops.getIterations(), loops.getGrain()};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {

using Moves = SmallVector<Move>;

KernelCall makeCall(KernelModule &kernels, const Move &move) {
  KernelCall call = makeMovement(kernels, move.movement);
  call.operands = {plan::stripViews(move.from), move.to};
  return call;
}

/// A movement to all of `result`, dense; from: to be filled in.
Movement toAllOf(Value result) {
  ArrayRef<int64_t> shape = plan::getShape(result);
  Movement movement{getElement(result), llvm::to_vector(shape), {}, {}};
  movement.to.strides = plan::getDenseStrides(shape);
  movement.from.strides.assign(shape.size(), 0);
  return movement;
}

Moves findTranspose(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  Movement movement = toAllOf(result);
  SmallVector<int64_t> strides = plan::getDenseStrides(plan::getShape(input));
  auto permutation = op->getAttrOfType<DenseI64ArrayAttr>("perm");
  for (size_t d = 0, rank = strides.size(); d < rank; ++d)
    movement.from.strides[d] =
        strides[permutation ? permutation[d] : rank - 1 - d];
  return {{input, result, movement}};
}

Moves findExpand(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  Movement movement = toAllOf(result);
  ArrayRef<int64_t> shape = plan::getShape(input);
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  size_t lead = movement.sizes.size() - shape.size();
  for (auto [d, size] : llvm::enumerate(shape))
    movement.from.strides[d + lead] = size == 1 ? 0 : strides[d];
  return {{input, result, movement}};
}

/// Each dimension becomes two: which copy, and where in it.
Moves findTile(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  Movement movement{getElement(result), {}, {}, {}};
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  SmallVector<int64_t> resultStrides =
      plan::getDenseStrides(plan::getShape(result));
  for (auto [d, size] : llvm::enumerate(shape)) {
    int64_t copies = size ? plan::getShape(result)[d] / size : 0;
    movement.sizes.append({copies, size});
    movement.from.strides.append({0, strides[d]});
    movement.to.strides.append({resultStrides[d] * size, resultStrides[d]});
  }
  return {{input, result, movement}};
}

FailureOr<Moves> findSlice(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  int64_t rank = shape.size();
  auto starts = getConstantOperand(op, 1, "starts");
  if (failed(starts))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<int64_t> steps(starts->size(), 1);
  if (getInput(op, 3)) {
    auto given = getConstantOperand(op, 3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (getInput(op, 4)) {
    auto given = getConstantOperand(op, 4, "steps");
    if (failed(given))
      return failure();
    steps = *given;
  }
  Movement movement = toAllOf(result);
  movement.from.strides = plan::getDenseStrides(shape);
  // How many elements there are, the result's shape says.
  for (auto [i, start] : llvm::enumerate(*starts)) {
    int64_t axis = normalizeAxis(axes[i], rank), size = shape[axis];
    int64_t first = start < 0 ? start + size : start;
    first = std::clamp<int64_t>(first, 0, steps[i] < 0 ? size - 1 : size);
    movement.from.offset += first * movement.from.strides[axis];
    movement.from.strides[axis] *= steps[i];
  }
  return Moves{{input, result, movement}};
}

Moves findSplit(Operation *op) {
  Value input = op->getOperand(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  int64_t axis = normalizeAxis(getIntAttr(op, "axis", 0), shape.size());
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  Moves moves;
  int64_t start = 0;
  for (Value result : op->getResults()) {
    Movement movement = toAllOf(result);
    movement.from.strides = strides;
    movement.from.offset = start * strides[axis];
    start += plan::getShape(result)[axis];
    if (plan::getNumElements(plan::getShape(result)) != 0)
      moves.push_back({input, result, movement});
  }
  return moves;
}

Moves findConcat(Operation *op) {
  Value result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(result);
  int64_t axis = normalizeAxis(getIntAttr(op, "axis", 0), shape.size());
  SmallVector<int64_t> strides = plan::getDenseStrides(shape);
  Moves moves;
  int64_t start = 0;
  for (Value input : op->getOperands()) {
    ArrayRef<int64_t> part = plan::getShape(input);
    Movement movement{getElement(result),
                      llvm::to_vector(part),
                      {0, plan::getDenseStrides(part)},
                      {start * strides[axis], strides}};
    start += part[axis];
    if (plan::getNumElements(part) != 0)
      moves.push_back({input, result, movement});
  }
  return moves;
}

/// Sets all of the result to the pad value, a single element or absent.
KernelCall fillPad(Operation *op, KernelModule &kernels) {
  Value result = op->getResult(0), value = getInput(op, 2);
  Type bits = getBitsType(getElement(result));
  int64_t count = plan::getNumElements(plan::getShape(result));
  PointLoops loops(ArrayRef<int64_t>{count});
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                   Value hi) {
    loops.print(b, lo, hi, [&](Emitter &e, ArrayRef<Value> point) {
      Value element =
          value ? e.loadScalar(buffers[1], e.i64(0), bits) : e.integer(bits, 0);
      e.store(element, buffers[0], point[0], bits);
    });
  };
  std::string key = makeKey(value ? "fill" : "zero", {count}, {bits});
  func::FuncOp kernel = kernels.getOrCreate(key, "fill", value ? 2 : 1, print);
  KernelCall call{kernel, {result}, loops.getIterations(), loops.getGrain()};
  if (value)
    call.operands.push_back(plan::stripViews(value));
  return call;
}

FailureOr<KernelCalls> emitPad(Operation *op, KernelModule &kernels) {
  auto mode = op->getAttrOfType<StringAttr>("mode");
  if (mode && mode.getValue() != "constant")
    return op->emitError() << "cannot compile " << op->getName() << ": mode '"
                           << mode.getValue()
                           << "' has no kernel, only 'constant' does";
  Value input = op->getOperand(0), result = op->getResult(0);
  ArrayRef<int64_t> shape = plan::getShape(input);
  auto pads = getConstantOperand(op, 1, "pads");
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  if (getInput(op, 3)) {
    auto given = getConstantOperand(op, 3, "axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  Movement movement{getElement(result),
                    llvm::to_vector(shape),
                    {0, plan::getDenseStrides(shape)},
                    {0, plan::getDenseStrides(plan::getShape(result))}};
  // A negative pad cuts off.
  for (auto [i, given] : llvm::enumerate(axes)) {
    int64_t axis = normalizeAxis(given, shape.size());
    int64_t before = (*pads)[i], after = (*pads)[i + axes.size()];
    movement.sizes[axis] +=
        std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    movement.to.offset +=
        std::max<int64_t>(before, 0) * movement.to.strides[axis];
    movement.from.offset +=
        std::max<int64_t>(-before, 0) * movement.from.strides[axis];
  }
  KernelCalls calls;
  calls.calls.push_back(fillPad(op, kernels));
  if (llvm::all_of(movement.sizes, [](int64_t size) { return size > 0; }))
    calls.calls.push_back(makeCall(kernels, {input, result, movement}));
  return calls;
}

FailureOr<KernelCalls> emitMoves(Operation *op, KernelModule &kernels) {
  FailureOr<Moves> moves = findMoves(op);
  if (failed(moves))
    return failure();
  KernelCalls calls;
  for (const Move &move : *moves)
    calls.calls.push_back(makeCall(kernels, move));
  return calls;
}

} // namespace

FailureOr<SmallVector<Move>> amp::cpu::findMoves(Operation *op) {
  StringRef name = onnx::getOpType(op);
  if (name == "Slice")
    return findSlice(op);
  return name == "Concat"   ? findConcat(op)
         : name == "Expand" ? findExpand(op)
         : name == "Split"  ? findSplit(op)
         : name == "Tile"   ? findTile(op)
                            : findTranspose(op);
}

void amp::cpu::addCopyKernels(KernelRegistry &registry) {
  registry.add("onnx.Concat", emitMoves);
  registry.add("onnx.Expand", emitMoves);
  registry.add("onnx.Pad", emitPad);
  registry.add("onnx.Slice", emitMoves);
  registry.add("onnx.Split", emitMoves);
  registry.add("onnx.Tile", emitMoves);
  registry.add("onnx.Transpose", emitMoves);
}

void amp::cpu::addMovementKernels(KernelRegistry &registry) {
  addCopyKernels(registry);
  addGatherKernels(registry);
  addGeneratorKernels(registry);
  addLineKernels(registry);
  addPoolingKernels(registry);
  addScatterKernels(registry);
}
