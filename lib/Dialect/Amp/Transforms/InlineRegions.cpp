//===- InlineRegions.cpp - Dissolves autocast regions ---------------------===//
//
// Moves the body of every amp.autocast to where the op stands.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"

namespace amp {
#define GEN_PASS_DEF_INLINEREGIONSPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

void amp::inlineAutocastRegions(Operation *root) {
  // Post-order: a body holds no region any more when its own turn comes.
  root->walk<WalkOrder::PostOrder>([](AutocastOp region) {
    Block *body = &region.getBody().front();
    Operation *yield = body->getTerminator();
    region->replaceAllUsesWith(yield->getOperands());
    yield->erase();
    region->getBlock()->getOperations().splice(region->getIterator(),
                                               body->getOperations());
    region.erase();
  });
}

namespace {

struct InlineRegions : amp::impl::InlineRegionsPassBase<InlineRegions> {
  void runOnOperation() override { inlineAutocastRegions(getOperation()); }
};

} // namespace
