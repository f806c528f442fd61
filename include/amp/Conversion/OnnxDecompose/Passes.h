//===- Passes.h - Composite onnx operations to primitives -----------------===//
//
// Generated declaration of the pass and its registration.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CONVERSION_ONNXDECOMPOSE_PASSES_H
#define AMP_CONVERSION_ONNXDECOMPOSE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include <string>

namespace amp::onnx {

#define GEN_PASS_DECL
#include "amp/Conversion/OnnxDecompose/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "amp/Conversion/OnnxDecompose/Passes.h.inc"

} // namespace amp::onnx

#endif // AMP_CONVERSION_ONNXDECOMPOSE_PASSES_H
