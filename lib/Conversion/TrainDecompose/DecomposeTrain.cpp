//===- DecomposeTrain.cpp - Write train operations as primitives ----------===//
//
// Runs the families of decompositions; exports want nothing left.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Conversion/TrainDecompose/Passes.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace amp::train {
#define GEN_PASS_DEF_DECOMPOSETRAINPASS
#include "amp/Conversion/TrainDecompose/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp::train;

namespace {

class DecomposeTrainPass
    : public amp::train::impl::DecomposeTrainPassBase<DecomposeTrainPass> {
public:
  using DecomposeTrainPassBase::DecomposeTrainPassBase;
  void runOnOperation() override;

private:
  LogicalResult checkNothingLeft();
};

} // namespace

LogicalResult DecomposeTrainPass::checkNothingLeft() {
  bool ok = true;
  getOperation()->walk([&](Operation *op) {
    if (!isa_and_nonnull<TrainDialect>(op->getDialect()))
      return;
    ok = false;
    op->emitOpError() << "has no form in ONNX, so the function can't be "
                         "exported";
  });
  return success(ok);
}

void DecomposeTrainPass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  populateAttentionPatterns(patterns);
  populateLossPatterns(patterns);
  populateNormalizationPatterns(patterns);
  populateOptimizerPatterns(patterns);
  populateRecurrentPatterns(patterns);
  populateScalingPatterns(patterns);
  populateSeedPatterns(patterns);
  populateSoftmaxPatterns(patterns);
  if (toOnnx) {
    populateContractionToOnnxPatterns(patterns);
    populateConvToOnnxPatterns(patterns);
    populatePoolingToOnnxPatterns(patterns);
  }
  // Decompositions alone: the rest of the graph stays as its author wrote it.
  GreedyRewriteConfig config;
  config.enableFolding(false)
      .enableConstantCSE(false)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  if (failed(
          applyPatternsGreedily(getOperation(), std::move(patterns), config)))
    return signalPassFailure();
  if (toOnnx && failed(checkNothingLeft()))
    signalPassFailure();
}
