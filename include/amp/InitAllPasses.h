//===- InitAllPasses.h - Registers the passes the tools know --------------===//
//
// The one list of passes and pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_INITALLPASSES_H
#define AMP_INITALLPASSES_H

#include "amp/Conversion/OnnxDecompose/Passes.h"
#include "amp/Conversion/TrainDecompose/Passes.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Pipelines/Autocast.h"
#include "amp/Pipelines/Lower.h"
#include "amp/Pipelines/TrainingStep.h"
#include "mlir/Transforms/Passes.h"

namespace amp {

inline void registerAllPasses() {
  registerAmpPasses();
  onnx::registerOnnxDecomposePasses();
  onnx::registerOnnxPasses();
  train::registerTrainPasses();
  train::registerTrainDecomposePasses();
  registerAutocastPipeline();
  registerLowerPipelines();
  registerTrainingStepPipeline();
  mlir::registerTransformsPasses();
}

} // namespace amp

#endif // AMP_INITALLPASSES_H
