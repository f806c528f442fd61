//===- amp-reduce.cpp - Makes failing graphs small ------------------------===//
//
// mlir-reduce that knows the dialects and the passes, and leaves ops out.
//
//===----------------------------------------------------------------------===//

#include "Passes.h"
#include "amp/InitAllDialects.h"
#include "amp/InitAllPasses.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  amp::registerAllPasses();
  amp::registerAmpReducePasses();
  mlir::DialectRegistry registry;
  amp::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
