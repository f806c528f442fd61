//===- OnnxOps.C.cpp - Operators with these first letters -----------------===//
//
// Definitions of the generated operations, split by first letter to keep compile jobs small.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "RegisterOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "amp/Dialect/Onnx/IR/OnnxOps.C.cpp.inc"

void amp::onnx::detail::registerOpsC(Dialect &dialect) {
  addAll<
#define GET_OP_LIST
#include "amp/Dialect/Onnx/IR/OnnxOps.C.cpp.inc"
      >(dialect);
}
