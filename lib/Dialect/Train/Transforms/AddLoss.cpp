//===- AddLoss.cpp - Compute the configured loss --------------------------===//
//
// Finds the values the loss is of, adds labels, and says what every argument
// and result is.
//
//===----------------------------------------------------------------------===//

#include "LossTerms.h"
#include "StepFunction.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace amp::train {
#define GEN_PASS_DEF_ADDLOSSPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

static constexpr StringLiteral lossNodePrefix = "train.loss.";

namespace {

class AddLossPass : public amp::train::impl::AddLossPassBase<AddLossPass> {
public:
  using AddLossPassBase::AddLossPassBase;
  void runOnOperation() override;

private:
  FailureOr<Value> findValue(const LossTerm &term);
  FailureOr<Value> getLabels(const LossTerm &term, Value logits);
  FailureOr<Value> buildTerm(const LossTerm &term);
  FailureOr<Value> buildLoss(const TrainingConfig &config);
  void setRoles();
  LogicalResult keepOutputs(const TrainingConfig &config);
};

} // namespace

/// A value of the function by the name the file gives it.
FailureOr<Value> AddLossPass::findValue(const LossTerm &term) {
  func::FuncOp function = getOperation();
  Operation *terminator = function.front().getTerminator();
  SmallVector<StringRef> outputs;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    outputs.push_back(getResultName(function, i));
    if (outputs.back() == term.logits)
      return terminator->getOperand(i);
  }
  if (BlockArgument argument = findArgument(function, term.logits))
    return Value(argument);
  for (Operation &op : function.front())
    for (Value result : op.getResults())
      if (onnx::getValueName(result) == term.logits)
        return result;
  return function.emitError()
         << "'" << term.path << "': no value is called '" << term.logits
         << "'; the outputs are " << llvm::join(outputs, ", ");
}

/// The labels: an input of that name, or a new argument.
FailureOr<Value> AddLossPass::getLabels(const LossTerm &term, Value logits) {
  func::FuncOp function = getOperation();
  RankedTensorType type = getLabelType(function, term, logits);
  if (!type)
    return failure();
  BlockArgument argument = findArgument(function, term.labels);
  if (!argument)
    return Value(addArgument(function, type, {Role::Label, term.labels}));
  auto found = dyn_cast<RankedTensorType>(argument.getType());
  bool fits = found && found.getShape() == type.getShape() &&
              (found == type || (type.getElementType().isInteger(64) &&
                                 found.getElementType().isInteger(32)));
  if (!fits)
    return function.emitError()
           << "'" << term.path << ".labels': the input '" << term.labels
           << "' is a " << argument.getType() << ", but the labels are a "
           << type;
  if (argument.use_empty())
    setArgumentFacts(function, argument.getArgNumber(),
                     {Role::Label, term.labels});
  return Value(argument);
}

FailureOr<Value> AddLossPass::buildTerm(const LossTerm &term) {
  func::FuncOp function = getOperation();
  FailureOr<Value> logits = findValue(term);
  if (failed(logits))
    return failure();
  Value labels;
  if (term.kind != LossTerm::Kind::Output) {
    FailureOr<Value> found = getLabels(term, *logits);
    if (failed(found))
      return failure();
    labels = *found;
  } else if (auto type = dyn_cast<RankedTensorType>(logits->getType());
             !type || !type.getElementType().isF32() ||
             !type.hasStaticShape() || type.getNumElements() != 1) {
    return function.emitError()
           << "'" << term.path << "': '" << term.logits << "' is a "
           << logits->getType() << ", but the loss is one float32 number";
  }
  OpBuilder builder(function.front().getTerminator());
  onnx::OnnxBuilder onnx(builder, function.getLoc());
  return onnx.scale(buildLossTerm(onnx, term, *logits, labels), term.weight);
}

/// Whether `op` computes floats; moving them is not computing.
static bool makesFloats(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>() || onnx::getOpType(&op) == "Reshape")
    return false;
  return llvm::any_of(op.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  });
}

/// Names the nodes of the loss, so that the pipeline can pin them to float32:
/// all that were made for it (those after `last`), and from `value` back those
/// that compute one number each, as the loss scale must not pass through a half
/// type.
static void nameLossNodes(Value value, Operation *last) {
  StringRef key = onnx::OnnxDialect::getNameAttrName();
  unsigned number = 0;
  Block &block = *value.getParentBlock();
  for (Operation &op : llvm::make_range(
           last ? std::next(last->getIterator()) : block.begin(), block.end()))
    if (makesFloats(op) && onnx::getNodeName(&op).empty())
      op.setAttr(key, StringAttr::get(op.getContext(),
                                      lossNodePrefix + Twine(number++)));
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    auto type = dyn_cast<RankedTensorType>(next.getType());
    if (!op || op->hasTrait<OpTrait::ConstantLike>() || !type ||
        !type.hasStaticShape() || type.getNumElements() != 1)
      continue;
    if (!seen.insert(op).second)
      continue;
    llvm::append_range(pending, op->getOperands());
    StringRef name = onnx::getNodeName(op);
    if (name.starts_with(lossNodePrefix))
      continue;
    std::string fresh =
        (lossNodePrefix + (name.empty() ? Twine(number++) : Twine(name))).str();
    op->setAttr(key, StringAttr::get(op->getContext(), fresh));
  }
}

FailureOr<Value> AddLossPass::buildLoss(const TrainingConfig &config) {
  Operation *last = getOperation().front().getTerminator()->getPrevNode();
  func::FuncOp function = getOperation();
  OpBuilder builder(function.front().getTerminator());
  onnx::OnnxBuilder onnx(builder, function.getLoc());
  Value loss;
  for (const LossTerm &term : config.loss) {
    FailureOr<Value> value = buildTerm(term);
    if (failed(value))
      return failure();
    loss = loss ? onnx.add(loss, *value) : *value;
  }
  nameLossNodes(loss, last);
  return loss;
}

/// Arguments that are nothing else are inputs, results outputs.
void AddLossPass::setRoles() {
  func::FuncOp function = getOperation();
  Builder builder(&getContext());
  StringRef key = TrainDialect::getRoleAttrName();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!getArgumentRole(function, i))
      function.setArgAttr(i, key,
                          builder.getStringAttr(getRoleName(Role::Input)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!getResultRole(function, i))
      function.setResultAttr(i, key,
                             builder.getStringAttr(getRoleName(Role::Output)));
}

LogicalResult AddLossPass::keepOutputs(const TrainingConfig &config) {
  if (!config.outputs)
    return success();
  func::FuncOp function = getOperation();
  llvm::StringSet<> wanted;
  wanted.insert_range(*config.outputs);
  for (unsigned i = function.getNumResults(); i-- > 0;)
    if (getResultRole(function, i) == Role::Output &&
        !wanted.erase(getResultName(function, i)))
      eraseResult(function, i);
  for (const std::string &name : *config.outputs)
    if (wanted.contains(name))
      return function.emitError()
             << "'outputs': no output is called '" << name << "'";
  return success();
}

void AddLossPass::runOnOperation() {
  func::FuncOp function = getOperation();
  FailureOr<TrainingConfig> loaded = loadConfig(function, config);
  if (failed(loaded))
    return signalPassFailure();
  FailureOr<Value> loss = buildLoss(*loaded);
  if (failed(loss))
    return signalPassFailure();
  setRoles();
  // An output that is the loss is not returned twice.
  const LossTerm &first = loaded->loss.front();
  bool isOutput =
      loaded->loss.size() == 1 && first.kind == LossTerm::Kind::Output;
  for (unsigned i = function.getNumResults(); i-- > 0;)
    if (StringRef name = getResultName(function, i);
        name == "loss" || (isOutput && name == first.logits))
      eraseResult(function, i);
  insertResult(function, 0, *loss, {Role::Loss, "loss"});
  if (failed(keepOutputs(*loaded)))
    signalPassFailure();
}
