//===- AmpDialect.h - The amp dialect -------------------------------------===//
//
// Autocast regions, casts the tool made, and the decision attribute.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_IR_AMPDIALECT_H
#define AMP_DIALECT_AMP_IR_AMPDIALECT_H

#include "amp/Dialect/Amp/Policy/Policy.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace amp::detail {
mlir::FailureOr<OpClass> parseOpClass(mlir::AsmParser &parser);
} // namespace amp::detail

#include "amp/Dialect/Amp/IR/AmpDialect.h.inc"
#include "amp/Dialect/Amp/IR/AmpEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/Amp/IR/AmpAttrs.h.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/Amp/IR/AmpOps.h.inc"

namespace amp {

/// What was decided for `op`, null when nothing was.
DecisionAttr getDecision(mlir::Operation *op);
void setDecision(mlir::Operation *op, DecisionAttr decision);

/// Whether autocast may change values of this type: f16, bf16 and f32 tensors.
bool isCastable(mlir::Type type);

/// Whether every value of the element type `narrow` is one of `wide`, too.
bool holdsAllValuesOf(mlir::Type wide, mlir::Type narrow);

} // namespace amp

#endif // AMP_DIALECT_AMP_IR_AMPDIALECT_H
