//===- Planes.cpp - Convolution operands rearranged, results put back -----===//
//
// Row by row: the innermost dimension by vectors, the others by division.
//
//===----------------------------------------------------------------------===//

#include "Planes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

/// Elements that are worth a task of their own.
static constexpr int64_t taskElements = 8192;
/// Larger strides are rare; they are read one element at a time.
static constexpr int64_t largestVectorStride = 4;

static int64_t getCopyGrain(int64_t elementsPerIteration) {
  return std::max<int64_t>(1, taskElements /
                                  std::max<int64_t>(1, elementsPerIteration));
}

/// Calls `body` for `count` elements, 16 at a time; the last call gets the
/// rest.
static void forVectors(Code &code, int64_t count,
                       llvm::function_ref<void(Value, int64_t)> body) {
  int64_t whole = count / lanes * lanes;
  code.loop(code.number(0), code.number(whole), lanes,
            [&](Value i) { body(i, lanes); });
  if (whole != count)
    body(code.number(whole), count - whole);
}

/// `count` elements `stride` apart, as a vector.
static Value loadStrided(Code &code, Value pointer, Type element, int64_t count,
                         int64_t stride) {
  if (stride == 1)
    return code.loadVector(pointer, element, count);
  Value wide = code.loadVector(pointer, element, (count - 1) * stride + 1,
                               lanes * stride);
  SmallVector<int64_t> from;
  for (int64_t lane = 0; lane < lanes; ++lane)
    from.push_back(lane * stride);
  return code.shuffle(wide, wide, from);
}

namespace {

/// Prints the copy of one row of all phases of the innermost dimension.
class RowPadder {
public:
  RowPadder(Code &code, Type element, const PhasedPlanes &planes)
      : code(code), element(element), planes(planes) {}
  void emit(Value index, Value from, Value to);

private:
  Value isInside(Value coordinate, int dimension) {
    return arith::CmpIOp::create(code.builder, arith::CmpIPredicate::ult,
                                 coordinate,
                                 code.number(planes.source[dimension]));
  }
  void emitPhase(int64_t phase, Value valid, Value source, Value to);
  void copy(Value from, Value to, int64_t count);

  Code &code;
  Type element;
  const PhasedPlanes &planes;
};

} // namespace

void RowPadder::copy(Value from, Value to, int64_t count) {
  int64_t stride = planes.phases[2];
  if (stride <= largestVectorStride) {
    forVectors(code, count, [&](Value i, int64_t size) {
      Value value =
          loadStrided(code, code.at(from, code.mul(i, stride), element),
                      element, size, stride);
      code.storeVector(value, code.at(to, i, element), size);
    });
    return;
  }
  code.loop(code.number(0), code.number(count), 1, [&](Value i) {
    Value value =
        code.load(code.at(from, code.mul(i, stride), element), element);
    code.store(value, code.at(to, i, element));
  });
}

void RowPadder::emitPhase(int64_t phase, Value valid, Value source, Value to) {
  // Element q of this phase is source element q * stride + phase - shift.
  int64_t stride = planes.phases[2], width = planes.extents[2];
  int64_t start = phase - planes.shift[2];
  int64_t first = start >= 0 ? 0 : llvm::divideCeil(-start, stride);
  int64_t end = start >= planes.source[2]
                    ? 0
                    : (planes.source[2] - 1 - start) / stride + 1;
  end = std::min(end, width);
  if (first > 0 || end < width)
    forVectors(code, width, [&](Value i, int64_t size) {
      code.storeVector(code.zeros(element), code.at(to, i, element), size);
    });
  if (first >= end)
    return;
  code.branch(
      valid,
      [&] {
        copy(code.at(source, start + first * stride, element),
             code.at(to, first, element), end - first);
      },
      [&] {
        forVectors(code, end - first, [&](Value i, int64_t size) {
          code.storeVector(code.zeros(element),
                           code.at(to, code.add(i, first), element), size);
        });
      });
}

void RowPadder::emit(Value index, Value from, Value to) {
  // index = ((plane, phase of depth, phase of height), depth, height)
  const Spatial &phases = planes.phases, &extents = planes.extents;
  Value h = code.rem(index, extents[1]);
  index = code.div(index, extents[1]);
  Value d = code.rem(index, extents[0]);
  Value plane = code.div(index, extents[0]);
  Value hPhase = code.rem(plane, phases[1]);
  Value rest = code.div(plane, phases[1]);
  Value dPhase = code.rem(rest, phases[0]);
  Value channel = code.div(rest, phases[0]);

  Value sourceD =
      code.add(code.add(code.mul(d, phases[0]), dPhase), -planes.shift[0]);
  Value sourceH =
      code.add(code.add(code.mul(h, phases[1]), hPhase), -planes.shift[1]);
  Value valid = arith::AndIOp::create(code.builder, isInside(sourceD, 0),
                                      isInside(sourceH, 1));
  Value row =
      code.add(code.mul(code.add(code.mul(channel, planes.source[0]), sourceD),
                        planes.source[1]),
               sourceH);
  Value source = code.at(from, code.mul(row, planes.source[2]), element);
  Value inside = code.add(code.mul(d, extents[1]), h);
  for (int64_t phase : llvm::seq<int64_t>(0, phases[2])) {
    Value number = code.add(code.mul(plane, phases[2]), phase);
    Value offset = code.add(code.mul(number, volume(extents)),
                            code.mul(inside, extents[2]));
    emitPhase(phase, valid, source, code.at(to, offset, element));
  }
}

KernelOperand amp::cpu::addPlanes(KernelCalls &calls, KernelModule &kernels,
                                  Type element, const PhasedPlanes &planes,
                                  int64_t channels, KernelOperand from) {
  if (planes.isSource())
    return from;
  KernelOperand to = KernelOperand::scratch(calls.scratch.size());
  calls.scratch.push_back(channels * planes.planeSize() *
                          element.getIntOrFloatBitWidth() / 8);
  std::string key =
      llvm::formatv("planes {0} {1}", spell(element), planes.getKey());
  auto kernel =
      kernels.getOrCreate(key, "planes", 2,
                          [&](ImplicitLocOpBuilder &builder, ValueRange buffers,
                              Value lo, Value hi) {
                            Code code(builder);
                            // Bits are moved, not numbers; see emitGather.
                            Type moved = element;
                            if (element.getIntOrFloatBitWidth() == 16)
                              moved = builder.getI16Type();
                            RowPadder padder(code, moved, planes);
                            code.loop(lo, hi, 1, [&](Value index) {
                              padder.emit(index, buffers[0], buffers[1]);
                            });
                          });
  int64_t rowElements = planes.phases[2] * planes.extents[2];
  int64_t rows = channels * planes.planeSize() / rowElements;
  if (rows != 0)
    calls.calls.push_back(
        {kernel, {from, to}, rows, getCopyGrain(rowElements)});
  return to;
}

static void emitSwappedRow(Code &code, const SwappedWeights &swapped,
                           Value table, Value row, Value from, Value to) {
  const ConvShape &shape = swapped.shape;
  int64_t count = swapped.taps.size();
  Type source = swapped.source, element = swapped.layout.element;
  Value zero = code.number(0);
  Value x = code.rem(row, shape.xChannels);
  Value group = code.div(row, shape.xChannels);
  Value start = code.mul(row, swapped.layout.rowStride);
  code.loop(zero, code.number(shape.yChannels), 1, [&](Value y) {
    Value channel = code.add(code.mul(group, shape.yChannels), y);
    Value number = code.add(code.mul(channel, shape.xChannels), x);
    Value taps = code.at(from, code.mul(number, shape.taps()), source);
    Value destination =
        code.at(to, code.add(start, code.mul(y, count)), element);
    code.loop(zero, code.number(count), 1, [&](Value tap) {
      Value value =
          code.load(code.at(taps, code.lookUp(table, tap), source), source);
      code.store(code.convert(value, element),
                 code.at(destination, tap, element));
    });
  });
  // The second half of a last pair.
  Value padding = arith::ConstantOp::create(code.builder,
                                            code.builder.getZeroAttr(element));
  for (int64_t k = shape.yChannels * count; k < swapped.layout.rowStride; ++k)
    code.store(padding, code.at(to, code.add(start, k), element));
}

KernelOperand amp::cpu::addSwappedWeights(KernelCalls &calls,
                                          KernelModule &kernels,
                                          const SwappedWeights &swapped,
                                          KernelOperand weights) {
  const ConvShape &shape = swapped.shape;
  const UnitMatrix &layout = swapped.layout;
  int64_t rows = shape.groups * shape.xChannels;
  KernelOperand to = KernelOperand::scratch(calls.scratch.size());
  calls.scratch.push_back(rows * layout.rowStride *
                          layout.element.getIntOrFloatBitWidth() / 8);
  std::string key =
      llvm::formatv("weights {0} {1} {2}x{3}/{4}+{5} ", spell(swapped.source),
                    spell(layout.element), shape.xChannels, shape.yChannels,
                    shape.taps(), layout.rowStride);
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(swapped.taps, stream);
  auto kernel = kernels.getOrCreate(
      key, "weights", 2,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        Value table = code.table(swapped.taps);
        code.loop(lo, hi, 1, [&](Value row) {
          emitSwappedRow(code, swapped, table, row, buffers[0], buffers[1]);
        });
      });
  calls.calls.push_back(
      {kernel, {weights, to}, rows, getCopyGrain(layout.rowStride)});
  return to;
}
