//===- AbsorbTransposes.h - Transposes around matrix products -------------===//
//
// A product reads and writes matrices either way round at no cost.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_ABSORBTRANSPOSES_H
#define AMP_CODEGEN_CPU_ABSORBTRANSPOSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace amp::cpu {

/// Lets train.matmul read what its operands' transposes read, and write what a
/// transpose of its result alone would write. Every sum keeps its order.
void absorbTransposes(mlir::func::FuncOp function);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_ABSORBTRANSPOSES_H
