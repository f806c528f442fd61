//===- Code.h - Short names for the operations kernels consist of ---------===//
//
// Pointers, vectors of 16 lanes, masks for edges, and loops.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_CODE_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_CODE_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace amp::cpu {

/// A type as text, for keys of kernels.
std::string spell(mlir::Type type);

/// Builds code at the insertion point of a builder. Indices are i64; pointers
/// are offset by elements.
class Code {
public:
  explicit Code(mlir::ImplicitLocOpBuilder &builder) : builder(builder) {}

  mlir::Value number(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, int64_t b);
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value equals(mlir::Value a, int64_t b);
  mlir::Value less(mlir::Value a, mlir::Value b);
  mlir::Value less(mlir::Value a, int64_t b) { return less(a, number(b)); }

  /// `pointer + index` in elements of `element`.
  mlir::Value at(mlir::Value pointer, mlir::Value index, mlir::Type element);
  mlir::Value at(mlir::Value pointer, int64_t index, mlir::Type element);
  mlir::Value load(mlir::Value pointer, mlir::Type element);
  void store(mlir::Value value, mlir::Value pointer);

  mlir::VectorType vector(mlir::Type element, int64_t size = lanes);
  mlir::Value zeros(mlir::Type element, int64_t size = lanes);
  mlir::Value splat(mlir::Value scalar);
  /// The first `count` elements; the other lanes are zero and not read.
  mlir::Value loadVector(mlir::Value pointer, mlir::Type element,
                         int64_t count = lanes, int64_t size = lanes);
  /// Stores the first `count` elements.
  void storeVector(mlir::Value value, mlir::Value pointer,
                   int64_t count = lanes);
  mlir::Value shuffle(mlir::Value a, mlir::Value b,
                      llvm::ArrayRef<int64_t> from);
  /// f16, bf16 or f32 to `element`, or the other way; nothing when it fits.
  mlir::Value convert(mlir::Value value, mlir::Type element);

  /// Two vectors of 16-bit elements as one of pairs in 32 bits.
  mlir::Value makePairs(mlir::Value low, mlir::Value high);

  /// Memory of this call for `size` elements, aligned to 64 bytes. Only at the
  /// start of a kernel.
  mlir::Value allocate(int64_t size, mlir::Type element);

  /// A small table of numbers, in memory of this call.
  mlir::Value table(llvm::ArrayRef<int64_t> numbers);
  mlir::Value lookUp(mlir::Value table, mlir::Value index);

  void loop(mlir::Value lo, mlir::Value hi, int64_t step,
            llvm::function_ref<void(mlir::Value index)> body);
  /// A loop that hands `values` from one turn to the next.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value lo, mlir::Value hi, int64_t step, mlir::ValueRange values,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index,
                                                         mlir::ValueRange)>
           body);
  void branch(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);
  /// `general` for every index but `last`, for which `special` is printed; one
  /// of them may be known to be all there is.
  void splitLast(mlir::Value index, int64_t count, bool lastDiffers,
                 llvm::function_ref<void(bool isLast)> body);

  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type f64() { return builder.getF64Type(); }
  mlir::Type i32() { return builder.getI32Type(); }

  mlir::ImplicitLocOpBuilder &builder;

private:
  mlir::Value mask(int64_t count, int64_t size);
};

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_CODE_H
