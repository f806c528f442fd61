//===- MaterializeCasts.cpp - Makes the IR have the decided types ---------===//
//
// Sets result and argument types and inserts a cast for every use that wants
// another type than its value has now.
//
//===----------------------------------------------------------------------===//

#include "CastUtils.h"
#include "GraphTypes.h"
#include "RetargetResults.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/IR/RegionSlots.h"
#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Dialect/Amp/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace amp {
#define GEN_PASS_DEF_MATERIALIZECASTSPASS
#include "amp/Dialect/Amp/Transforms/Passes.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;

namespace {

/// A use and the element type it wants.
struct Demand {
  OpOperand *use;
  Type elementType;
};

/// Materializes the decisions of one function.
class Materializer {
public:
  Materializer(func::FuncOp function, bool keepIOTypes, bool clampConstants)
      : function(function), keepIOTypes(keepIOTypes),
        clampConstants(clampConstants), casts(function.getContext()) {}

  LogicalResult run(const OpFacts &facts);
  unsigned getNumCasts() const { return casts.getNumCasts(); }

private:
  void settleNamedTypes(const OpFacts &facts);
  LogicalResult checkCarriedValues();
  void chooseArgumentTypes();
  void collectDemands();
  void applyTypes();
  void satisfyDemands();
  void updateFunctionType();

  Type getNewElementType(Value value);
  Type getDemand(OpOperand &use);

  func::FuncOp function;
  bool keepIOTypes;
  bool clampConstants;
  /// Arguments of the function that get another type.
  llvm::DenseMap<Value, Type> argumentTypes;
  SmallVector<Demand> demands;
  CastBuilder casts;
};

} // namespace

LogicalResult Materializer::run(const OpFacts &facts) {
  inlineAutocastRegions(function);
  if (failed(checkCarriedValues()))
    return failure();
  settleNamedTypes(facts);
  if (!keepIOTypes)
    chooseArgumentTypes();
  collectDemands();
  applyTypes();
  satisfyDemands();
  if (!keepIOTypes)
    updateFunctionType();
  return success();
}

//===----------------------------------------------------------------------===//
// What each value gets and each use wants
//===----------------------------------------------------------------------===//

/// An op that names no result type has that of its operand: it must name one
/// when the two part.
static void nameResultType(Operation *op, DecisionAttr decision,
                           const OpFact &fact) {
  Type operand = decision.getOperandType(0), result = decision.getResultType(0);
  if (!operand)
    operand = onnx::getTensorElementType(op->getOperand(0).getType());
  if (!result)
    result = onnx::getTensorElementType(op->getResult(0).getType());
  if (operand != result)
    op->setAttr(fact.dtypeAttr,
                IntegerAttr::get(IntegerType::get(op->getContext(), 64),
                                 onnx::getDataType(result)));
}

/// Ops that name their result type give the decided type themselves where that
/// is exact; elsewhere the result stays and is cast.
void Materializer::settleNamedTypes(const OpFacts &facts) {
  function.walk([&](Operation *op) {
    DecisionAttr decision = getDecision(op);
    if (!decision || op->getNumResults() != 1)
      return;
    const OpFact &fact = facts.lookup(onnx::getOpType(op));
    if (fact.resultFollows && !op->hasAttr(fact.dtypeAttr))
      return nameResultType(op, decision, fact);
    if (!decision.getResultType(0) ||
        decision.getResultType(0) == getElementType(op->getResult(0)) ||
        fact.dtypeAttr.empty() ||
        succeeded(retargetResult(op, decision.getResultType(0))))
      return;
    setDecision(op, DecisionAttr::get(op->getContext(), decision.getOpClass(),
                                      decision.getOperands(), {Type()},
                                      decision.getRule(), decision.getNote(),
                                      decision.getBy()));
  });
}

/// The element type `value` will have; null if it is none autocast changes.
Type Materializer::getNewElementType(Value value) {
  if (!isCastable(value.getType()))
    return {};
  Type decided;
  if (auto result = dyn_cast<OpResult>(value)) {
    if (DecisionAttr decision = getDecision(result.getOwner()))
      decided = decision.getResultType(result.getResultNumber());
  } else if (OpOperand *operand =
                 getOperandOfArgument(cast<BlockArgument>(value))) {
    if (DecisionAttr decision = getDecision(operand->getOwner()))
      decided = decision.getOperandType(operand->getOperandNumber());
  } else {
    decided = argumentTypes.lookup(value);
  }
  return decided ? decided : getElementType(value);
}

/// The element type a use wants, null where it takes what comes.
Type Materializer::getDemand(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<func::ReturnOp>(op) && !keepIOTypes)
    return {};
  if (op->hasTrait<OpTrait::IsTerminator>())
    if (OpResult result = getResultOfYielded(use)) {
      // Elements of sequences keep the type the sequence has.
      Type type = getNewElementType(result);
      return type ? type : onnx::getTensorElementType(result.getType());
    }
  DecisionAttr decision = getDecision(op);
  Type decided =
      decision ? decision.getOperandType(use.getOperandNumber()) : Type();
  return decided ? decided : getElementType(use.get());
}

/// A carried value is operand, argument, yielded value and result at once, so
/// it has one type.
LogicalResult Materializer::checkCarriedValues() {
  WalkResult result = function.walk([&](Operation *terminator) -> WalkResult {
    if (!isa<onnx::YieldOp>(terminator))
      return WalkResult::advance();
    for (OpOperand &yielded : terminator->getOpOperands()) {
      BlockArgument argument = getCarriedArgument(yielded);
      OpResult carried = getResultOfYielded(yielded);
      if (!argument || !carried)
        continue;
      Type before = getNewElementType(argument);
      Type after = getNewElementType(carried);
      if (before == after)
        continue;
      return terminator->getParentOp()->emitOpError()
             << "expects one type for the carried value of result #"
             << carried.getResultNumber() << ", but its decision says "
             << before << " for the operand and " << after << " for the result";
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// An argument becomes what all its users want, if that is one type.
void Materializer::chooseArgumentTypes() {
  for (BlockArgument argument : function.getArguments()) {
    if (!isCastable(argument.getType()) || argument.use_empty() ||
        function.getArgAttr(argument.getArgNumber(),
                            onnx::OnnxDialect::getDefaultAttrName()))
      continue;
    Type wanted = getDemand(*argument.use_begin());
    if (wanted && llvm::all_of(argument.getUses(), [&](OpOperand &use) {
          return getDemand(use) == wanted;
        }))
      argumentTypes[argument] = wanted;
  }
}

void Materializer::collectDemands() {
  function.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!isCastable(use.get().getType()))
        continue;
      Type wanted = getDemand(use);
      if (wanted && wanted != getNewElementType(use.get()))
        demands.push_back({&use, wanted});
    }
  });
}

//===----------------------------------------------------------------------===//
// Changing the IR
//===----------------------------------------------------------------------===//

void Materializer::applyTypes() {
  SmallVector<std::pair<Value, Type>> changes;
  auto note = [&](Value value) {
    Type elementType = getNewElementType(value);
    if (elementType && elementType != getElementType(value))
      changes.push_back({value, elementType});
  };
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
    if (DecisionAttr decision = getDecision(op))
      if (llvm::any_of(decision.getOperands(),
                       llvm::IsaPred<Float16Type, BFloat16Type>))
        keepFloat32Inside(op);
  });
  SmallVector<Value> changed;
  for (auto [value, elementType] : changes) {
    value.setType(onnx::withElementType(value.getType(), elementType));
    changed.push_back(value);
  }
  updateDeclaredTypes(function, changed);
}

void Materializer::satisfyDemands() {
  for (auto [use, elementType] : demands) {
    Value value = use->get();
    bool clamp = clampConstants && onnx::getConstantValue(value) &&
                 !holdsAllValuesOf(elementType, getElementType(value));
    replaceUse(*use, casts.getCast(value, elementType, clamp));
  }
}

void Materializer::updateFunctionType() {
  Operation *terminator = function.getBody().front().getTerminator();
  function.setType(FunctionType::get(function.getContext(),
                                     function.getBody().getArgumentTypes(),
                                     terminator->getOperandTypes()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether ops wait for a decision, and no op of the function has one.
static bool lacksDecisions(func::FuncOp function) {
  bool hasCandidates = false;
  WalkResult result = function.walk([&](Operation *op) {
    if (getDecision(op))
      return WalkResult::interrupt();
    hasCandidates |= isa<onnx::SchemaOpInterface>(op) &&
                     (llvm::any_of(op->getOperandTypes(), isCastable) ||
                      llvm::any_of(op->getResultTypes(), isCastable));
    return WalkResult::advance();
  });
  return hasCandidates && !result.wasInterrupted();
}

namespace {

struct MaterializeCasts
    : amp::impl::MaterializeCastsPassBase<MaterializeCasts> {
  using MaterializeCastsPassBase::MaterializeCastsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (lacksDecisions(function)) {
      function.emitError("expects operations with decisions, but none has one: "
                         "run amp-assign-precision first");
      return signalPassFailure();
    }
    Materializer materializer(function, keepIOTypes, clampConstants);
    if (failed(materializer.run(OpFacts::builtin())))
      return signalPassFailure();
    numCasts += materializer.getNumCasts();
  }
};

} // namespace
