//===- amp-opt.cpp - Runs passes on model graphs --------------------------===//
//
// Reads and writes .mlir, bytecode and .onnx.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<amp::AmpDialect, amp::onnx::OnnxDialect, mlir::func::FuncDialect>();
  amp::registerAmpPasses();
  amp::onnx::registerOnnxPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "amp-opt: mixed precision for model graphs\n", registry));
}
