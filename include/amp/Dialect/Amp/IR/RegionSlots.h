//===- RegionSlots.h - Which value crosses a region border where ----------===//
//
// Operand, argument, yielded value and result of ops with bodies, matched up.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_IR_REGIONSLOTS_H
#define AMP_DIALECT_AMP_IR_REGIONSLOTS_H

#include "mlir/IR/Value.h"

namespace amp {

/// The operand that has the element type of a body's argument: the initial
/// value of a carried value of Loop or Scan, or what is scanned or mapped over.
/// Null where there is none (Loop's counter, the body of an onnx.node).
mlir::OpOperand *getOperandOfArgument(mlir::BlockArgument argument);

/// The result that has the element type of a value the terminator `operand`
/// belongs to yields. Null where there is none (Loop's condition, func.return,
/// the body of an onnx.node).
mlir::OpResult getResultOfYielded(mlir::OpOperand &operand);

/// The argument that takes over a value yielded by Loop or Scan in the next
/// iteration; null where none does.
mlir::BlockArgument getCarriedArgument(mlir::OpOperand &yielded);

} // namespace amp

#endif // AMP_DIALECT_AMP_IR_REGIONSLOTS_H
