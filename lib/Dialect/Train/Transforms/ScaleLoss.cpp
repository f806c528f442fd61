//===- ScaleLoss.cpp - Start backward from the loss scale -----------------===//
//
// The seed is scaled, in float32, not the loss.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "amp/Dialect/Train/Transforms/Passes.h"

namespace amp::train {
#define GEN_PASS_DEF_SCALELOSSPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class ScaleLossPass
    : public amp::train::impl::ScaleLossPassBase<ScaleLossPass> {
public:
  using ScaleLossPassBase::ScaleLossPassBase;
  void runOnOperation() override;
};

} // namespace

/// The number backward starts from, in the seed's type.
static Value buildSeed(SeedOp seed, Value scale, const TrainingConfig &config) {
  OpBuilder builder(seed);
  onnx::OnnxBuilder onnx(builder, seed.getLoc());
  auto type = cast<RankedTensorType>(seed.getType());
  Value value = scale ? scale : onnx.scalar(1, builder.getF32Type());
  if (config.accumulate > 1)
    value = onnx.div(value, onnx.scalarLike(config.accumulate, value));
  return onnx.cast(onnx.reshape(value, type.getShape()), type.getElementType());
}

void ScaleLossPass::runOnOperation() {
  func::FuncOp function = getOperation();
  FailureOr<TrainingConfig> loaded = loadConfig(function, config);
  if (failed(loaded))
    return signalPassFailure();
  SmallVector<SeedOp> seeds(function.getOps<SeedOp>());
  if (seeds.empty()) {
    function.emitError() << "there is no gradient to scale: run "
                            "--train-differentiate first";
    return signalPassFailure();
  }
  Value scale;
  if (loaded->scalesLoss()) {
    auto type = RankedTensorType::get({}, Float32Type::get(&getContext()));
    float initial = loaded->lossScale.initScale;
    scale = addArgument(function, type,
                        {Role::ScalerState, "scaler.scale", "",
                         DenseElementsAttr::get(type, initial)});
  }
  for (SeedOp seed : seeds) {
    seed.replaceAllUsesWith(buildSeed(seed, scale, *loaded));
    seed.erase();
  }
}
