//===- Check.h - Whether a module has the form of an ONNX model -*- C++ -*-===//
// What the verifier cannot know: that everything in it can be written.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_CHECK_H
#define AMP_LIB_TARGET_ONNX_CHECK_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"

namespace amp::onnx_export {

/// Checks every operation of `function` and the types of its signature; emits
/// errors.
mlir::LogicalResult checkFunction(mlir::func::FuncOp function);

/// Checks the parts of onnx.model that only the exporter looks into.
mlir::LogicalResult checkModel(onnx::ModelOp model);

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_CHECK_H
