//===- Passes.h - Passes that decompose train operations ------------------===//
//
// Generated declarations of the passes and their registration.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CONVERSION_TRAINDECOMPOSE_PASSES_H
#define AMP_CONVERSION_TRAINDECOMPOSE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace amp::train {

#define GEN_PASS_DECL
#include "amp/Conversion/TrainDecompose/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "amp/Conversion/TrainDecompose/Passes.h.inc"

} // namespace amp::train

#endif // AMP_CONVERSION_TRAINDECOMPOSE_PASSES_H
