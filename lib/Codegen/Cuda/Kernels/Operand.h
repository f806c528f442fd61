//===- Operand.h - Where the elements of a product lie --------------------===//
//
// A product adds up, over k, elements of two operands: one at (x, k), x being a
// row of the result, and one at (x, k), x being a column.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_OPERAND_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_OPERAND_H

#include "KernelBuilder.h"
#include <memory>

namespace amp::cuda {

/// Finds elements that do not lie in rows: each at the sum of a part that
/// depends on x and a part that depends on k. Offsets are i32 and count
/// elements.
class ElementMap {
public:
  struct Part {
    mlir::Value offset;
    /// What both parts together decide: whether there is an element.
    llvm::SmallVector<mlir::Value, 3> coordinates;
  };
  struct Place {
    mlir::Value offset;
    /// Null: always. Where it fails the element counts as zero.
    mlir::Value exists;
  };

  virtual ~ElementMap() = default;
  virtual Part atX(KernelBuilder &b, mlir::Value x) const = 0;
  virtual Part atK(KernelBuilder &b, mlir::Value k) const = 0;
  virtual Place join(KernelBuilder &b, const Part &x, const Part &k) const = 0;
  /// Elements that are neighbours, aligned, and exist together, along the
  /// dimension that the operand calls contiguous.
  virtual int64_t getRun() const { return 1; }
  /// All that the code depends on.
  virtual std::string getKey() const = 0;
};

struct Operand {
  /// Sizes along x and k.
  int64_t extent = 0, depth = 0;
  /// Neighbours in memory are neighbours along x: [k][x]; otherwise [x][k].
  bool depthFirst = false;
  /// Elements from one batch to the next, by batch dimension; 0: the same.
  llvm::SmallVector<int64_t> batchStrides;
  /// Null: dense rows.
  std::shared_ptr<const ElementMap> map;

  bool isDense() const { return !map; }
  /// Elements from a row of memory to the next (dense).
  int64_t rowLength() const { return depthFirst ? extent : depth; }
  /// The most bytes, up to a chunk, at which every row and batch of elements of
  /// `elementBytes` is aligned.
  int64_t getAlignment(int64_t elementBytes) const;
  std::string getKey() const;
};

/// Reads a tile of an operand in units: a few elements that are neighbours
/// along x or k, whichever is contiguous. What lies outside reads as zero.
class UnitReader {
public:
  /// `unit`: elements of one unit.
  UnitReader(const Operand &operand, mlir::Type element, int64_t tileX,
             int64_t tileK, int64_t unit, int64_t threads);

  /// Units that a thread reads.
  int64_t getCount() const { return count; }
  /// Whether the last of them lies beyond the tile for some threads.
  bool isRagged() const { return rows % rowStep != 0; }
  /// Prints what stays the same in the main loop. `base` is the operand of the
  /// batch, `x` where the tile begins, `depthEnd` where k ends.
  void begin(KernelBuilder &b, mlir::Value base, mlir::Value x);
  /// Row of the tile and number of the unit in it, for number `i`.
  mlir::Value getRow(KernelBuilder &b, int64_t i) const;
  mlir::Value getUnit() const { return unitIndex; }
  /// The elements of all units from depth `k` on, unit by unit, as they are in
  /// memory.
  llvm::SmallVector<mlir::Value> read(KernelBuilder &b, mlir::Value k) const;

private:
  void readVector(KernelBuilder &b, mlir::Value k, int64_t i,
                  llvm::SmallVectorImpl<mlir::Value> &out) const;
  void readElements(KernelBuilder &b, mlir::Value k, int64_t i,
                    llvm::SmallVectorImpl<mlir::Value> &out) const;
  mlir::Value readPlace(KernelBuilder &b, mlir::Value offset,
                        mlir::Value exists, mlir::Type type,
                        int64_t alignment) const;

  const Operand &operand;
  mlir::Type element;
  int64_t tileX, unit;
  int64_t rows, unitsPerRow, rowStep, count;
  std::shared_ptr<const ElementMap> map;
  bool isVector;
  mlir::Value base, x, row, unitIndex;
  /// Of the x that this thread reads: those of its rows, or of its unit.
  llvm::SmallVector<ElementMap::Part> parts;
  llvm::SmallVector<mlir::Value> inside;
};

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_OPERAND_H
