//===- PrintPlan.h - The plan as text -------------------------------------===//
//
// For --print-plan and --print-memory.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_PRINTPLAN_H
#define AMP_CODEGEN_CPU_PRINTPLAN_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "amp/Codegen/Plan/Storage.h"

namespace amp::cpu {

/// Groups in order: kind, space, operations, what is read and written, and the
/// kernels they became.
std::string printPlan(llvm::StringRef entry, llvm::ArrayRef<plan::Group> groups,
                      llvm::ArrayRef<llvm::ArrayRef<KernelCall>> calls);

/// Slots of the arena by offset, with what they hold and when.
std::string
printMemory(llvm::StringRef entry, const plan::StorageMap &storages,
            const llvm::DenseMap<unsigned, plan::Lifetime> &lifetimes,
            const llvm::DenseMap<unsigned, int64_t> &offsets,
            const plan::ArenaLayout &layout);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_PRINTPLAN_H
