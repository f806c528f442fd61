//===- OnnxDialect.h - The onnx dialect -----------------------------------===//
//
// Dialect, types, attributes and the operations that are not operators.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_IR_ONNXDIALECT_H
#define AMP_DIALECT_ONNX_IR_ONNXDIALECT_H

#include "amp/Dialect/Onnx/IR/OnnxSpecs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace amp::onnx::detail {
mlir::ParseResult parseSchemaOp(mlir::OpAsmParser &parser, mlir::OperationState &result, const OpSpec &spec);
void printSchemaOp(mlir::OpAsmPrinter &printer, mlir::Operation *op);
mlir::LogicalResult verifyTypeVariables(mlir::Operation *op);
} // namespace amp::onnx::detail

#include "amp/Dialect/Onnx/IR/OnnxDialect.h.inc"
#include "amp/Dialect/Onnx/IR/OnnxInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.h.inc"

namespace amp::onnx {

/// The ONNX operator name of `op` ("MatMul"): of a schema op, or an onnx.node's op_type; empty for other operations.
llvm::StringRef getOpType(mlir::Operation *op);

/// The node's name, empty when it has none.
llvm::StringRef getNodeName(mlir::Operation *op);

/// The value's name as the file spells it, empty when it has none.
llvm::StringRef getValueName(mlir::Value value);

/// Names the value of one result, keeping the names of the op's other results.
void setValueName(mlir::OpResult result, llvm::StringRef name);

/// Operands of a schema op by formal input position: one per formal, variadic ones spread out, null where absent. Trailing
/// absent ones are left out.
llvm::SmallVector<mlir::Value> getPositionalInputs(mlir::Operation *op);

/// Results by formal output position; null where absent.
llvm::SmallVector<mlir::Value> getPositionalOutputs(mlir::Operation *op);

/// Index into `spec.inputs` of the formal that position `position` belongs to.
unsigned getFormalOfPosition(llvm::ArrayRef<FormalSpec> formals, unsigned position);

/// Formal input of operand `operandIndex` of a schema op.
unsigned getFormalOfOperand(mlir::Operation *op, unsigned operandIndex);

/// Formal output of result `resultIndex` of a schema op.
unsigned getFormalOfResult(mlir::Operation *op, unsigned resultIndex);

/// Fills `state` for the operator `spec` with operands and results by position (null where absent; `resultTypes` likewise).
/// Attributes and regions are the caller's. Fails when positions do not fit the formals.
mlir::LogicalResult buildSchemaOp(mlir::OperationState &state, const OpSpec &spec, llvm::ArrayRef<mlir::Value> inputs,
                                  llvm::ArrayRef<mlir::Type> resultTypes);

/// The constant behind `value`: an onnx.initializer's tensor, or an onnx.Constant's (in whichever attribute it stands), or null.
mlir::ElementsAttr getConstantValue(mlir::Value value);

/// Elements of a small integer constant, if `value` is one.
std::optional<llvm::SmallVector<int64_t>> getConstantInts(mlir::Value value);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_IR_ONNXDIALECT_H
