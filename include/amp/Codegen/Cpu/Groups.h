//===- Groups.h - Kernels of the groups of a plan ---------------*- C++ -*-===//
//
// The printers as one: any group to kernels. The CPU's entries are made of
// them, and so are the generic kernels of other targets.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_GROUPS_H
#define AMP_CODEGEN_CPU_GROUPS_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "amp/Codegen/Plan/Fusion.h"

namespace amp::cpu {

/// Whether the printers fuse `op` as an elementwise operation.
bool isElementwise(mlir::Operation *op);
/// Bytes of one element in memory.
int64_t getStorageBytes(mlir::Type elementType);

/// Prints the kernels of groups.
class GroupKernels {
public:
  /// `registry`, which may be null, comes before the kernels of this room.
  /// `target` is named where there is no kernel ("the CPU").
  GroupKernels(const KernelRegistry *registry, llvm::StringRef target);

  /// `storageOf` numbers the memory that a value lies in. Fails with a
  /// diagnostic that names the operation that has no kernel.
  mlir::FailureOr<KernelCalls>
  emit(const plan::Group &group, KernelModule &kernels,
       llvm::function_ref<unsigned(mlir::Value)> storageOf) const;

private:
  const KernelRegistry *registry;
  KernelRegistry builtin;
  std::string target;
};

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_GROUPS_H
