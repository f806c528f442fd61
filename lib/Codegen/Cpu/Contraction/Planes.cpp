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

static int64_t getGrain(int64_t elementsPerIteration) {
  return std::max<int64_t>(1, taskElements /
                                  std::max<int64_t>(1, elementsPerIteration));
}

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
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
  RowPadder(Code &code, const Arithmetic &arithmetic,
            const PhasedPlanes &planes)
      : code(code), arithmetic(arithmetic), planes(planes) {}
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
  const Arithmetic &arithmetic;
  const PhasedPlanes &planes;
};

} // namespace

void RowPadder::copy(Value from, Value to, int64_t count) {
  int64_t stride = planes.phases[2];
  if (stride <= largestVectorStride) {
    forVectors(code, count, [&](Value i, int64_t size) {
      Value value = loadStrided(
          code, code.at(from, code.mul(i, stride), arithmetic.source),
          arithmetic.source, size, stride);
      code.storeVector(code.convert(value, arithmetic.unit),
                       code.at(to, i, arithmetic.unit), size);
    });
    return;
  }
  code.loop(code.number(0), code.number(count), 1, [&](Value i) {
    Value value =
        code.load(code.at(from, code.mul(i, stride), arithmetic.source),
                  arithmetic.source);
    code.store(code.convert(value, arithmetic.unit),
               code.at(to, i, arithmetic.unit));
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
      code.storeVector(code.zeros(arithmetic.unit),
                       code.at(to, i, arithmetic.unit), size);
    });
  if (first >= end)
    return;
  code.branch(
      valid,
      [&] {
        copy(code.at(source, start + first * stride, arithmetic.source),
             code.at(to, first, arithmetic.unit), end - first);
      },
      [&] {
        forVectors(code, end - first, [&](Value i, int64_t size) {
          code.storeVector(code.zeros(arithmetic.unit),
                           code.at(to, code.add(i, first), arithmetic.unit),
                           size);
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
  Value source =
      code.at(from, code.mul(row, planes.source[2]), arithmetic.source);
  Value inside = code.add(code.mul(d, extents[1]), h);
  for (int64_t phase : llvm::seq<int64_t>(0, phases[2])) {
    Value number = code.add(code.mul(plane, phases[2]), phase);
    Value offset = code.add(code.mul(number, volume(extents)),
                            code.mul(inside, extents[2]));
    emitPhase(phase, valid, source, code.at(to, offset, arithmetic.unit));
  }
}

KernelOperand amp::cpu::addPlanes(KernelCalls &calls, KernelModule &kernels,
                                  const Arithmetic &arithmetic,
                                  const PhasedPlanes &planes, int64_t channels,
                                  KernelOperand from) {
  KernelOperand to = KernelOperand::scratch(calls.scratch.size());
  calls.scratch.push_back(channels * planes.planeSize() *
                          arithmetic.unitBytes());
  std::string key = llvm::formatv("planes {0} {1}", spell(arithmetic.source),
                                  planes.getKey());
  auto kernel =
      kernels.getOrCreate(key, "planes", 2,
                          [&](ImplicitLocOpBuilder &builder, ValueRange buffers,
                              Value lo, Value hi) {
                            Code code(builder);
                            RowPadder padder(code, arithmetic, planes);
                            code.loop(lo, hi, 1, [&](Value index) {
                              padder.emit(index, buffers[0], buffers[1]);
                            });
                          });
  int64_t rowElements = planes.phases[2] * planes.extents[2];
  int64_t rows = channels * planes.planeSize() / rowElements;
  if (rows != 0)
    calls.calls.push_back({kernel, {from, to}, rows, getGrain(rowElements)});
  return to;
}

KernelOperand amp::cpu::addSwappedWeights(KernelCalls &calls,
                                          KernelModule &kernels,
                                          const Arithmetic &arithmetic,
                                          const ConvShape &shape,
                                          ArrayRef<int64_t> chosenTaps,
                                          KernelOperand weights) {
  int64_t count = chosenTaps.size();
  KernelOperand to = KernelOperand::scratch(calls.scratch.size());
  calls.scratch.push_back(shape.groups * shape.xChannels * shape.yChannels *
                          count * arithmetic.unitBytes());
  std::string taps;
  llvm::raw_string_ostream stream(taps);
  llvm::interleaveComma(chosenTaps, stream);
  std::string key =
      llvm::formatv("weights {0} {1}x{2}/{3} {4}", spell(arithmetic.source),
                    shape.xChannels, shape.yChannels, shape.taps(), taps);
  auto kernel = kernels.getOrCreate(
      key, "weights", 2,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        Value table = code.table(chosenTaps);
        Value zero = code.number(0);
        code.loop(lo, hi, 1, [&](Value index) {
          Value x = code.rem(index, shape.xChannels);
          Value group = code.div(index, shape.xChannels);
          Value firstY = code.mul(group, shape.yChannels);
          code.loop(zero, code.number(shape.yChannels), 1, [&](Value y) {
            Value row =
                code.add(code.mul(code.add(firstY, y), shape.xChannels), x);
            Value source = code.at(buffers[0], code.mul(row, shape.taps()),
                                   arithmetic.source);
            Value target = code.add(code.mul(index, shape.yChannels), y);
            Value destination =
                code.at(buffers[1], code.mul(target, count), arithmetic.unit);
            code.loop(zero, code.number(count), 1, [&](Value tap) {
              Value value = code.load(
                  code.at(source, code.lookUp(table, tap), arithmetic.source),
                  arithmetic.source);
              code.store(code.convert(value, arithmetic.unit),
                         code.at(destination, tap, arithmetic.unit));
            });
          });
        });
      });
  calls.calls.push_back({kernel,
                         {weights, to},
                         shape.groups * shape.xChannels,
                         getGrain(shape.yChannels * count)});
  return to;
}

std::string SumLattice::getKey() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  for (const Spatial *part : {&result, &strides, &pads}) {
    llvm::interleave(*part, stream, ",");
    stream << " ";
  }
  for (const auto &numbers : first) {
    llvm::interleave(numbers, stream, ",");
    stream << " ";
  }
  stream << pitch << " " << planePitch << " " << sumsPerChannel;
  return key;
}

namespace {

/// Prints one row of the result.
class RowFinisher {
public:
  RowFinisher(Code &code, const Arithmetic &arithmetic,
              const SumLattice &lattice, int64_t images, int64_t channels,
              Type type)
      : code(code), arithmetic(arithmetic), lattice(lattice),
        phaseSize(images * channels * lattice.sumsPerChannel),
        channels(channels), type(type) {
    for (int i = 0; i < 3; ++i)
      first[i] = lattice.strides[i] == 1 ? code.number(lattice.first[i][0])
                                         : code.table(lattice.first[i]);
  }
  void emit(Value index, Value sums, Value bias, Value result);

private:
  /// The phase of a coordinate and the number of its sum.
  std::pair<Value, Value> locate(int dimension, Value coordinate);
  Value finish(Value sum, Value bias) {
    if (bias)
      sum = arith::AddFOp::create(code.builder, sum, bias);
    return code.convert(sum, type);
  }

  Code &code;
  const Arithmetic &arithmetic;
  const SumLattice &lattice;
  int64_t phaseSize, channels;
  Type type;
  Value first[3];
};

} // namespace

std::pair<Value, Value> RowFinisher::locate(int i, Value coordinate) {
  Value padded = code.add(coordinate, lattice.pads[i]);
  int64_t stride = lattice.strides[i];
  Value phase = code.rem(padded, stride);
  Value start = stride == 1 ? first[i] : code.lookUp(first[i], phase);
  return {phase, code.sub(code.div(padded, stride), start)};
}

void RowFinisher::emit(Value index, Value sums, Value bias, Value result) {
  const Spatial &size = lattice.result;
  Type sumType = arithmetic.accumulator;
  Value h = code.rem(index, size[1]);
  Value rest = code.div(index, size[1]);
  Value d = code.rem(rest, size[0]), channel = code.div(rest, size[0]);
  auto [dPhase, dSum] = locate(0, d);
  auto [hPhase, hSum] = locate(1, h);
  Value phase = code.mul(code.add(code.mul(dPhase, lattice.strides[1]), hPhase),
                         lattice.strides[2]);
  Value offset = code.add(code.mul(phase, phaseSize),
                          code.mul(channel, lattice.sumsPerChannel));
  offset = code.add(offset, code.add(code.mul(dSum, lattice.planePitch),
                                     code.mul(hSum, lattice.pitch)));
  Value from = code.at(sums, offset, sumType);
  Value to = code.at(result, code.mul(index, size[2]), type);
  Value scalarBias, vectorBias;
  if (bias) {
    Type biasType = type.isF64() ? type : arithmetic.source;
    scalarBias = code.convert(
        code.load(code.at(bias, code.rem(channel, channels), biasType),
                  biasType),
        sumType);
    vectorBias = code.splat(scalarBias);
  }
  if (lattice.strides[2] == 1) {
    int64_t start = lattice.pads[2] - lattice.first[2][0];
    forVectors(code, size[2], [&](Value i, int64_t count) {
      Value sum = code.loadVector(code.at(from, code.add(i, start), sumType),
                                  sumType, count);
      code.storeVector(finish(sum, vectorBias), code.at(to, i, type), count);
    });
    return;
  }
  code.loop(code.number(0), code.number(size[2]), 1, [&](Value w) {
    auto [wPhase, wSum] = locate(2, w);
    Value sum = code.load(
        code.at(from, code.add(code.mul(wPhase, phaseSize), wSum), sumType),
        sumType);
    code.store(finish(sum, scalarBias), code.at(to, w, type));
  });
}

void amp::cpu::addFinish(KernelCalls &calls, KernelModule &kernels,
                         const Arithmetic &arithmetic,
                         const SumLattice &lattice, int64_t images,
                         int64_t channels, Type type, KernelOperand sums,
                         const KernelOperand *bias, KernelOperand result) {
  std::string key = llvm::formatv("finish {0} {1} {2}x{3} {4} bias {5}",
                                  spell(arithmetic.source), spell(type), images,
                                  channels, lattice.getKey(), bias != nullptr);
  SmallVector<KernelOperand> operands{sums, result};
  if (bias)
    operands.insert(operands.begin() + 1, *bias);
  auto kernel = kernels.getOrCreate(
      key, "finish", operands.size(),
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        RowFinisher finisher(code, arithmetic, lattice, images, channels, type);
        Value biasBuffer = bias ? buffers[1] : Value();
        code.loop(lo, hi, 1, [&](Value index) {
          finisher.emit(index, buffers.front(), biasBuffer, buffers.back());
        });
      });
  const Spatial &size = lattice.result;
  calls.calls.push_back({kernel, operands,
                         images * channels * size[0] * size[1],
                         getGrain(size[2])});
}
