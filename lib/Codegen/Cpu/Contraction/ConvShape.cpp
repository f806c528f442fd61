//===- ConvShape.cpp - Shapes of the convolution family -------------------===//
//
// Fewer than three spatial dimensions are padded with ones in front.
//
//===----------------------------------------------------------------------===//

#include "ConvShape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace amp::cpu;

static Spatial alignRight(ArrayRef<int64_t> sizes, int64_t fill) {
  Spatial result{fill, fill, fill};
  llvm::copy(sizes, result.end() - sizes.size());
  return result;
}

ConvShape ConvShape::get(RankedTensorType x, RankedTensorType w,
                         RankedTensorType y, int64_t groups,
                         ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                         ArrayRef<int64_t> pads) {
  ConvShape shape;
  shape.images = x.getDimSize(0);
  shape.groups = groups;
  shape.xChannels = x.getDimSize(1) / groups;
  shape.yChannels = y.getDimSize(1) / groups;
  shape.x = alignRight(x.getShape().drop_front(2), 1);
  shape.y = alignRight(y.getShape().drop_front(2), 1);
  shape.kernel = alignRight(w.getShape().drop_front(2), 1);
  shape.strides = alignRight(strides, 1);
  shape.dilations = alignRight(dilations, 1);
  shape.pads = alignRight(pads.take_front(pads.size() / 2), 0);
  return shape;
}

void ConvShape::padEvenly(bool moreAtStart, ArrayRef<int64_t> extra) {
  Spatial added = alignRight(extra, 0);
  for (int i = 0; i < 3; ++i) {
    int64_t total = (y[i] - 1) * strides[i] + added[i] +
                    (kernel[i] - 1) * dilations[i] + 1 - x[i];
    total = std::max<int64_t>(total, 0);
    pads[i] = moreAtStart ? total - total / 2 : total / 2;
  }
}

static void print(llvm::raw_ostream &stream, const Spatial &sizes) {
  stream << " ";
  llvm::interleave(sizes, stream, ",");
}

std::string ConvShape::getKey() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << images << "x" << groups << "x" << xChannels << "x" << yChannels;
  for (const Spatial *part : {&x, &y, &kernel, &strides, &dilations, &pads})
    print(stream, *part);
  return key;
}

std::string PhasedPlanes::getKey() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  for (const Spatial *part : {&source, &phases, &extents, &shift})
    print(stream, *part);
  return key;
}

int64_t PhasedPlanes::offset(const Spatial &padded) const {
  int64_t phase = 0, inside = 0;
  for (int i = 0; i < 3; ++i) {
    phase = phase * phases[i] + padded[i] % phases[i];
    inside = inside * extents[i] + padded[i] / phases[i];
  }
  return phase * volume(extents) + inside;
}

PhasedPlanes PhasedPlanes::ofInput(const ConvShape &shape) {
  PhasedPlanes planes;
  planes.source = shape.x;
  planes.phases = shape.strides;
  planes.shift = shape.pads;
  for (int i = 0; i < 3; ++i) {
    int64_t covered = (shape.y[i] - 1) * shape.strides[i] +
                      (shape.kernel[i] - 1) * shape.dilations[i] + 1;
    planes.extents[i] = llvm::divideCeil(covered, shape.strides[i]);
  }
  return planes;
}
