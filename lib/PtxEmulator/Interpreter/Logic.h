//===- Logic.h - Handlers of predicates -------------------------*- C++ -*-===//
// Those that other decode functions need.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_LOGIC_H
#define AMP_PTXEMULATOR_LOGIC_H

#include "Program.h"

namespace amp::ptx {

void handlePredicateNot(Context &context, const Inst &inst);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_LOGIC_H
