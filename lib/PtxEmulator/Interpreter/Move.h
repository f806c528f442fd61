//===- Move.h - Handlers that only move values ------------------*- C++ -*-===//
// Changes of width that operands need.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_MOVE_H
#define AMP_PTXEMULATOR_MOVE_H

#include "Program.h"

namespace amp::ptx {

/// Between rows of 2, 4, 8 and 16 bytes a lane.
Handler getResizeHandler(uint32_t toBytes, uint32_t fromBytes, bool isSigned);
/// A 64-bit address from a 32-bit one plus `imm`.
void handleWidenAddress(Context &context, const Inst &inst);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_MOVE_H
