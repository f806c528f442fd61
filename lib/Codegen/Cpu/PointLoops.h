//===- PointLoops.h - Loops over every point of a space -------------------===//
//
// How a space is cut into pieces of work, and walked in lanes.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_POINTLOOPS_H
#define AMP_CODEGEN_CPU_POINTLOOPS_H

#include "Emitter.h"

namespace amp::cpu {

/// Prints loops over a space. Lanes run along the innermost loop; the others,
/// and pieces of a long innermost one, are the parallel iteration.
class PointLoops {
public:
  /// `sizes` has at least one entry. `vector`: lanes may be used.
  PointLoops(llvm::ArrayRef<int64_t> sizes, bool vector = true);

  int64_t getIterations() const { return outerCount * chunks; }
  int64_t getGrain() const;
  /// `body` gets an index for each loop; it may be printed several times.
  using Body =
      llvm::function_ref<void(Emitter &e, llvm::ArrayRef<mlir::Value> point)>;
  void print(mlir::ImplicitLocOpBuilder &b, mlir::Value lo, mlir::Value hi,
             Body body) const;

private:
  llvm::SmallVector<int64_t> sizes;
  int64_t n, outerCount, chunks;
  bool vector;
};

/// Calls `body(j)` for the elements [0, n) of the innermost loop: all lanes,
/// then the tail under a mask; one by one if `e` is no vector.
void emitColumns(Emitter &e, int64_t n,
                 llvm::function_ref<void(mlir::Value)> body);

/// The same for piece number `piece` of [0, n), cut every `length` elements, a
/// multiple of the lanes.
void emitColumnPiece(Emitter &e, int64_t n, int64_t length, mlir::Value piece,
                     llvm::function_ref<void(mlir::Value)> body);

/// The indices of loops of `sizes` at position `linear` of their product.
llvm::SmallVector<mlir::Value> delinearize(Emitter &e, mlir::Value linear,
                                           llvm::ArrayRef<int64_t> sizes);

/// sum(point[d] * strides[d]) + offset.
mlir::Value emitAddress(Emitter &e, llvm::ArrayRef<mlir::Value> point,
                        llvm::ArrayRef<int64_t> strides, int64_t offset = 0);

/// A loop over [lo, hi).
void emitLoop(mlir::ImplicitLocOpBuilder &b, mlir::Value lo, mlir::Value hi,
              int64_t step, llvm::function_ref<void(mlir::Value)> body);

/// A loop over [lo, hi) that carries values.
llvm::SmallVector<mlir::Value>
emitCarryingLoop(mlir::ImplicitLocOpBuilder &b, mlir::Value lo, mlir::Value hi,
                 int64_t step, llvm::SmallVector<mlir::Value> carried,
                 llvm::function_ref<llvm::SmallVector<mlir::Value>(
                     mlir::Value, llvm::SmallVector<mlir::Value>)>
                     body);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_POINTLOOPS_H
