//===- EntryFunction.h - The function that runs a step --------------------===//
//
// Calls of kernels in order, with the addresses the memory plan gave.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_ENTRYFUNCTION_H
#define AMP_CODEGEN_CPU_ENTRYFUNCTION_H

#include "amp/Codegen/Cpu/KernelModule.h"

namespace amp::cpu {

/// Where a kernel's buffer is.
struct BufferPlace {
  enum Kind { Tensor, Arena, Global } kind;
  /// Number of the tensor, or offset in the arena.
  int64_t number = 0;
  /// The global's symbol.
  std::string symbol;
};

struct LocatedCall {
  mlir::func::FuncOp kernel;
  llvm::SmallVector<BufferPlace> buffers;
  int64_t iterations;
  int64_t grain;
};

/// Prints `int32_t symbol(tensors, workspace, host)`; returns 0 always.
void emitEntry(KernelModule &kernels, llvm::StringRef symbol,
               llvm::ArrayRef<LocatedCall> calls);

/// A constant of the module that holds `bytes`; one for equal bytes.
std::string getOrCreateGlobal(KernelModule &kernels,
                              llvm::ArrayRef<char> bytes);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_ENTRYFUNCTION_H
