//===- Codegen.h - From a step of primitives to CPU kernels ---------------===//
//
// Turns a function of primitives on static shapes into kernels and the entry
// that calls them.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_CODEGEN_H
#define AMP_CODEGEN_CPU_CODEGEN_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

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

/// One tensor of an entry, in the order of the pointers it is called with.
struct TensorInfo {
  std::string name;
  /// A role of the train dialect by its name, or `constant`.
  std::string role;
  /// The parameter that a gradient or a state belongs to.
  std::string of;
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// What a constant holds; null for everything else.
  mlir::ElementsAttr data;
};

/// What a caller of an entry must know.
struct CompiledEntry {
  std::string name;
  /// `int32_t symbol(void *const *tensors, void *workspace, const amp_host *)`.
  std::string symbol;
  /// Arguments, then results that alias no argument, then constants.
  std::vector<TensorInfo> tensors;
  /// Bytes of the arena, aligned to 64.
  uint64_t workspace = 0;
  /// Which operations became which kernels.
  std::string plan;
  /// Where each intermediate lies in the arena, and the peak.
  std::string memory;
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
