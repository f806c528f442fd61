//===- Control.h - Handlers that change where lanes are ---------*- C++ -*-===//
// Those that end a function.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_CONTROL_H
#define AMP_PTXEMULATOR_CONTROL_H

#include "Program.h"

namespace amp::ptx {

void handleExit(Context &context, const Inst &inst);
void handleReturn(Context &context, const Inst &inst);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_CONTROL_H
