//===- Codegen.h - From a step of primitives to CPU kernels ---------------===//
//
// Turns a function of primitives on static shapes into kernels and the entry
// that calls them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_CODEGEN_H
#define AMP_CODEGEN_CPU_CODEGEN_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "amp/Codegen/Plan/Entry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace amp::cpu {

/// How the plan is made. Nothing here changes the bits of a result except the
/// registry, whose contraction kernels may sum in another order.
struct CpuOptions {
  /// Kernels of the operations that the generic printers do not cover.
  const KernelRegistry *registry = nullptr;
  /// Constants of at most this many bytes become globals of the code, larger
  /// ones tensors of role `constant` that the artifact carries.
  int64_t inlineConstantBytes = 4096;
  /// Merge elementwise chains, and reductions with what surrounds them.
  bool fuse = true;
};

/// What a caller of an entry must know. The arena is aligned to 64.
struct CompiledEntry : plan::CompiledEntry {
  /// `int32_t symbol(void *const *tensors, void *workspace, const amp_host *)`.
  std::string symbol;
};

/// Generates the entry `amp_<function name>` and its kernels into `kernels`,
/// ready for the lowering to LLVM; entries of one module share kernels.
/// `function` has static shapes, one block, and primitives only; it is left as
/// it is. Fails with a diagnostic that names the operation that has no kernel.
mlir::FailureOr<CompiledEntry> generateEntry(mlir::func::FuncOp function,
                                             KernelModule &kernels,
                                             const CpuOptions &options);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_CODEGEN_H
