//===- Positions.h - Windows of a convolution, numbered -------------------===//
//
// The lanes and the depth of a convolution's products are windows. They are
// numbered without gaps over all images; in memory they lie in short runs.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_POSITIONS_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_POSITIONS_H

#include "Arithmetic.h"
#include "ConvShape.h"

namespace amp::cpu {

/// Where position number p = (image, depth, height, width) lies.
struct PositionGrid {
  int64_t images = 0;
  Spatial counts{1, 1, 1};
  int64_t base = 0;
  int64_t imageStride = 0;
  Spatial strides{1, 1, 1};

  int64_t perImage() const { return volume(counts); }
  int64_t total() const { return images * perImage(); }
  /// Positions that follow each other in memory, when counted from a multiple
  /// of this: a power of two up to a vector's lanes.
  int64_t run() const;
  std::string getKey() const;
};

/// Writes where `runs` runs from position `first` on start, in elements. Runs
/// beyond the last position repeat the last one: what is read for them counts
/// for nothing.
void emitOffsets(Code &code, const PositionGrid &grid, mlir::Value first,
                 mlir::Value runs, mlir::Value table);

/// Copies runs from `from` + table[i] to `to` + i * run.
void emitGather(Code &code, int64_t run, int64_t runs, mlir::Value table,
                mlir::Value from, mlir::Type fromType, mlir::Value to,
                mlir::Type toType);
void emitGather(Code &code, int64_t run, mlir::Value runs, mlir::Value table,
                mlir::Value from, mlir::Type fromType, mlir::Value to,
                mlir::Type toType);

/// Copies runs from `from` + i * run to `to` + table[i].
void emitScatter(Code &code, int64_t run, mlir::Value runs, mlir::Value table,
                 mlir::Value from, mlir::Value to, mlir::Type type);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_POSITIONS_H
