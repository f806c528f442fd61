//===- Convolution.cpp - Kernels of the convolution family ----------------===//
//
// Convolutions as products of matrices that are nowhere in memory: elements of
// windows are found while tiles are read.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "Codegen/Cpu/Contraction/ConvOps.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace amp;
using namespace amp::cuda;
using cpu::ConvShape;
using cpu::getConvShape;
using cpu::Spatial;
using cpu::volume;

namespace {

constexpr int64_t numSpatial = 3;

/// Elements from one spatial index to the next.
Spatial getStrides(const Spatial &sizes) {
  return {sizes[1] * sizes[2], sizes[2], 1};
}

/// Elements of x at (window, channel and tap).
class WindowMap final : public ElementMap {
public:
  /// `tapsAreX`: x counts channels and taps, and k windows.
  WindowMap(const ConvShape &shape, bool tapsAreX)
      : shape(shape), tapsAreX(tapsAreX) {}

  Part atX(KernelBuilder &b, Value x) const override {
    return tapsAreX ? atTap(b, x) : atWindow(b, x);
  }
  Part atK(KernelBuilder &b, Value k) const override {
    return tapsAreX ? atWindow(b, k) : atTap(b, k);
  }
  Place join(KernelBuilder &b, const Part &x, const Part &k) const override {
    Place place{b.shift(x.offset, k.offset), Value()};
    for (int64_t d = 0; d < numSpatial; ++d)
      if (mayMiss(d)) {
        // Before the first element it wraps and is beyond the last, too.
        Value at = b.shift(x.coordinates[d], k.coordinates[d]);
        place.exists = b.both(place.exists, b.less(at, shape.x[d]));
      }
    return place;
  }
  std::string getKey() const override {
    return (tapsAreX ? "taps " : "windows ") + shape.getKey();
  }

private:
  /// Whether some window looks beyond x along dimension `d`.
  bool mayMiss(int64_t d) const {
    int64_t last = (shape.y[d] - 1) * shape.strides[d] - shape.pads[d] +
                   (shape.kernel[d] - 1) * shape.dilations[d];
    return shape.pads[d] > 0 || last >= shape.x[d];
  }
  Part atWindow(KernelBuilder &b, Value window) const;
  Part atTap(KernelBuilder &b, Value tap) const;

  ConvShape shape;
  bool tapsAreX;
};

/// Elements of y at (element of x, channel of y and tap): those whose window
/// holds the element at that tap.
class CotangentMap final : public ElementMap {
public:
  explicit CotangentMap(const ConvShape &shape) : shape(shape) {}

  Part atX(KernelBuilder &b, Value x) const override;
  Part atK(KernelBuilder &b, Value k) const override;
  Place join(KernelBuilder &b, const Part &x, const Part &k) const override;
  std::string getKey() const override { return "cotangent " + shape.getKey(); }

private:
  ConvShape shape;
};

/// Elements of the weight at (channel of x, channel of y and tap).
class WeightMap final : public ElementMap {
public:
  explicit WeightMap(const ConvShape &shape) : shape(shape) {}

  Part atX(KernelBuilder &b, Value x) const override {
    return {b.mul(x, shape.taps()), {}};
  }
  Part atK(KernelBuilder &b, Value k) const override {
    Value channel =
        b.mul(b.div(k, shape.taps()), shape.xChannels * shape.taps());
    return {b.add(channel, b.rem(k, shape.taps())), {}};
  }
  Place join(KernelBuilder &b, const Part &x, const Part &k) const override {
    return {b.add(x.offset, k.offset), Value()};
  }
  std::string getKey() const override { return "weight " + shape.getKey(); }

private:
  ConvShape shape;
};

/// Elements of y at (channel, image and window).
class ImageMap final : public ElementMap {
public:
  explicit ImageMap(const ConvShape &shape) : shape(shape) {}

  Part atX(KernelBuilder &b, Value x) const override {
    return {b.mul(x, volume(shape.y)), {}};
  }
  Part atK(KernelBuilder &b, Value k) const override {
    int64_t windows = volume(shape.y);
    Value image =
        b.mul(b.div(k, windows), shape.groups * shape.yChannels * windows);
    return {b.add(image, b.rem(k, windows)), {}};
  }
  Place join(KernelBuilder &b, const Part &x, const Part &k) const override {
    return {b.add(x.offset, k.offset), Value()};
  }
  int64_t getRun() const override { return volume(shape.y); }
  std::string getKey() const override { return "images " + shape.getKey(); }

private:
  ConvShape shape;
};

} // namespace

ElementMap::Part WindowMap::atWindow(KernelBuilder &b, Value window) const {
  SmallVector<Value> indices =
      b.delinearize(window, {shape.images, shape.y[0], shape.y[1], shape.y[2]});
  Spatial strides = getStrides(shape.x);
  int64_t channels = shape.groups * shape.xChannels;
  Part part{b.mul(indices[0], channels * volume(shape.x)), {}};
  int64_t before = 0;
  for (int64_t d = 0; d < numSpatial; ++d) {
    part.offset = b.add(part.offset,
                        b.mul(indices[d + 1], shape.strides[d] * strides[d]));
    before += shape.pads[d] * strides[d];
    part.coordinates.push_back(
        b.shift(b.mul(indices[d + 1], shape.strides[d]), -shape.pads[d]));
  }
  part.offset = b.shift(part.offset, -before);
  return part;
}

ElementMap::Part WindowMap::atTap(KernelBuilder &b, Value tap) const {
  SmallVector<Value> indices =
      b.delinearize(tap, {shape.xChannels, shape.kernel[0], shape.kernel[1],
                          shape.kernel[2]});
  Spatial strides = getStrides(shape.x);
  Part part{b.mul(indices[0], volume(shape.x)), {}};
  for (int64_t d = 0; d < numSpatial; ++d) {
    Value at = b.mul(indices[d + 1], shape.dilations[d]);
    part.offset = b.add(part.offset, b.mul(at, strides[d]));
    part.coordinates.push_back(at);
  }
  return part;
}

ElementMap::Part CotangentMap::atX(KernelBuilder &b, Value x) const {
  SmallVector<Value> indices =
      b.delinearize(x, {shape.images, shape.x[0], shape.x[1], shape.x[2]});
  int64_t channels = shape.groups * shape.yChannels;
  Part part{b.mul(indices[0], channels * volume(shape.y)), {}};
  for (int64_t d = 0; d < numSpatial; ++d)
    part.coordinates.push_back(b.add(indices[d + 1], shape.pads[d]));
  return part;
}

ElementMap::Part CotangentMap::atK(KernelBuilder &b, Value k) const {
  SmallVector<Value> indices = b.delinearize(
      k, {shape.yChannels, shape.kernel[0], shape.kernel[1], shape.kernel[2]});
  Part part{b.mul(indices[0], volume(shape.y)), {}};
  for (int64_t d = 0; d < numSpatial; ++d)
    part.coordinates.push_back(b.mul(indices[d + 1], shape.dilations[d]));
  return part;
}

ElementMap::Place CotangentMap::join(KernelBuilder &b, const Part &x,
                                     const Part &k) const {
  Place place{b.add(x.offset, k.offset), Value()};
  Spatial strides = getStrides(shape.y);
  for (int64_t d = 0; d < numSpatial; ++d) {
    // Below zero it wraps and is beyond the last window.
    Value at = b.sub(x.coordinates[d], k.coordinates[d]);
    Value window = b.div(at, shape.strides[d]);
    bool isTrivial = shape.y[d] == shape.x[d] && shape.kernel[d] == 1 &&
                     shape.strides[d] == 1 && shape.pads[d] == 0;
    if (!isTrivial)
      place.exists = b.both(place.exists, b.less(window, shape.y[d]));
    if (shape.strides[d] > 1)
      place.exists =
          b.both(place.exists, b.equals(b.rem(at, shape.strides[d]), 0));
    if (shape.y[d] > 1)
      place.offset = b.shift(place.offset, b.wrappingMul(window, strides[d]));
  }
  return place;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether every element of x meets one element of y.
static bool isPointwise(const ConvShape &shape) {
  return shape.taps() == 1 && shape.x == shape.y &&
         shape.strides == Spatial{1, 1, 1} && shape.pads == Spatial{0, 0, 0};
}

/// Columns of the result are the elements of all images, or of one image of a
/// batch.
static void setResult(Product &product, const ConvShape &shape,
                      int64_t channels, int64_t size, bool oneImage) {
  int64_t image = shape.groups * channels * size;
  product.to = {
      size, size, oneImage || shape.images == 1 ? 0 : image, {channels * size}};
  product.n = size * (oneImage ? 1 : shape.images);
  product.batch = {shape.groups};
  product.biasBatchStrides = {channels};
  if (!oneImage)
    return;
  product.batch.push_back(shape.images);
  product.to.batchStrides.push_back(image);
  product.biasBatchStrides.push_back(0);
}

static Product describeForward(const ConvShape &shape) {
  Product product;
  int64_t weights = shape.xChannels * shape.taps(), size = volume(shape.x);
  bool isDense = isPointwise(shape);
  product.m = shape.yChannels;
  product.k = weights;
  setResult(product, shape, shape.yChannels, volume(shape.y), isDense);
  product.a = {product.m, product.k, false, {product.m * weights}, nullptr};
  product.b = {product.n, product.k, true, {shape.xChannels * size}, nullptr};
  if (isDense) {
    product.a.batchStrides.push_back(0);
    product.b.batchStrides.push_back(shape.groups * shape.xChannels * size);
  } else {
    product.b.map = std::make_shared<WindowMap>(shape, /*tapsAreX=*/false);
  }
  return product;
}

static Product describeTransposed(const ConvShape &shape) {
  Product product;
  int64_t weights = shape.xChannels * shape.taps(), size = volume(shape.y);
  bool isDense = isPointwise(shape);
  product.m = shape.xChannels;
  product.k = shape.yChannels * shape.taps();
  setResult(product, shape, shape.xChannels, volume(shape.x), isDense);
  // One tap: rows of the weight are channels of x.
  bool isPlain = shape.taps() == 1;
  product.a = {
      product.m, product.k, isPlain, {shape.yChannels * weights}, nullptr};
  if (!isPlain)
    product.a.map = std::make_shared<WeightMap>(shape);
  product.b = {product.n, product.k, true, {shape.yChannels * size}, nullptr};
  if (isDense) {
    product.a.batchStrides.push_back(0);
    product.b.batchStrides.push_back(shape.groups * shape.yChannels * size);
  } else {
    product.b.map = std::make_shared<CotangentMap>(shape);
  }
  return product;
}

static Product describeWeights(const ConvShape &shape) {
  Product product;
  int64_t weights = shape.xChannels * shape.taps(), size = volume(shape.y);
  product.m = shape.yChannels;
  product.n = weights;
  product.k = shape.images * size;
  product.batch = {shape.groups};
  product.to = {weights, weights, 0, {product.m * weights}};
  product.a = {product.m,
               product.k,
               false,
               {product.m * size},
               std::make_shared<ImageMap>(shape)};
  product.b = {product.n,
               product.k,
               false,
               {shape.xChannels * volume(shape.x)},
               std::make_shared<WindowMap>(shape, /*tapsAreX=*/true)};
  return product;
}

/// Indices of elements have 32 bits.
static bool isTooLarge(Operation *op) {
  auto isLarge = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getNumElements() >= int64_t(1) << 31;
  };
  return llvm::any_of(op->getOperands(), isLarge) ||
         llvm::any_of(op->getResults(), isLarge);
}

static FailureOr<KernelLaunches> emit(Product product, Operation *op, Value a,
                                      Value b, Value bias,
                                      KernelModule &kernels) {
  if (product.k == 0 || isTooLarge(op))
    return KernelLaunches();
  product.element = cast<RankedTensorType>(a.getType()).getElementType();
  product.result =
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  product.hasBias = bool(bias);
  std::optional<KernelOperand> biasOperand;
  if (bias)
    biasOperand = bias;
  return emitProduct(product, {a, b, op->getResult(0), biasOperand}, kernels);
}

void amp::cuda::addConvolutionKernels(KernelRegistry &registry) {
  registry.add(onnx::ConvOp::getOperationName(),
               [](Operation *op, KernelModule &kernels) {
                 auto conv = cast<onnx::ConvOp>(op);
                 return emit(describeForward(getConvShape(conv)), op,
                             conv.getW(), conv.getX(), conv.getB(), kernels);
               });
  registry.add(onnx::ConvTransposeOp::getOperationName(),
               [](Operation *op, KernelModule &kernels) {
                 auto conv = cast<onnx::ConvTransposeOp>(op);
                 return emit(describeTransposed(getConvShape(conv)), op,
                             conv.getW(), conv.getX(), conv.getB(), kernels);
               });
  registry.add(train::ConvInputGradientOp::getOperationName(),
               [](Operation *op, KernelModule &kernels) {
                 auto conv = cast<train::ConvInputGradientOp>(op);
                 return emit(describeTransposed(getConvShape(conv)), op,
                             conv.getWeight(), conv.getGradient(), Value(),
                             kernels);
               });
  registry.add(train::ConvWeightGradientOp::getOperationName(),
               [](Operation *op, KernelModule &kernels) {
                 auto conv = cast<train::ConvWeightGradientOp>(op);
                 return emit(describeWeights(getConvShape(conv)), op,
                             conv.getGradient(), conv.getX(), Value(), kernels);
               });
}
