//===- InitAllDialects.h - Registers the dialects the tools know ----------===//
//
// The one list of dialects.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INITALLDIALECTS_H
#define AMP_INITALLDIALECTS_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/GradientRules.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"

namespace amp {

inline void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<AmpDialect, onnx::OnnxDialect, train::TrainDialect,
                  mlir::func::FuncDialect>();
  train::registerGradientRules(registry);
}

} // namespace amp

#endif // AMP_INITALLDIALECTS_H
