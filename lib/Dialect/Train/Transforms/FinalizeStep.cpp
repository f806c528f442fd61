//===- FinalizeStep.cpp - The last touch to a training step ---------------===//
//
// Unused arguments go; the function gets the name the host knows.
//
//===----------------------------------------------------------------------===//

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
  StringRef key = TrainDialect::getAliasAttrName();
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  // What is written stays, even if nothing reads it.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto alias = function.getResultAttrOfType<IntegerAttr>(i, key))
      unused.reset(alias.getInt());

  Builder builder(&getContext());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto alias = function.getResultAttrOfType<IntegerAttr>(i, key)) {
      int64_t before = alias.getInt();
      int64_t dropped = llvm::count_if(
          unused.set_bits(), [&](int64_t number) { return number < before; });
      function.setResultAttr(i, key,
                             builder.getI64IntegerAttr(before - dropped));
    }
  if (failed(function.eraseArguments(unused)))
    return signalPassFailure();
  function.setSymName(name);
}
