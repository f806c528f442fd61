//===- OnnxOps.R.cpp - Operators with these first letters -----------------===//
//
// Definitions of the generated operations, split by first letter to keep compile jobs small.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "RegisterOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.R.cpp.inc"

void amp::onnx::detail::registerOpsR(Dialect &dialect) {
  addAll<
#define GET_OP_LIST
#include "amp/Dialect/Onnx/IR/OnnxOps.R.cpp.inc"
      >(dialect);
}
