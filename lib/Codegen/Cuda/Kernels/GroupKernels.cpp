//===- GroupKernels.cpp - Kernels of fused groups -------------------------===//
//
// What the printers share, and the elementwise kernel.
//
//===----------------------------------------------------------------------===//

#include "GroupKernels.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

int64_t amp::cuda::chooseWidth(const cpu::GroupCode &code, bool anyLength) {
  int64_t width = std::max<int64_t>(1, chunkBytes / code.getWidestBytes());
  return anyLength ? width : std::gcd(width, code.getInnerSize());
}

cpu::Emitter amp::cuda::makeEmitter(KernelBuilder &b, int64_t width) {
  cpu::EmitterStyle style;
  style.width = width;
  style.bufferAlignment = chunkBytes;
  style.convertsBF16 = true;
  return cpu::Emitter(b, width > 1, style);
}

Launch amp::cuda::makeGroupLaunch(const cpu::GroupCode &code, StringRef printer,
                                  ArrayRef<int64_t> detail, int64_t grid,
                                  int64_t threads, int64_t sharedBytes,
                                  ArrayRef<KernelOperand> operands,
                                  KernelModule &kernels, GroupBody body) {
  std::string key = code.getKey(printer);
  llvm::raw_string_ostream os(key);
  os << " cuda ";
  llvm::interleave(detail, os, ",");
  Launch launch;
  launch.grid = {grid, 1, 1};
  launch.block = {threads, 1, 1};
  launch.sharedBytes = sharedBytes;
  launch.operands.assign(operands.begin(), operands.end());
  launch.kernel = kernels.getOrCreate(
      key, code.getName(), operands.size(), launch.block,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers) {
        KernelBuilder b(builder, kernels);
        body(b, buffers);
      });
  return launch;
}

SmallVector<Value> amp::cuda::findPoint(KernelBuilder &b, Value linear,
                                        ArrayRef<int64_t> sizes,
                                        int64_t width) {
  SmallVector<Value> point = b.delinearize(linear, sizes);
  point.back() = b.mul(point.back(), width);
  for (Value &index : point)
    index = b.widen(index);
  return point;
}

//===----------------------------------------------------------------------===//
// Reductions of threads
//===----------------------------------------------------------------------===//

/// The most bytes of a partial result.
static constexpr int64_t cellBytes = 8;

int64_t amp::cuda::getCellBytes(int64_t threads) {
  return threads <= warpSize ? 0 : threads / warpSize * cellBytes;
}

Value amp::cuda::combineThreads(KernelBuilder &b, cpu::Emitter &e,
                                const cpu::Accumulation &reduction, Value value,
                                int64_t threads, Value cells) {
  value =
      b.combineLanes(value, std::min(threads, warpSize), [&](Value x, Value y) {
        return reduction.combine(e, x, y);
      });
  int64_t warps = threads / warpSize;
  if (warps <= 1)
    return value;
  Type type = value.getType();
  int64_t bytes = std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
  Value warp = b.div(b.thread(), warpSize);
  b.onlyIf(b.equals(b.lane(), 0),
           [&] { b.store(value, b.at(cells, b.mul(warp, bytes)), bytes); });
  b.barrier();
  value = b.load(cells, type, bytes);
  for (int64_t w = 1; w < warps; ++w)
    value = reduction.combine(e, value,
                              b.load(b.at(cells, w * bytes), type, bytes));
  return value;
}

//===----------------------------------------------------------------------===//
// Elementwise groups
//===----------------------------------------------------------------------===//

static constexpr int64_t flatThreads = 256;

static void printPoint(cpu::GroupCode &code, cpu::Emitter &e,
                       ArrayRef<Value> point) {
  cpu::PointValues values;
  for (Operation *op : code.getGroup().ops)
    code.emitOp(e, op, point, values);
  // All loads come before all stores: a result may lie in an operand's memory.
  for (Value output : code.getGroup().outputs)
    code.storeOutput(e, output, values.members.lookup(output), point);
}

KernelLaunches amp::cuda::emitFlatKernel(const plan::Group &group,
                                         KernelModule &kernels,
                                         StorageOf storageOf) {
  SmallVector<int64_t> kinds(group.space.size(), 0);
  cpu::GroupCode code(group, kinds, storageOf);
  bool isLine = code.getSizes().size() == 1;
  int64_t width = chooseWidth(code, /*anyLength=*/isLine);
  SmallVector<int64_t> sizes(code.getSizes());
  int64_t tail = sizes.back() % width;
  sizes.back() /= width;
  int64_t whole = plan::getNumElements(sizes), total = whole + tail;
  KernelLaunches result;
  result.launches.push_back(makeGroupLaunch(
      code, "flat", {width}, llvm::divideCeil(total, flatThreads), flatThreads,
      /*sharedBytes=*/0, code.getOperands(), kernels,
      [&](KernelBuilder &b, ValueRange buffers) {
        code.setBuffers(buffers);
        Value number = b.add(b.mul(b.block(), flatThreads), b.thread());
        cpu::Emitter vector = makeEmitter(b, width), single = makeEmitter(b, 1);
        bool isRagged = total % flatThreads != 0 || tail;
        b.onlyIf(isRagged ? b.less(number, whole) : Value(), [&] {
          printPoint(code, vector, findPoint(b, number, sizes, width));
        });
        if (!tail)
          return;
        // One thread for each element after the last vector.
        Value rest = b.sub(number, b.i32(whole));
        b.onlyIf(b.less(rest, tail), [&] {
          printPoint(code, single, {b.widen(b.add(rest, whole * width))});
        });
      }));
  return result;
}

//===----------------------------------------------------------------------===//
// Any group
//===----------------------------------------------------------------------===//

/// Whether the operation's formula calls a library of the CPU.
static bool needsLibrary(Operation *op) {
  if (op->getNumOperands() == 0)
    return false;
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  StringRef name = onnx::getOpType(op);
  if (name == "Mod")
    return isa<FloatType>(type);
  if (name == "Pow" && !isa<FloatType>(type))
    return true;
  bool isFunction =
      llvm::StringSwitch<bool>(name)
          .Cases({"Cos", "Erf", "Exp", "Log", "Pow", "Sigmoid", "Sin", "Tanh"},
                 true)
          .Default(false);
  return isFunction && type.isF64();
}

KernelLaunches amp::cuda::emitGroup(const plan::Group &group,
                                    KernelModule &kernels,
                                    StorageOf storageOf) {
  // Indices of elements have 32 bits.
  if (llvm::any_of(group.ops, needsLibrary) ||
      plan::getNumElements(group.space) >= int64_t(1) << 31)
    return {};
  switch (group.kind) {
  case plan::GroupKind::Map:
    return emitFlatKernel(group, kernels, storageOf);
  case plan::GroupKind::Rows:
    return emitRowsKernel(group, kernels, storageOf);
  case plan::GroupKind::Reduce:
    return emitReduceKernels(group, kernels, storageOf);
  case plan::GroupKind::Custom:
    break;
  }
  return {};
}
