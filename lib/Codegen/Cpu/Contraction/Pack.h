//===- Pack.h - Operands rearranged for the micro-kernel ------------------===//
//
// Copies a matrix into panels of vectors or into padded rows, transposing,
// pairing and widening on the way.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_PACK_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_PACK_H

#include "Arithmetic.h"

namespace amp::cpu {

/// Matrices in a tensor: element (row, k) lies at row * rowStride + k *
/// depthStride; one of the strides is 1.
struct MatrixView {
  int64_t batches = 1;
  int64_t batchStride = 0;
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t rowStride = 1;
  int64_t depthStride = 1;

  bool isDepthContiguous() const { return depthStride == 1; }
};

/// A rearranged matrix: panels of `panelRows` rows, in each of which the rows
/// lie side by side for every depth; or, with panelRows = 0, rows one after the
/// other, each padded to a whole number of vectors.
struct PackedMatrix {
  int64_t panelRows;
  int64_t units;
  int64_t rowStride;
  int64_t panelStride;
  int64_t batchStride;
  /// Batches may be pairs (outer, inner) of which the inner ones have a stride
  /// of their own.
  int64_t innerBatches = 1, innerBatchStride = 0;

  static PackedMatrix panels(const Arithmetic &arithmetic,
                             const MatrixView &view, int64_t panelRows);
  static PackedMatrix paddedRows(const Arithmetic &arithmetic,
                                 const MatrixView &view);
  bool isPanels() const { return panelRows != 0; }
};

/// Units of depth that are packed at once.
inline constexpr int64_t packUnits = 256;

/// Prints code that packs one panel of the matrix at `from`, from `row` on and
/// units [chunk * packUnits, (chunk + 1) * packUnits), to `to`.
void emitPanelChunk(Code &code, const Arithmetic &arithmetic,
                    const MatrixView &view, int64_t panelRows, mlir::Value from,
                    mlir::Value row, mlir::Value chunk, mlir::Value to);

/// Adds the call that rearranges `from` into a new scratch buffer.
KernelOperand addPack(KernelCalls &calls, const Arithmetic &arithmetic,
                      const MatrixView &view, const PackedMatrix &packed,
                      KernelOperand from, KernelModule &kernels);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_PACK_H
