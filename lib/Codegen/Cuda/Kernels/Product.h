//===- Product.h - Products of matrices on the GPU ------------------------===//
//
// One description of all that multiplies and adds up, the tiles it is cut into,
// and the two kinds of kernels.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_PRODUCT_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_PRODUCT_H

#include "Operand.h"

namespace amp::cuda {

/// Where results lie: the element of `row` and `column` at
///   row * rowStride + column / run * outerStride + column % run
struct ResultMap {
  int64_t rowStride = 0;
  /// Columns that are neighbours in memory.
  int64_t run = 0;
  int64_t outerStride = 0;
  /// Elements from one batch to the next, by batch dimension.
  llvm::SmallVector<int64_t> batchStrides;

  /// Columns, up to `most`, that can be written at once.
  int64_t getVector(int64_t most) const;
  mlir::Value getOffset(KernelBuilder &b, mlir::Value row,
                        mlir::Value column) const;
};

/// result[batch](m, n) = round(sum over k of a[batch](m, k) * b[batch](n, k),
/// plus bias[m]).
struct Product {
  int64_t m = 0, n = 0, k = 0;
  Operand a, b;
  /// Of the operands, and of the result.
  mlir::Type element, result;
  llvm::SmallVector<int64_t> batch;
  ResultMap to;
  /// One number for each row (of element type), or none; with a stride for
  /// each batch dimension.
  bool hasBias = false;
  llvm::SmallVector<int64_t> biasBatchStrides;

  int64_t countBatches() const;
  /// The type of sums: f32, for f64 f64.
  mlir::Type getSumType() const;
  std::string getKey() const;
};

/// How a product is cut up.
struct Tiling {
  /// Of a block, and of a warp (tensor cores) or a thread (others).
  int64_t blockM, blockN, blockK;
  int64_t innerM, innerN;
  /// Tiles of the depth that are in shared memory at a time.
  int64_t stages;
  /// Blocks that share the depth of one tile.
  int64_t splits = 1;

  int64_t getUnits() const { return blockM / innerM * (blockN / innerN); }
};

/// Sets a product apart for tests: fixed tiling, a part left out.
struct ProductOptions {
  std::optional<Tiling> tiling;
  Sabotage sabotage = Sabotage::None;
};

/// Buffers of a product.
struct ProductOperands {
  KernelOperand a, b, result;
  std::optional<KernelOperand> bias;
};

/// The launches that compute `product`: on tensor cores for half types.
KernelLaunches emitProduct(const Product &product,
                           const ProductOperands &operands,
                           KernelModule &kernels,
                           const ProductOptions &options = {});

/// The tiling with the least predicted time.
Tiling chooseTiling(const Product &product);

/// What both kinds of kernels begin and end with.
class ProductKernel {
public:
  ProductKernel(const Product &product, const Tiling &tiling)
      : product(product), tiling(tiling) {}

  int64_t countTilesM() const;
  int64_t countTilesN() const;
  /// Tiles of the depth that one block adds up.
  int64_t countSteps() const;
  int64_t getGrid() const;
  /// Partial sums go to scratch memory, to be combined by another kernel.
  bool isSplit() const { return tiling.splits > 1; }
  /// Whether the last tile along a dimension is not whole.
  bool isRaggedK() const {
    return countSteps() * tiling.splits * tiling.blockK != product.k;
  }

protected:
  /// Finds the block's tile and the operands of its batch.
  void locate(KernelBuilder &b, mlir::ValueRange buffers);
  /// Writes sums of one row that are columns `column` and after it.
  void writeSums(KernelBuilder &b, llvm::ArrayRef<mlir::Value> sums,
                 mlir::Value row, mlir::Value column, mlir::Value exists);
  /// `sum` with the bias, in the type of the result.
  mlir::Value finish(KernelBuilder &b, mlir::Value sum, mlir::Value bias);
  mlir::Value loadBias(KernelBuilder &b, mlir::Value row);
  mlir::Value isInside(KernelBuilder &b, mlir::Value row, mlir::Value column);

  const Product &product;
  Tiling tiling;
  /// Of the batch (a, b, bias), and where results go.
  mlir::Value a, b, bias, result;
  ResultMap to;
  /// First row, column and depth of the block.
  mlir::Value row0, column0, depth0;
};

/// Printers of both kinds; threads of a block and bytes of shared memory.
class TensorCoreKernel : public ProductKernel {
public:
  TensorCoreKernel(const Product &product, const Tiling &tiling,
                   Sabotage sabotage);
  int64_t getThreads() const;
  int64_t getSharedBytes() const;
  void print(KernelBuilder &b, mlir::ValueRange buffers);

private:
  class Copier;
  class AsyncCopier;
  class RegisterCopier;
  std::unique_ptr<Copier> makeCopier(const Operand &operand,
                                     const SharedTile &tile, int64_t tileX);
  llvm::SmallVector<mlir::Value> printMainLoop(KernelBuilder &b);
  void printTile(KernelBuilder &b, mlir::Value stage,
                 llvm::MutableArrayRef<mlir::Value> sums);
  mlir::Value getFragmentOffset(KernelBuilder &b, bool isA, int64_t inner,
                                int64_t depth);
  bool isStaged() const;
  void writeDirectly(KernelBuilder &b, llvm::ArrayRef<mlir::Value> sums);
  void writeStaged(KernelBuilder &b, llvm::ArrayRef<mlir::Value> sums);
  int64_t stageBytes() const { return aTile.bytes() + bTile.bytes(); }

  Sabotage sabotage;
  SharedTile aTile, bTile;
  mlir::Value lane, warpM, warpN, shared;
};

class ThreadKernel : public ProductKernel {
public:
  ThreadKernel(const Product &product, const Tiling &tiling, Sabotage sabotage);
  int64_t getThreads() const { return tiling.getUnits(); }
  int64_t getSharedBytes() const;
  void print(KernelBuilder &b, mlir::ValueRange buffers);

private:
  int64_t elementBytes() const;
  int64_t unit() const { return chunkBytes / elementBytes(); }
  mlir::Value getCell(KernelBuilder &b, int64_t extent, mlir::Value k,
                      mlir::Value x);
  void deposit(KernelBuilder &b, const UnitReader &reader,
               const Operand &operand, int64_t extent, mlir::Value tile,
               llvm::ArrayRef<mlir::Value> values);
  void readInner(KernelBuilder &b, mlir::Value tile, int64_t extent, int64_t k,
                 mlir::Value x, int64_t inner,
                 llvm::SmallVectorImpl<mlir::Value> &out);
  void multiply(KernelBuilder &b, mlir::Value buffer,
                llvm::MutableArrayRef<mlir::Value> sums);

  Sabotage sabotage;
  mlir::Value threadM, threadN, shared;
};

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_PRODUCT_H
