//===- Passes.h - Passes of the onnx dialect ------------------------------===//
//
// Generated declarations of the passes and their registration.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_TRANSFORMS_PASSES_H
#define AMP_DIALECT_ONNX_TRANSFORMS_PASSES_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace amp::onnx {

#define GEN_PASS_DECL
#include "amp/Dialect/Onnx/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "amp/Dialect/Onnx/Transforms/Passes.h.inc"

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_TRANSFORMS_PASSES_H
