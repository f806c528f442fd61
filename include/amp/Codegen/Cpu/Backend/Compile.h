//===- Compile.h - Kernels to machine code ----------------------*- C++ -*-===//
// Lowers a module of kernels through LLVM to object files in memory.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_BACKEND_COMPILE_H
#define AMP_CODEGEN_CPU_BACKEND_COMPILE_H

#include "amp/Codegen/Cpu/Backend/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include <vector>

namespace amp::cpu {

/// The bytes of one ELF object file.
using ObjectFile = llvm::SmallVector<char, 0>;

/// What a context must know before kernels are built in it: the dialects that
/// kernels consist of, and how they become LLVM IR.
void registerBackend(mlir::DialectRegistry &registry);

/// Compiles `kernels`, which is consumed: func.func over scf, cf, arith, math,
/// vector, memref (static shapes, passed as bare pointers) and the LLVM
/// dialect. Private functions are not visible outside of the objects taken
/// together. `shards` > 1 compiles on as many threads; the objects belong
/// together.
///
/// f16 and bf16 values may be loaded, stored, selected and converted, not
/// computed with. Conversions round once, to nearest even, and keep subnormals
/// and NaN, on every target.
///
/// Says what failed and returns failure when a function does not lower.
mlir::FailureOr<std::vector<ObjectFile>>
compileToObjects(mlir::ModuleOp kernels, const CpuTarget &target,
                 unsigned shards = 1);

/// Rewrites the conversions between half types and wider ones that `target`
/// has no exact instruction for.
void expandHalfConversions(mlir::ModuleOp kernels, const CpuTarget &target);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_BACKEND_COMPILE_H
