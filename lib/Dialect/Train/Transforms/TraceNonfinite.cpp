//===- TraceNonfinite.cpp - Which node makes the first non-finite value ---===//
//
// The step up to its check, with a flag for every value it makes.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Train/Transforms/Passes.h"

namespace amp::train {
#define GEN_PASS_DEF_TRACENONFINITEPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class TraceNonfinitePass
    : public amp::train::impl::TraceNonfinitePassBase<TraceNonfinitePass> {
public:
  using TraceNonfinitePassBase::TraceNonfinitePassBase;
  void runOnOperation() override;
};

/// A value, and how it is told of.
struct Watched {
  Value value;
  std::string text;
};

bool isFloat(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

/// The node that an operation was made for: its own name, or where it is from.
std::string getNode(Operation *op) {
  if (StringRef name = onnx::getNodeName(op); !name.empty())
    return name.str();
  std::string found;
  op->getLoc()->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part); name && found.empty())
      found = name.getName().str();
    return WalkResult::advance();
  });
  return found;
}

std::string describe(Operation *op, bool isBackward) {
  StringRef type = onnx::getOpType(op);
  if (type.empty())
    type = op->getName().stripDialect();
  std::string node = getNode(op);
  std::string of = node.empty() ? "the loss" : "'" + node + "'";
  return ((isBackward ? "backward of " : "forward of ") + of + " (" + type +
          ")")
      .str();
}

} // namespace

/// What the step is given, then what it makes, in its order.
static SmallVector<Watched> watch(func::FuncOp step, CheckGradientsOp check) {
  SmallVector<Watched> watched;
  for (BlockArgument argument : step.getArguments()) {
    std::optional<Role> role = getArgumentRole(step, argument.getArgNumber());
    bool isGiven =
        role == Role::Input || role == Role::Label || role == Role::Parameter;
    if (isGiven && isFloat(argument))
      watched.push_back(
          {argument, "the " + getRoleName(*role).str() + " '" +
                         getArgumentName(step, argument.getArgNumber()).str() +
                         "'"});
  }
  Operation *loss = step.front().getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &op : step.front()) {
    if (&op == check)
      break;
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    bool isBackward = loss && loss->isBeforeInBlock(&op);
    for (Value result : op.getResults())
      if (isFloat(result))
        watched.push_back({result, describe(&op, isBackward)});
  }
  return watched;
}

void TraceNonfinitePass::runOnOperation() {
  func::FuncOp step = getOperation();
  auto checks = step.getOps<CheckGradientsOp>();
  if (checks.empty()) {
    step.emitError() << "nothing checks gradients, so there is nothing to "
                        "trace: run --train-add-optimizer first";
    return signalPassFailure();
  }
  SmallVector<Watched> watched = watch(step, *checks.begin());
  OpBuilder builder(step.front().getTerminator());
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (auto [number, one] : llvm::enumerate(watched)) {
    values.push_back(one.value);
    std::string name = "nonfinite." + std::to_string(number) + "." + one.text;
    attributes.push_back(
        getFactAttributes(&getContext(), {Role::Metric, name}));
  }
  auto flags = CheckGradientsOp::create(
      builder, step.getLoc(), SmallVector<Type>(2 + values.size(), scalar),
      values);
  setResults(step, SmallVector<Value>(flags.getFoundIn()), attributes);
  step.setSymName("locate_nonfinite");
  // Dropout goes where nobody reads it, which is not free of effects.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(step.front())))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  bool draws = !step.getOps<onnx::DropoutOp>().empty();
  eraseUnusedArguments(step, draws ? findArgument(step, "train.iteration")
                                   : BlockArgument());
}
