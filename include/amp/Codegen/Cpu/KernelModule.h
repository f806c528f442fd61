//===- KernelModule.h - What a kernel is, and who provides one ------------===//
//
// The module that kernels are printed into, the calls of a step, and the
// registry of kernels for single operations.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_KERNELMODULE_H
#define AMP_CODEGEN_CPU_KERNELMODULE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include <functional>

namespace amp::cpu {

/// Lanes of a vector, on every target: results do not depend on the machine.
inline constexpr int64_t lanes = 16;

/// The module of a step's kernels.
///
/// A kernel is `func.func private @name(!llvm.ptr..., i64 lo, i64 hi)`: one
/// pointer per buffer, none of which overlaps another one that is written
/// (`llvm.noalias`), and the range of the parallel iteration to run. Its body
/// is scf, arith, math, vector (1-d) and llvm operations: what
/// `convert-to-llvm` covers. Tensors are dense and row-major in ONNX's order;
/// memory of a tensor holds f16, bf16, f32, f64, i64, i32, i8 as they are, and
/// i1 as one byte of 0 or 1. Tensors and scratch are aligned to 64 bytes when
/// they lie in the arena, and to their element type otherwise.
class KernelModule {
public:
  explicit KernelModule(mlir::ModuleOp module);

  using Body = llvm::function_ref<void(mlir::ImplicitLocOpBuilder &builder,
                                       mlir::ValueRange buffers, mlir::Value lo,
                                       mlir::Value hi)>;

  /// The kernel for `key`, printed by `body` unless there is one already. The
  /// key says all that the code depends on: operation, shapes, types, options.
  /// `name` is a readable beginning of the symbol.
  mlir::func::FuncOp getOrCreate(llvm::StringRef key, llvm::StringRef name,
                                 unsigned numBuffers, Body body);

  mlir::ModuleOp getModule() const { return module; }

  /// `pointer` as a memref of static, row-major shape, for printers that
  /// prefer memref operations.
  static mlir::Value asMemRef(mlir::ImplicitLocOpBuilder &builder,
                              mlir::Value pointer, mlir::MemRefType type);

private:
  mlir::ModuleOp module;
  llvm::StringMap<mlir::func::FuncOp> byKey;
};

/// What a kernel is given for a buffer: a tensor of the step (an operand or a
/// result of the operation at hand), or a part of the scratch memory that the
/// operation asked for.
struct KernelOperand {
  KernelOperand(mlir::Value value) : value(value) {}
  static KernelOperand scratch(unsigned index) {
    KernelOperand operand((mlir::Value()));
    operand.scratchIndex = index;
    return operand;
  }
  mlir::Value value;
  unsigned scratchIndex = 0;
};

/// One call: the range [0, iterations) cut into pieces of `grain`, each piece
/// one `kernel(operands..., lo, hi)` on some thread.
struct KernelCall {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<KernelOperand> operands;
  int64_t iterations = 1;
  int64_t grain = 1;
};

/// The calls of one operation, in order; a call starts when the one before it
/// has ended.
struct KernelCalls {
  llvm::SmallVector<KernelCall> calls;
  /// Sizes in bytes of the scratch buffers, alive during these calls only.
  llvm::SmallVector<int64_t> scratch;
};

/// Prints the kernels of `op`. Fails with a diagnostic at `op`.
using KernelEmitter = std::function<mlir::FailureOr<KernelCalls>(
    mlir::Operation *op, KernelModule &kernels)>;

/// Kernels by operation name. A provider of contractions adds `train.matmul`,
/// `onnx.Conv` and the like.
class KernelRegistry {
public:
  void add(llvm::StringRef operationName, KernelEmitter emitter) {
    emitters[operationName] = std::move(emitter);
  }
  const KernelEmitter *lookup(mlir::Operation *op) const {
    auto found = emitters.find(op->getName().getStringRef());
    return found == emitters.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<KernelEmitter> emitters;
};

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_KERNELMODULE_H
