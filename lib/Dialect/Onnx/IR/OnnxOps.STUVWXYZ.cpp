//===- OnnxOps.STUVWXYZ.cpp - Operators with these first letters -----------------===//
//
// Definitions of the generated operations, split by first letter to keep compile jobs small.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "RegisterOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.cpp.inc"

void amp::onnx::detail::registerOpsSTUVWXYZ(Dialect &dialect) {
  addAll<
#define GET_OP_LIST
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.cpp.inc"
      >(dialect);
}
