//===- ConstantData.h - The bytes of constants ----------------------------===//
//
// Elements as kernels find them in memory.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_CONSTANTDATA_H
#define AMP_CODEGEN_CPU_CONSTANTDATA_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Support/LLVM.h"

namespace amp::cpu {

/// Fills `bytes` with the elements of `data`, row-major, bools as bytes. Fails
/// when the data is not there.
llvm::LogicalResult getElementBytes(mlir::ElementsAttr data,
                                    llvm::SmallVectorImpl<char> &bytes);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_CONSTANTDATA_H
