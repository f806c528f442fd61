//===- Convolution.cpp - Kernels of the convolution family ----------------===//
//
// Convolution, transposed convolution and both gradients as tap products.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "ConvOps.h"
#include "ConvProduct.h"
#include "Pack.h"
#include "Planes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
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
                                   UnitMatrix &layout) {
  layout = {arithmetic.source, depth, arithmetic.unitDepth};
  if (arithmetic.isDirect() && depth % arithmetic.unitDepth == 0)
    return weights;
  MatrixView view{
      /*batches=*/1,       rows * depth,     rows, depth,
      /*rowStride=*/depth, /*depthStride=*/1};
  PackedMatrix packed = PackedMatrix::paddedRows(arithmetic, view);
  layout = {arithmetic.unit, packed.rowStride, 1};
  return addPack(calls, arithmetic, view, packed, weights, kernels);
}

/// The windows of y (or, for the input gradient, elements of a phase of x) in
/// planes with these extents.
static PositionGrid getPlaneGrid(int64_t images, const Spatial &counts,
                                 int64_t channels, const PhasedPlanes &planes) {
  PositionGrid grid;
  grid.images = images;
  grid.counts = counts;
  grid.imageStride = channels * planes.planeSize();
  grid.strides = {planes.extents[1] * planes.extents[2], planes.extents[2], 1};
  return grid;
}

/// Offsets of all taps of the kernel in the planes of x.
static SmallVector<int64_t> getTapOffsets(const ConvShape &shape,
                                          const PhasedPlanes &planes) {
  SmallVector<int64_t> offsets;
  forEachTap(shape.kernel, [&](const Spatial &tap) {
    offsets.push_back(
        planes.offset({tap[0] * shape.dilations[0], tap[1] * shape.dilations[1],
                       tap[2] * shape.dilations[2]}));
  });
  return offsets;
}

/// y = conv(x, w) + bias
static KernelCalls emitForward(const ConvShape &shape, Type source, Type result,
                               KernelOperand x, KernelOperand w,
                               const KernelOperand *bias, KernelOperand y,
                               const CpuTarget &target, KernelModule &kernels) {
  KernelCalls calls;
  PhasedPlanes planes = PhasedPlanes::ofInput(shape);
  int64_t xChannels = shape.groups * shape.xChannels;
  int64_t yChannels = shape.groups * shape.yChannels;
  TapProduct product;
  product.arithmetic = Arithmetic::get(source, target);
  product.groups = shape.groups;
  product.rows = shape.yChannels;
  product.channels = shape.xChannels;
  product.from = getPlaneGrid(shape.images, shape.y, xChannels, planes);
  product.to = {shape.images,
                shape.y,
                /*base=*/0,
                yChannels * volume(shape.y),
                {shape.y[1] * shape.y[2], shape.y[2], 1}};
  product.planeSize = planes.planeSize();
  product.resultChannelSize = volume(shape.y);
  product.offsets = getTapOffsets(shape, planes);
  product.result = result;
  KernelOperand padded =
      addPlanes(calls, kernels, source, planes, shape.images * xChannels, x);
  KernelOperand weights =
      addWeightRows(calls, kernels, product.arithmetic, yChannels,
                    product.depth(), w, product.weights);
  addTapProduct(calls, kernels, product, target, weights, padded, bias, y);
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

/// The elements of one phase of x, in x.
static PositionGrid getPhaseGrid(const ConvShape &shape,
                                 ArrayRef<XDimension> dimensions,
                                 const Spatial &phase) {
  PositionGrid grid;
  grid.images = shape.images;
  grid.imageStride = shape.groups * shape.xChannels * volume(shape.x);
  int64_t stride = 1;
  for (int i = 2; i >= 0; --i) {
    const XDimension &dimension = dimensions[i];
    int64_t first = dimension.first[phase[i]];
    grid.counts[i] = dimension.count[phase[i]];
    grid.base += (first * dimension.stride + phase[i] - dimension.pad) * stride;
    grid.strides[i] = dimension.stride * stride;
    stride *= shape.x[i];
  }
  return grid;
}

/// The planes of y in which the windows that reach x lie.
static PhasedPlanes getGradientPlanes(const ConvShape &shape,
                                      ArrayRef<XDimension> dimensions) {
  PhasedPlanes planes;
  planes.source = shape.y;
  for (int i = 0; i < 3; ++i) {
    planes.shift[i] = dimensions[i].before;
    planes.extents[i] =
        dimensions[i].lastStart + *llvm::max_element(dimensions[i].count);
  }
  return planes;
}

/// Weights of the taps of one phase, as rows for the channels of x.
static KernelOperand addPhaseWeights(KernelCalls &calls, KernelModule &kernels,
                                     const ConvShape &shape,
                                     const XPhase &phase, KernelOperand w,
                                     TapProduct &product) {
  const Arithmetic &arithmetic = product.arithmetic;
  bool isPair = arithmetic.isPair();
  product.weights = {
      isPair ? arithmetic.source : arithmetic.unit,
      int64_t(llvm::alignTo(product.depth(), arithmetic.unitDepth)),
      arithmetic.unitDepth};
  // Elements that no window reaches are sums of nothing.
  if (phase.taps.empty())
    return w;
  return addSwappedWeights(
      calls, kernels,
      {shape, arithmetic.source, phase.tapNumbers, product.weights}, w);
}

/// x = sum over windows of w * y, plus bias
static KernelCalls emitTransposed(const ConvShape &shape, Type source,
                                  Type result, KernelOperand w, KernelOperand y,
                                  const KernelOperand *bias, KernelOperand x,
                                  const CpuTarget &target,
                                  KernelModule &kernels) {
  KernelCalls calls;
  SmallVector<XDimension> dimensions;
  for (int i = 0; i < 3; ++i)
    dimensions.emplace_back(shape, i);
  PhasedPlanes planes = getGradientPlanes(shape, dimensions);
  int64_t yChannels = shape.groups * shape.yChannels;
  KernelOperand padded =
      addPlanes(calls, kernels, source, planes, shape.images * yChannels, y);
  TapProduct product;
  product.arithmetic = Arithmetic::get(source, target);
  product.groups = shape.groups;
  product.rows = shape.xChannels;
  product.channels = shape.yChannels;
  product.planeSize = planes.planeSize();
  product.resultChannelSize = volume(shape.x);
  product.result = result;
  for (auto &[phase, reached] : getPhases(shape, dimensions)) {
    product.to = getPhaseGrid(shape, dimensions, phase);
    product.from =
        getPlaneGrid(shape.images, product.to.counts, yChannels, planes);
    if (product.to.total() == 0)
      continue;
    product.offsets.clear();
    for (const Spatial &tap : reached.taps) {
      Spatial start;
      for (int i = 0; i < 3; ++i)
        start[i] =
            dimensions[i].firstWindow(tap[i], phase[i]) + dimensions[i].before;
      product.offsets.push_back(planes.offset(start));
    }
    KernelOperand weights =
        addPhaseWeights(calls, kernels, shape, reached, w, product);
    addTapProduct(calls, kernels, product, target, weights, padded, bias, x);
  }
  return calls;
}

/// y as panels of channels whose depth runs over the windows of all images.
static KernelOperand addGradientPanels(KernelCalls &calls,
                                       KernelModule &kernels,
                                       const Arithmetic &arithmetic,
                                       const ConvShape &shape,
                                       int64_t panelRows, KernelOperand y) {
  int64_t windows = volume(shape.y);
  MatrixView view{shape.images * shape.groups,
                  shape.yChannels * windows,
                  shape.yChannels,
                  windows,
                  /*rowStride=*/windows,
                  /*depthStride=*/1};
  PackedMatrix packed = PackedMatrix::panels(arithmetic, view, panelRows);
  int64_t panels = llvm::divideCeil(shape.yChannels, panelRows);
  packed.batchStride = packed.panelStride;
  packed.panelStride *= shape.images;
  packed.innerBatches = shape.groups;
  packed.innerBatchStride = panels * packed.panelStride;
  return addPack(calls, arithmetic, view, packed, y, kernels);
}

/// w = sum over images and windows of x * y
static KernelCalls emitWeightGradient(const ConvShape &shape, Type source,
                                      Type result, KernelOperand x,
                                      KernelOperand y, KernelOperand w,
                                      const CpuTarget &target,
                                      KernelModule &kernels) {
  KernelCalls calls;
  PhasedPlanes planes = PhasedPlanes::ofInput(shape);
  int64_t xChannels = shape.groups * shape.xChannels;
  WindowProduct product;
  product.arithmetic = Arithmetic::get(source, target);
  // Windows of two images make no pair.
  if (product.arithmetic.isPair() && volume(shape.y) % 2 != 0)
    product.arithmetic = Arithmetic::getWidened(source);
  product.groups = shape.groups;
  product.columns = shape.yChannels;
  product.channels = shape.xChannels;
  product.from = getPlaneGrid(shape.images, shape.y, xChannels, planes);
  product.planeSize = planes.planeSize();
  product.offsets = getTapOffsets(shape, planes);
  product.tile = RegisterTile::get(product.arithmetic, product.rows(),
                                   product.columns, target);
  product.result = result;
  KernelOperand padded =
      addPlanes(calls, kernels, source, planes, shape.images * xChannels, x);
  KernelOperand gradient = addGradientPanels(calls, kernels, product.arithmetic,
                                             shape, product.tile.columns(), y);
  addWindowProduct(calls, kernels, product, padded, gradient, w);
  return calls;
}

static FailureOr<KernelCalls> emitConv(onnx::ConvOp op, const CpuTarget &target,
                                       KernelModule &kernels) {
  RankedTensorType x = getType(op.getX()), y = getType(op.getY());
  ConvShape shape = getConvShape(op);
  if (y.getNumElements() == 0)
    return KernelCalls();
  std::optional<KernelOperand> bias;
  if (op.getB())
    bias = op.getB();
  return emitForward(shape, x.getElementType(), y.getElementType(), op.getX(),
                     op.getW(), bias ? &*bias : nullptr, op.getY(), target,
                     kernels);
}

static FailureOr<KernelCalls> emitConvTranspose(onnx::ConvTransposeOp op,
                                                const CpuTarget &target,
                                                KernelModule &kernels) {
  RankedTensorType y = getType(op.getX()), x = getType(op.getY());
  ConvShape shape = getConvShape(op);
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
  RankedTensorType x = getType(op.getResult()), y = getType(op.getGradient());
  ConvShape shape = getConvShape(op);
  if (x.getNumElements() == 0)
    return KernelCalls();
  return emitTransposed(shape, y.getElementType(), x.getElementType(),
                        op.getWeight(), op.getGradient(), /*bias=*/nullptr,
                        op.getResult(), target, kernels);
}

static FailureOr<KernelCalls> emitWeights(train::ConvWeightGradientOp op,
                                          const CpuTarget &target,
                                          KernelModule &kernels) {
  RankedTensorType x = getType(op.getX()), w = getType(op.getResult());
  ConvShape shape = getConvShape(op);
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
