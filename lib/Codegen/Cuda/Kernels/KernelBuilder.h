//===- KernelBuilder.h - Short names for what GPU kernels consist of ------===//
//
// 32-bit index arithmetic, memory of both kinds, asynchronous copies, fragments
// of tensor cores, reductions of warps and blocks.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CUDA_KERNELS_KERNELBUILDER_H
#define AMP_LIB_CODEGEN_CUDA_KERNELS_KERNELBUILDER_H

#include "amp/Codegen/Cuda/KernelModule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace amp::cuda {

inline constexpr int64_t warpSize = 32;
/// Bytes of the widest access of one thread, and of a cell of shared memory
/// that the swizzle moves.
inline constexpr int64_t chunkBytes = 16;

/// What a test takes out of a kernel to see that it is missed.
enum class Sabotage { None, Barrier, Wait, Swizzle, Edge };

/// A matrix in shared memory: rows of `rowBytes`, whose chunks are exchanged so
/// that eight rows of one column lie in eight groups of banks.
struct SharedTile {
  int64_t rows, rowBytes;
  bool isSwizzled = true;

  int64_t bytes() const { return rows * rowBytes; }
  int64_t chunksPerRow() const { return rowBytes / chunkBytes; }
  /// Rows after which the exchange repeats.
  int64_t period() const;
};

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;

  /// Continues at the insertion point of `builder`, the end of a kernel.
  KernelBuilder(mlir::ImplicitLocOpBuilder &builder, KernelModule &kernels)
      : ImplicitLocOpBuilder(builder.getLoc(), builder), kernels(kernels) {}

  // Indices: i32, never negative, never wrapping.
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value add(Value a, Value b);
  Value add(Value a, int64_t b);
  /// a + b, where a may be negative.
  Value shift(Value a, Value b);
  Value shift(Value a, int64_t b) { return b ? shift(a, i32(b)) : a; }
  Value mul(Value a, int64_t b);
  /// a * b, where the product counts only if it did not wrap.
  Value wrappingMul(Value a, int64_t b);
  Value div(Value a, int64_t b);
  Value rem(Value a, int64_t b);
  /// a - b, that may be negative.
  Value sub(Value a, Value b);
  Value min(Value a, int64_t b);
  Value exclusiveOr(Value a, Value b);
  Value less(Value a, int64_t b);
  Value less(Value a, Value b);
  Value equals(Value a, int64_t b);
  /// Null stands for true.
  Value both(Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// As i64.
  Value widen(Value a);
  /// a * b + c in 64 bits; c may be null.
  Value address(Value a, int64_t b, Value c = Value());
  /// Indices of dimensions of `sizes` at `linear`.
  llvm::SmallVector<Value> delinearize(Value linear,
                                       llvm::ArrayRef<int64_t> sizes);

  Value f32(double value);
  Value zero(mlir::Type type);

  // Where the thread is.
  Value thread();
  Value block();
  Value lane() { return rem(thread(), warpSize); }

  // Memory.
  /// `pointer` moved by `bytes` (i32: not negative, or i64).
  Value at(Value pointer, Value bytes);
  Value at(Value pointer, int64_t bytes);
  Value load(Value pointer, mlir::Type type, int64_t alignment);
  void store(Value value, Value pointer, int64_t alignment);
  /// Dynamic shared memory of the block.
  Value shared();
  /// Offset of a chunk in a tile.
  Value swizzle(const SharedTile &tile, Value row, Value chunk);

  // Control.
  /// `body` where `condition` holds; always if it is null.
  void onlyIf(Value condition, llvm::function_ref<void()> body);
  /// A loop over [lo, hi) that carries values.
  llvm::SmallVector<Value> loop(
      Value lo, Value hi, int64_t step, llvm::ArrayRef<Value> carried,
      llvm::function_ref<llvm::SmallVector<Value>(Value, llvm::ArrayRef<Value>)>
          body);
  void barrier();
  void warpBarrier();

  // Asynchronous copies from global to shared memory.
  /// `bytes` is 4, 8 or 16; zeros are written where `condition` fails.
  void copyAsync(Value shared, Value global, int64_t bytes, Value condition);
  void commitCopies();
  /// Until at most `pending` groups of this thread's are under way.
  void waitForCopies(int64_t pending);

  // Tensor cores: 16 x 8 x 16 of f16 or bf16, sums in f32.
  /// Four 8 x 8 matrices of 16-bit elements; each lane names a row.
  std::array<Value, 4> loadMatrices(Value shared, bool transposed);
  /// d += a * b
  void multiplyAdd(llvm::MutableArrayRef<Value> d, llvm::ArrayRef<Value> a,
                   llvm::ArrayRef<Value> b, mlir::Type element);

  // Lanes and warps.
  /// `value` (32 or 64 bits) of the lane whose number differs by `mask`.
  Value shuffleXor(Value value, int64_t mask);
  using Combine = llvm::function_ref<Value(Value, Value)>;
  /// The combination over `width` neighbouring lanes, in each of them: halves
  /// first, so that the order is fixed.
  Value combineLanes(Value value, int64_t width, Combine combine);

private:
  KernelModule &kernels;
};

} // namespace amp::cuda

#endif // AMP_LIB_CODEGEN_CUDA_KERNELS_KERNELBUILDER_H
