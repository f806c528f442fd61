//===- SplitStep.cpp - Where ranks exchange gradients ---------------------===//
//
// Forward and backward become one function, check and update another; what
// goes from one to the other is the host's to reduce over ranks.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace amp::train {
#define GEN_PASS_DEF_SPLITSTEPPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class SplitStepPass
    : public amp::train::impl::SplitStepPassBase<SplitStepPass> {
public:
  using SplitStepPassBase::SplitStepPassBase;
  void runOnOperation() override;
};

class Splitter {
public:
  explicit Splitter(func::FuncOp step) : step(step) {}

  LogicalResult run();

private:
  LogicalResult findCheck();
  void findPassed();
  void findCarried();
  void sortResults();
  void taint();
  void findLate();
  bool staysWithForward(unsigned result);
  void makeGradients();
  void makeApply();
  func::FuncOp clone(StringRef name, IRMapping &map);
  void clean(func::FuncOp function);

  /// A value of the first half that the second one reads.
  struct Passed {
    Value value;
    ValueFacts facts;
  };

  func::FuncOp step;
  CheckGradientsOp check;
  /// Those that ranks reduce: the loss, if there is one, then gradients.
  SmallVector<Passed> passed;
  /// Values that depend on the batch other than through `passed`.
  DenseSet<Value> tainted;
  /// Values that depend on what ranks reduce.
  DenseSet<Value> late;
  /// Numbers of the results of each half.
  SmallVector<unsigned> first, second;
};

const ValueFacts foundFacts = {Role::Metric, "ranks.found_inf"};

/// The parameter that an update uses `gradient` for.
BlockArgument getUpdatedParameter(Value gradient) {
  for (OpOperand &use : gradient.getUses())
    if (isa<SgdUpdateOp, AdamUpdateOp, LionUpdateOp, LambUpdateOp>(
            use.getOwner()) &&
        use.getOperandNumber() == 1)
      return dyn_cast<BlockArgument>(use.getOwner()->getOperand(0));
  return {};
}

} // namespace

LogicalResult Splitter::findCheck() {
  for (auto op : step.getOps<CheckGradientsOp>()) {
    if (check)
      return op.emitError()
             << "a second check of gradients in '" << step.getSymName()
             << "': a step is split at its only one";
    check = op;
  }
  if (!check)
    return step.emitError()
           << "nothing checks gradients, so there is no place to split: run "
              "--train-add-optimizer first";
  return success();
}

/// What ranks reduce.
void Splitter::findPassed() {
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (getResultRole(step, i) == Role::Loss)
      passed.push_back({step.front().getTerminator()->getOperand(i),
                        {Role::Loss, getResultName(step, i).str()}});
  llvm::SetVector<Value> gradients(check.getGradients().begin(),
                                   check.getGradients().end());
  for (auto [number, gradient] : llvm::enumerate(gradients)) {
    BlockArgument parameter = getUpdatedParameter(gradient);
    std::string of =
        parameter ? getArgumentName(step, parameter.getArgNumber()).str() : "";
    passed.push_back(
        {gradient,
         {Role::Gradient,
          "gradient." + (of.empty() ? std::to_string(number) : of), of}});
  }
}

/// Follows the batch through the step, up to what is passed.
void Splitter::taint() {
  DenseSet<Value> ends;
  for (const Passed &one : passed)
    ends.insert(one.value);
  for (BlockArgument argument : step.getArguments()) {
    std::optional<Role> role = getArgumentRole(step, argument.getArgNumber());
    if (role == Role::Input || role == Role::Label)
      tainted.insert(argument);
  }
  for (Operation &op : step.front()) {
    bool isTainted = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        isTainted |= tainted.contains(operand);
    });
    for (Value result : op.getResults())
      if (isTainted && !ends.contains(result))
        tainted.insert(result);
  }
}

/// Follows what is passed and the check to what only the second half may make.
void Splitter::findLate() {
  late.insert(check->result_begin(), check->result_end());
  for (const Passed &one : passed)
    late.insert(one.value);
  for (Operation &op : step.front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return late.contains(operand); }))
      late.insert(op.result_begin(), op.result_end());
}

/// Whether a result is made by the first half: not what waits for the check,
/// nor state that only the second half may change.
bool Splitter::staysWithForward(unsigned result) {
  std::optional<Role> role = getResultRole(step, result);
  if (role == Role::Loss || role == Role::Output)
    return true;
  Value value = step.front().getTerminator()->getOperand(result);
  return role == Role::Buffer && !late.contains(value);
}

void Splitter::sortResults() {
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    (staysWithForward(i) ? first : second).push_back(i);
}

/// Values the second half would need the batch for.
void Splitter::findCarried() {
  llvm::SetVector<Value> carried;
  DenseSet<Value> seen;
  for (const Passed &one : passed)
    seen.insert(one.value);
  SmallVector<Value> worklist;
  for (unsigned i : second)
    worklist.push_back(step.front().getTerminator()->getOperand(i));
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (tainted.contains(value) && !late.contains(value))
      carried.insert(value);
    else if (Operation *op = value.getDefiningOp())
      llvm::append_range(worklist, op->getOperands());
  }
  for (auto [number, value] : llvm::enumerate(carried))
    passed.push_back(
        {value, {Role::Metric, "carried." + std::to_string(number)}});
}

func::FuncOp Splitter::clone(StringRef name, IRMapping &map) {
  OpBuilder builder(step);
  auto function = cast<func::FuncOp>(builder.clone(*step, map));
  function.setSymName(name);
  return function;
}

void Splitter::clean(func::FuncOp function) {
  // Dropout goes, too, which is not free of effects: the other half has it.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  // Dropout draws by it, once it is decomposed.
  bool draws = !function.getOps<onnx::DropoutOp>().empty();
  eraseUnusedArguments(function, draws
                                     ? findArgument(function, "train.iteration")
                                     : BlockArgument());
}

void Splitter::makeGradients() {
  IRMapping map;
  func::FuncOp function = clone("train_gradients", map);
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, DictionaryAttr facts) {
    values.push_back(value);
    attributes.push_back(facts);
  };
  for (unsigned i : first)
    if (!function.getResultAttr(i, TrainDialect::getAliasAttrName()))
      add(terminator->getOperand(i), function.getResultAttrDict(i));
  MLIRContext *context = function.getContext();
  for (const Passed &one : passed)
    if (one.facts.role != Role::Loss)
      add(map.lookup(one.value), getFactAttributes(context, one.facts));
  add(map.lookup(check.getFoundInf()), getFactAttributes(context, foundFacts));
  for (unsigned i : first)
    if (function.getResultAttr(i, TrainDialect::getAliasAttrName()))
      add(terminator->getOperand(i), function.getResultAttrDict(i));
  setResults(function, values, attributes);
  clean(function);
}

void Splitter::makeApply() {
  IRMapping map;
  func::FuncOp function = clone("train_apply", map);
  Operation *terminator = function.front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i : second) {
    values.push_back(terminator->getOperand(i));
    attributes.push_back(function.getResultAttrDict(i));
  }
  setResults(function, values, attributes);
  for (const Passed &one : passed)
    map.lookup(one.value).replaceAllUsesWith(addArgument(
        function, cast<RankedTensorType>(one.value.getType()), one.facts));
  // One rank's infinity is everybody's.
  Value found = map.lookup(check.getFoundInf());
  BlockArgument anywhere = addArgument(
      function, cast<RankedTensorType>(found.getType()), foundFacts);
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(found);
  onnx::OnnxBuilder onnx(builder, function.getLoc());
  Value either = onnx.create("Max", {found, anywhere});
  found.replaceAllUsesExcept(either, either.getDefiningOp());
  clean(function);
}

LogicalResult Splitter::run() {
  if (failed(findCheck()))
    return failure();
  findPassed();
  taint();
  findLate();
  sortResults();
  findCarried();
  makeGradients();
  makeApply();
  step.erase();
  return success();
}

void SplitStepPass::runOnOperation() {
  auto step = getOperation().lookupSymbol<func::FuncOp>("train_step");
  if (!step) {
    getOperation().emitError() << "there is no function 'train_step' to split: "
                                  "run --build-training-step first";
    return signalPassFailure();
  }
  if (failed(Splitter(step).run()))
    signalPassFailure();
}
