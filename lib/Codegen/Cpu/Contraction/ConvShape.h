//===- ConvShape.h - Shapes of the convolution family ---------------------===//
//
// One description for convolution, transposed convolution and both gradients:
// x is what the window slides over, y has one element per window.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVSHAPE_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVSHAPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <array>

namespace amp::cpu {

/// Depth, height, width; what a 1-d or 2-d convolution lacks is 1.
using Spatial = std::array<int64_t, 3>;

inline int64_t volume(const Spatial &sizes) {
  return sizes[0] * sizes[1] * sizes[2];
}

/// x: [images][groups * xChannels][x], w: [groups * yChannels][xChannels]
/// [kernel], y: [images][groups * yChannels][y].
struct ConvShape {
  int64_t images = 0, groups = 1, xChannels = 0, yChannels = 0;
  Spatial x{1, 1, 1}, y{1, 1, 1}, kernel{1, 1, 1};
  Spatial strides{1, 1, 1}, dilations{1, 1, 1};
  /// Padding before the first element; what comes after it follows from y.
  Spatial pads{0, 0, 0};

  int64_t taps() const { return volume(kernel); }

  /// From the types of x, w and y; strides, dilations and pads may be empty and
  /// have an entry per spatial dimension otherwise (pads: first those before).
  static ConvShape get(mlir::RankedTensorType x, mlir::RankedTensorType w,
                       mlir::RankedTensorType y, int64_t groups,
                       llvm::ArrayRef<int64_t> strides,
                       llvm::ArrayRef<int64_t> dilations,
                       llvm::ArrayRef<int64_t> pads);
  /// Sets the pads so that windows cover x evenly, as SAME_UPPER (or, with
  /// `moreAtStart`, SAME_LOWER) asks for; `extra` is output_padding.
  void padEvenly(bool moreAtStart, llvm::ArrayRef<int64_t> extra = {});

  std::string getKey() const;
};

/// Zero-padded copies of channels in which every tap of a window finds the
/// elements for successive windows side by side. Along a dimension with stride
/// s the elements are dealt into s phases, each a plane of its own.
struct PhasedPlanes {
  /// Of the tensor that is copied.
  Spatial source{1, 1, 1};
  Spatial phases{1, 1, 1};
  Spatial extents{1, 1, 1};
  /// Padded coordinate = coordinate + shift.
  Spatial shift{0, 0, 0};

  /// Whether the planes are the tensor's own.
  bool isSource() const {
    return extents == source && phases == Spatial{1, 1, 1} &&
           shift == Spatial{0, 0, 0};
  }
  int64_t planeSize() const { return volume(phases) * volume(extents); }
  /// Where the element at a padded coordinate lies in its plane.
  int64_t offset(const Spatial &padded) const;
  std::string getKey() const;

  /// x for the windows of `shape`.
  static PhasedPlanes ofInput(const ConvShape &shape);
};

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVSHAPE_H
