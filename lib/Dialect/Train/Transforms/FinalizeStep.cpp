//===- FinalizeStep.cpp - The last touch to a training step ---------------===//
//
// Unused arguments go; the function gets the name the host knows.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "amp/Dialect/Train/Transforms/Passes.h"

namespace amp::train {
#define GEN_PASS_DEF_FINALIZESTEPPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp::train;

namespace {

class FinalizeStepPass
    : public amp::train::impl::FinalizeStepPassBase<FinalizeStepPass> {
public:
  using FinalizeStepPassBase::FinalizeStepPassBase;
  void runOnOperation() override;
};

} // namespace

void FinalizeStepPass::runOnOperation() {
  func::FuncOp function = getOperation();
  eraseUnusedArguments(function);
  function.setSymName(name);
}
