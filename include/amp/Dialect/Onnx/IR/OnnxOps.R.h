//===- OnnxOps.R.h - Operators with these first letters -------------------===//
//
// Generated operation classes; code that treats operators alike uses OnnxSpecs.h instead.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_IR_ONNXOPS_R_H
#define AMP_DIALECT_ONNX_IR_ONNXOPS_R_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h.inc"

#endif // AMP_DIALECT_ONNX_IR_ONNXOPS_R_H
