//===- Elementwise.h - The arithmetic of elementwise operators ------------===//
//
// What one element of the result is, given one element of each operand.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_ELEMENTWISE_H
#define AMP_CODEGEN_CPU_ELEMENTWISE_H

#include "Emitter.h"

namespace amp::cpu {

/// Whether `op` computes each element of its result from one element of each
/// operand, by a formula of this room.
bool isElementwise(mlir::Operation *op);

/// Whether the result is one of the numbers that go in, so that a half type
/// needs no rounding; what is worth computing again rather than keeping.
bool isExact(mlir::Operation *op);

/// The element of the result in compute type, rounded as its type says.
/// `operands` in compute type, as the operation has them.
mlir::Value emitElementwise(Emitter &e, mlir::Operation *op,
                            llvm::ArrayRef<mlir::Value> operands);

/// `x`, an element of type `from`, converted to type `to` as ONNX's Cast does;
/// both in compute type. What an integer type cannot hold saturates, NaN
/// becomes 0.
mlir::Value emitCast(Emitter &e, mlir::Value x, mlir::Type from, mlir::Type to);

/// The larger or smaller one; NaN if either is.
mlir::Value emitMax(Emitter &e, mlir::Value x, mlir::Value y, bool isUnsigned);
mlir::Value emitMin(Emitter &e, mlir::Value x, mlir::Value y, bool isUnsigned);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_ELEMENTWISE_H
