//===- TrainOps.cpp - Registration of the train operations ----------------===//
//
// Verifiers are beside their group: GradientOps.cpp, UpdateOps.cpp.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace amp::train;

#define GET_OP_CLASSES
#include "amp/Dialect/Train/IR/TrainOps.cpp.inc"

void TrainDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "amp/Dialect/Train/IR/TrainOps.cpp.inc"
      >();
}
