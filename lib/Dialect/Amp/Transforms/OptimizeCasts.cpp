//===- OptimizeCasts.cpp - Fewer and cheaper casts ------------------------===//
//
// Removes and shares casts, lets ops give the type that is wanted, and moves
// casts across data movement.
//
//===----------------------------------------------------------------------===//

#include "CastUtils.h"
#include "MoveCasts.h"
#include "RetargetResults.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"

namespace amp {
#define GEN_PASS_DEF_OPTIMIZECASTSPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

static SmallVector<CastOp> collectCasts(func::FuncOp function) {
  SmallVector<CastOp> casts;
  function.walk<WalkOrder::PreOrder>(
      [&](CastOp cast) { casts.push_back(cast); });
  return casts;
}

/// What a cast gives is at hand as this value; null when it is not.
static Value getSource(CastOp cast) {
  OpFoldResult folded = cast.fold(CastOp::FoldAdaptor(ArrayRef<Attribute>{}));
  if (auto value = dyn_cast_if_present<Value>(folded))
    return value;
  // A cast of the user that widens rounds nothing.
  auto widening = cast.getInput().getDefiningOp<onnx::CastOp>();
  if (widening && widening.getInput().getType() == cast.getType() &&
      holdsAllValuesOf(getElementType(widening.getOutput()),
                       getElementType(widening.getInput())))
    return widening.getInput();
  return {};
}

static void replaceAllUses(CastOp cast, Value value) {
  for (OpOperand &use : llvm::make_early_inc_range(cast->getUses()))
    replaceUse(use, value);
}

/// Adds to the number of the user's casts that are gone, for the report.
static void countRemovedCasts(func::FuncOp function, unsigned count) {
  StringRef name = AmpDialect::getRemovedCastsAttrName();
  auto before = function->getAttrOfType<IntegerAttr>(name);
  if (count)
    function->setAttr(name, Builder(function).getI64IntegerAttr(
                                count + (before ? before.getInt() : 0)));
}

/// Widening round trips and casts that change nothing. A graph output stays
/// apart from a value that has a public name of its own. The user's widening
/// cast goes, too, when nobody else reads it; gives the number of those.
static unsigned removeRoundTrips(func::FuncOp function) {
  unsigned numErased = 0, numUserCasts = 0;
  for (CastOp cast : collectCasts(function)) {
    Value source = getSource(cast);
    if (!source)
      continue;
    bool isPublic = !onnx::getValueName(cast.getResult()).empty();
    if (isPublic &&
        (isa<BlockArgument>(source) || !onnx::getValueName(source).empty()))
      continue;
    replaceAllUses(cast, source);
    auto widening = cast.getInput().getDefiningOp<onnx::CastOp>();
    cast.erase();
    ++numErased;
    if (!widening || !widening->use_empty())
      continue;
    widening.erase();
    ++numErased;
    ++numUserCasts;
  }
  countRemovedCasts(function, numUserCasts);
  return numErased;
}

/// Equal casts become the first of them.
static void shareCasts(func::FuncOp function) {
  CastBuilder builder(function.getContext());
  using Key = std::pair<std::pair<Value, Type>, unsigned>;
  llvm::DenseMap<Key, CastOp> known;
  for (CastOp cast : collectCasts(function)) {
    CastOp &first = known[{{cast.getInput(), cast.getType()}, cast.getClamp()}];
    if (!first) {
      first = cast;
      continue;
    }
    // Two graph outputs are two values.
    if (!onnx::getValueName(first.getResult()).empty() &&
        !onnx::getValueName(cast.getResult()).empty())
      continue;
    builder.hoist(first);
    replaceAllUses(cast, first);
  }
}

/// An op all of whose readers cast to one type gives that type itself, where an
/// attribute can say so.
static void retargetProducers(func::FuncOp function) {
  for (CastOp cast : collectCasts(function)) {
    Operation *producer = cast.getInput().getDefiningOp();
    DecisionAttr decision = producer ? getDecision(producer) : DecisionAttr();
    if (cast.use_empty() || cast.getClamp() || !decision ||
        isSettled(decision.getRule()) || !cast.getInput().hasOneUse() ||
        producer->getNumResults() != 1 ||
        failed(retargetResult(producer, getElementType(cast.getResult()))))
      continue;
    setDecision(
        producer,
        DecisionAttr::get(
            producer->getContext(), decision.getOpClass(),
            decision.getOperands(), {getElementType(cast.getResult())},
            DecisionRule::MinCut,
            "Nobody reads it in another type, and it rounds the same."));
    producer->getResult(0).setType(cast.getType());
    replaceAllUses(cast, producer->getResult(0));
  }
}

/// Backwards, so that a chain of casts goes as a whole.
static unsigned eraseDeadCasts(func::FuncOp function) {
  unsigned numErased = 0;
  auto casts = collectCasts(function);
  for (CastOp cast : llvm::reverse(casts))
    if (cast.use_empty()) {
      cast.erase();
      ++numErased;
    }
  return numErased;
}

static unsigned simplifyCasts(func::FuncOp function) {
  unsigned numErased = eraseDeadCasts(function);
  numErased += removeRoundTrips(function);
  numErased += eraseDeadCasts(function);
  shareCasts(function);
  return numErased + eraseDeadCasts(function);
}

namespace {

struct OptimizeCasts : amp::impl::OptimizeCastsPassBase<OptimizeCasts> {
  using OptimizeCastsPassBase::OptimizeCastsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    numRemoved += simplifyCasts(function);
    if (!moveCasts)
      return;
    retargetProducers(function);
    numMoved += amp::moveCasts(function);
    numRemoved += simplifyCasts(function);
  }
};

} // namespace
