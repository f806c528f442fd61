//===- Passes.h - Passes of amp-reduce alone ------------------------------===//
//
// Generated declarations and their registration.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_TOOLS_AMP_REDUCE_PASSES_H
#define AMP_TOOLS_AMP_REDUCE_PASSES_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace amp {

#define GEN_PASS_DECL
#include "tools/amp-reduce/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "tools/amp-reduce/Passes.h.inc"

} // namespace amp

#endif // AMP_TOOLS_AMP_REDUCE_PASSES_H
