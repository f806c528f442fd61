//===- Convolution.cpp - Kernels of the convolution family ----------------===//
//
// Convolution, transposed convolution and both gradients as tap products.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "Pack.h"
#include "Planes.h"
#include "TapKernels.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Sums are f32 chains; bf16 is widened, since pairs would have to lie side by
/// side along the depth.
static Arithmetic getArithmetic(Type source) {
  Type f32 = Float32Type::get(source.getContext());
  Type wide = source.isF64() ? source : f32;
  return {source, wide, wide};
}

/// All taps of the kernel, in the order of the weights.
static void forEachTap(const Spatial &kernel,
                       llvm::function_ref<void(const Spatial &)> body) {
  for (int64_t d = 0; d < kernel[0]; ++d)
    for (int64_t h = 0; h < kernel[1]; ++h)
      for (int64_t w = 0; w < kernel[2]; ++w)
        body({d, h, w});
}

/// Weights as rows of units: as they lie if they can be read so.
static KernelOperand addWeightRows(KernelCalls &calls, KernelModule &kernels,
                                   const Arithmetic &arithmetic, int64_t rows,
                                   int64_t depth, KernelOperand weights,
                                   int64_t &stride) {
  stride = depth;
  if (arithmetic.isDirect())
    return weights;
  MatrixView view{
      /*batches=*/1,       rows * depth,     rows, depth,
      /*rowStride=*/depth, /*depthStride=*/1};
  PackedMatrix packed = PackedMatrix::paddedRows(arithmetic, view);
  stride = packed.rowStride;
  return addPack(calls, arithmetic, view, packed, weights, kernels);
}

/// y = conv(x, w) + bias
static KernelCalls emitForward(const ConvShape &shape, Type source, Type result,
                               KernelOperand x, KernelOperand w,
                               const KernelOperand *bias, KernelOperand y,
                               const CpuTarget &target, KernelModule &kernels) {
  KernelCalls calls;
  Arithmetic arithmetic = getArithmetic(source);
  PhasedPlanes planes = PhasedPlanes::ofInput(shape);
  int64_t rows = shape.groups * shape.yChannels;
  TapProduct product;
  product.images = shape.images;
  product.groups = shape.groups;
  product.rows = shape.yChannels;
  product.channels = shape.xChannels;
  KernelOperand units =
      addPlanes(calls, kernels, arithmetic, planes,
                shape.images * shape.groups * shape.xChannels, x);
  KernelOperand weights =
      addWeightRows(calls, kernels, arithmetic, rows,
                    shape.xChannels * shape.taps(), w, product.weightStride);
  product.planeSize = planes.planeSize();
  forEachTap(shape.kernel, [&](const Spatial &tap) {
    product.offsets.push_back(
        planes.offset({tap[0] * shape.dilations[0], tap[1] * shape.dilations[1],
                       tap[2] * shape.dilations[2]}));
  });

  SumLattice lattice;
  lattice.result = shape.y;
  for (auto &numbers : lattice.first)
    numbers = {0};
  lattice.pitch = planes.extents[2];
  lattice.planePitch = planes.extents[1] * planes.extents[2];
  // The last window of one row and the first of the next are neighbours only
  // when the row of planes ends with it; what lies between is thrown away.
  product.positions = (shape.y[0] - 1) * lattice.planePitch +
                      (shape.y[1] - 1) * lattice.pitch + shape.y[2];
  lattice.sumsPerChannel = product.positions;
  bool isDense = product.positions == volume(shape.y) && !bias;
  product.result = isDense ? result : arithmetic.accumulator;
  if (isDense) {
    addTapProduct(calls, kernels, arithmetic, product, target, weights, units,
                  y, 0);
    return calls;
  }
  KernelOperand sums = KernelOperand::scratch(calls.scratch.size());
  calls.scratch.push_back(shape.images * rows * product.positions *
                          arithmetic.unitBytes());
  addTapProduct(calls, kernels, arithmetic, product, target, weights, units,
                sums, 0);
  addFinish(calls, kernels, arithmetic, lattice, shape.images, rows, result,
            sums, bias, y);
  return calls;
}

namespace {

/// One phase of x: the taps that reach it, and its sums.
struct XPhase {
  SmallVector<Spatial> taps;
  SmallVector<int64_t> tapNumbers;
};

/// The input gradient along one dimension. Element i of x is in phase r = (i +
/// pad) % stride and has number q = (i + pad) / stride; tap t reaches it if
/// t * dilation % stride == r, from window q - (t * dilation - r) / stride.
struct XDimension {
  int64_t stride, dilation, pad;
  /// By phase: the first number, and how many there are.
  SmallVector<int64_t> first, count;
  /// Zeros needed before the first window, and the largest padded coordinate
  /// at which a tap starts reading.
  int64_t before = 0, lastStart = 0;

  XDimension(const ConvShape &shape, int i);
  bool reaches(int64_t tap, int64_t phase) const {
    return tap * dilation % stride == phase;
  }
  void forEachStart(int64_t taps,
                    llvm::function_ref<void(int64_t start)> body) const {
    for (int64_t phase = 0; phase < stride; ++phase)
      for (int64_t tap = 0; tap < taps; ++tap)
        if (reaches(tap, phase))
          body(firstWindow(tap, phase));
  }
  /// The window from which `tap` reaches the first element of `phase`.
  int64_t firstWindow(int64_t tap, int64_t phase) const {
    return first[phase] - (tap * dilation - phase) / stride;
  }
};

} // namespace

XDimension::XDimension(const ConvShape &shape, int i)
    : stride(shape.strides[i]), dilation(shape.dilations[i]),
      pad(shape.pads[i]) {
  for (int64_t phase = 0; phase < stride; ++phase) {
    int64_t skip = pad - phase;
    int64_t start =
        skip > 0 ? llvm::divideCeil(skip, stride) : -(-skip / stride);
    // Numbers q with 0 <= q * stride + phase - pad < size.
    int64_t last = shape.x[i] - 1 + pad - phase;
    int64_t stop = last < 0 ? start : std::max(start, last / stride + 1);
    first.push_back(start);
    count.push_back(stop - start);
  }
  forEachStart(shape.kernel[i],
               [&](int64_t start) { before = std::max(before, -start); });
  forEachStart(shape.kernel[i], [&](int64_t start) {
    lastStart = std::max(lastStart, start + before);
  });
}

/// The phases of x in the order of their sums.
static SmallVector<std::pair<Spatial, XPhase>>
getPhases(const ConvShape &shape, ArrayRef<XDimension> dimensions) {
  SmallVector<std::pair<Spatial, XPhase>> phases;
  forEachTap(shape.strides, [&](const Spatial &phase) {
    XPhase &made = phases.emplace_back(phase, XPhase()).second;
    int64_t number = 0;
    forEachTap(shape.kernel, [&](const Spatial &tap) {
      bool reaches = true;
      for (int i = 0; i < 3; ++i)
        reaches &= dimensions[i].reaches(tap[i], phase[i]);
      if (reaches) {
        made.taps.push_back(tap);
        made.tapNumbers.push_back(number);
      }
      ++number;
    });
  });
  return phases;
}

/// x = what conv(x, w) would have to be multiplied with y for, plus bias
static KernelCalls emitTransposed(const ConvShape &shape, Type source,
                                  Type result, KernelOperand w, KernelOperand y,
                                  const KernelOperand *bias, KernelOperand x,
                                  const CpuTarget &target,
                                  KernelModule &kernels) {
  KernelCalls calls;
  Arithmetic arithmetic = getArithmetic(source);
  int64_t channels = shape.groups * shape.xChannels;
  SmallVector<XDimension> dimensions;
  PhasedPlanes planes;
  planes.source = shape.y;
  SumLattice lattice;
  lattice.result = shape.x;
  lattice.strides = shape.strides;
  lattice.pads = shape.pads;
  Spatial most;
  for (int i = 0; i < 3; ++i) {
    const XDimension &dimension = dimensions.emplace_back(shape, i);
    most[i] = *llvm::max_element(dimension.count);
    planes.shift[i] = dimension.before;
    planes.extents[i] = dimension.lastStart + most[i];
    lattice.first[i] = dimension.first;
  }
  lattice.pitch = planes.extents[2];
  lattice.planePitch = planes.extents[1] * planes.extents[2];
  int64_t positions = (most[0] - 1) * lattice.planePitch +
                      (most[1] - 1) * lattice.pitch + most[2];
  lattice.sumsPerChannel = positions;

  KernelOperand units =
      addPlanes(calls, kernels, arithmetic, planes,
                shape.images * shape.groups * shape.yChannels, y);
  KernelOperand sums = KernelOperand::scratch(calls.scratch.size());
  int64_t phaseSums = shape.images * channels * positions;
  calls.scratch.push_back(phaseSums * volume(shape.strides) *
                          arithmetic.unitBytes());
  int64_t sumsOffset = 0;
  for (auto &[phase, reached] : getPhases(shape, dimensions)) {
    TapProduct product;
    product.images = shape.images;
    product.groups = shape.groups;
    product.rows = shape.xChannels;
    product.channels = shape.yChannels;
    for (const Spatial &tap : reached.taps) {
      Spatial start;
      for (int i = 0; i < 3; ++i)
        start[i] =
            dimensions[i].firstWindow(tap[i], phase[i]) + dimensions[i].before;
      product.offsets.push_back(planes.offset(start));
    }
    product.weightStride = shape.yChannels * reached.taps.size();
    product.planeSize = planes.planeSize();
    product.positions = positions;
    product.result = arithmetic.accumulator;
    // Elements that no window reaches are sums of nothing.
    KernelOperand weights = w;
    if (!reached.taps.empty())
      weights = addSwappedWeights(calls, kernels, arithmetic, shape,
                                  reached.tapNumbers, w);
    addTapProduct(calls, kernels, arithmetic, product, target, weights, units,
                  sums, sumsOffset);
    sumsOffset += phaseSums;
  }
  addFinish(calls, kernels, arithmetic, lattice, shape.images, channels, result,
            sums, bias, x);
  return calls;
}

/// w = sum over images and windows of x * y
static KernelCalls emitWeightGradient(const ConvShape &shape, Type source,
                                      Type result, KernelOperand x,
                                      KernelOperand y, KernelOperand w,
                                      const CpuTarget &target,
                                      KernelModule &kernels) {
  KernelCalls calls;
  Arithmetic arithmetic = getArithmetic(source);
  PhasedPlanes planes = PhasedPlanes::ofInput(shape);
  RegisterTile tile = getWeightTile(arithmetic, shape, target);
  KernelOperand units =
      addPlanes(calls, kernels, arithmetic, planes,
                shape.images * shape.groups * shape.xChannels, x);
  int64_t windows = volume(shape.y);
  MatrixView view{shape.images * shape.groups,
                  shape.yChannels * windows,
                  shape.yChannels,
                  windows,
                  /*rowStride=*/windows,
                  /*depthStride=*/1};
  KernelOperand gradient = addPack(
      calls, arithmetic, view,
      PackedMatrix::panels(arithmetic, view, tile.columns()), y, kernels);
  addWeightProduct(calls, kernels, arithmetic, shape, planes, tile, result,
                   units, gradient, w);
  return calls;
}

static ArrayRef<int64_t>
orEmpty(const std::optional<ArrayRef<int64_t>> &numbers) {
  return numbers.value_or(ArrayRef<int64_t>());
}

static FailureOr<KernelCalls> emitConv(onnx::ConvOp op, const CpuTarget &target,
                                       KernelModule &kernels) {
  RankedTensorType x = getType(op.getX()), w = getType(op.getW()),
                   y = getType(op.getY());
  ConvShape shape =
      ConvShape::get(x, w, y, op.getGroup(), orEmpty(op.getStrides()),
                     orEmpty(op.getDilations()), orEmpty(op.getPads()));
  StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    shape.pads = {0, 0, 0};
  if (autoPad.starts_with("SAME"))
    shape.padEvenly(/*moreAtStart=*/autoPad == "SAME_LOWER");
  if (y.getNumElements() == 0)
    return KernelCalls();
  std::optional<KernelOperand> bias;
  if (op.getB())
    bias = op.getB();
  return emitForward(shape, x.getElementType(), y.getElementType(), op.getX(),
                     op.getW(), bias ? &*bias : nullptr, op.getY(), target,
                     kernels);
}

/// ConvTranspose's own input is y of the convolution that it transposes.
static FailureOr<KernelCalls> emitConvTranspose(onnx::ConvTransposeOp op,
                                                const CpuTarget &target,
                                                KernelModule &kernels) {
  RankedTensorType y = getType(op.getX()), w = getType(op.getW()),
                   x = getType(op.getY());
  ConvShape shape =
      ConvShape::get(x, w, y, op.getGroup(), orEmpty(op.getStrides()),
                     orEmpty(op.getDilations()), orEmpty(op.getPads()));
  ArrayRef<int64_t> extra = orEmpty(op.getOutputPadding());
  StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    shape.pads = {0, 0, 0};
  if (autoPad.starts_with("SAME") || op.getOutputShape())
    shape.padEvenly(/*moreAtStart=*/autoPad != "SAME_UPPER", extra);
  if (x.getNumElements() == 0)
    return KernelCalls();
  std::optional<KernelOperand> bias;
  if (op.getB())
    bias = op.getB();
  return emitTransposed(shape, y.getElementType(), x.getElementType(),
                        op.getW(), op.getX(), bias ? &*bias : nullptr,
                        op.getY(), target, kernels);
}

static FailureOr<KernelCalls> emitInputGradient(train::ConvInputGradientOp op,
                                                const CpuTarget &target,
                                                KernelModule &kernels) {
  RankedTensorType x = getType(op.getResult()), w = getType(op.getWeight()),
                   y = getType(op.getGradient());
  ConvShape shape = ConvShape::get(x, w, y, op.getGroup(), op.getStrides(),
                                   op.getDilations(), op.getPads());
  if (x.getNumElements() == 0)
    return KernelCalls();
  return emitTransposed(shape, y.getElementType(), x.getElementType(),
                        op.getWeight(), op.getGradient(), /*bias=*/nullptr,
                        op.getResult(), target, kernels);
}

static FailureOr<KernelCalls> emitWeights(train::ConvWeightGradientOp op,
                                          const CpuTarget &target,
                                          KernelModule &kernels) {
  RankedTensorType x = getType(op.getX()), w = getType(op.getResult()),
                   y = getType(op.getGradient());
  ConvShape shape = ConvShape::get(x, w, y, op.getGroup(), op.getStrides(),
                                   op.getDilations(), op.getPads());
  if (w.getNumElements() == 0)
    return KernelCalls();
  return emitWeightGradient(shape, x.getElementType(), w.getElementType(),
                            op.getX(), op.getGradient(), op.getResult(), target,
                            kernels);
}

template <typename Op>
static void add(KernelRegistry &registry, const CpuTarget &target,
                FailureOr<KernelCalls> (*emit)(Op, const CpuTarget &,
                                               KernelModule &)) {
  registry.add(Op::getOperationName(),
               [target, emit](Operation *op, KernelModule &kernels) {
                 return emit(cast<Op>(op), target, kernels);
               });
}

void amp::cpu::registerConvolutionKernels(KernelRegistry &registry,
                                          const CpuTarget &target) {
  add(registry, target, emitConv);
  add(registry, target, emitConvTranspose);
  add(registry, target, emitInputGradient);
  add(registry, target, emitWeights);
}
