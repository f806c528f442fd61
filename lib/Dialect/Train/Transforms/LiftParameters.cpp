//===- LiftParameters.cpp - Make trainable initializers arguments ---------===//
//
// Weights and running statistics become state of the step.
//
//===----------------------------------------------------------------------===//

#include "BatchNorm.h"
#include "Dropout.h"
#include "InferenceExport.h"
#include "StepFunction.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Train/Transforms/Passes.h"

namespace amp::train {
#define GEN_PASS_DEF_LIFTPARAMETERSPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class LiftParametersPass
    : public amp::train::impl::LiftParametersPassBase<LiftParametersPass> {
public:
  using LiftParametersPassBase::LiftParametersPassBase;
  void runOnOperation() override;
};

/// The constants of one function, told apart.
class Lifter {
public:
  Lifter(func::FuncOp function, const TrainingConfig &config)
      : function(function), trainable(config.trainable), frozen(config.frozen),
        dropoutSeed(config.dropoutSeed) {}

  LogicalResult run();

private:
  void liftDefaults();
  void liftParameters();
  void lift(
      Value value, Role role,
      llvm::function_ref<bool(OpOperand &)> isMeant = [](OpOperand &) {
        return true;
      });
  LogicalResult liftStatistics();
  bool isTrainable(Value value, StringRef name);
  bool hasRoles();
  LogicalResult checkPatterns();

  func::FuncOp function;
  NamePatterns trainable, frozen;
  int64_t dropoutSeed;
};

} // namespace

/// Whether a gradient can flow into one of the uses of `value`.
static bool feedsGradient(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto rule = dyn_cast<DifferentiableOpInterface>(user))
      return rule.carriesGradient(use.getOperandNumber());
    return llvm::any_of(user->getResultTypes(), [](Type type) {
      auto tensor = dyn_cast<TensorType>(type);
      return tensor && isa<FloatType>(tensor.getElementType());
    });
  });
}

static bool isFloat32(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.hasStaticShape();
}

bool Lifter::isTrainable(Value value, StringRef name) {
  // Both are asked, so that both know what they matched.
  bool isFrozen = frozen.match(name), isNamed = trainable.match(name);
  if (isFrozen || !isFloat32(value))
    return false;
  if (!trainable.empty())
    return isNamed;
  // Rank 0: a number the exporter wrote down (an epsilon, a scale factor).
  return isa<onnx::InitializerOp>(value.getDefiningOp()) &&
         cast<ShapedType>(value.getType()).getRank() > 0 &&
         feedsGradient(value);
}

/// An argument in the place of a constant, in the uses that `isMeant`.
void Lifter::lift(Value value, Role role,
                  llvm::function_ref<bool(OpOperand &)> isMeant) {
  Operation *constant = value.getDefiningOp();
  std::string base = onnx::getValueName(value).str(), name = base;
  for (unsigned i = 0; name.empty() || findArgument(function, name); ++i)
    name = (base.empty() ? "constant" : base) + "." + std::to_string(i);
  BlockArgument argument =
      addArgument(function, cast<RankedTensorType>(value.getType()),
                  {role, name, "", onnx::getConstantValue(value)});
  value.replaceUsesWithIf(argument, isMeant);
  if (constant->use_empty())
    constant->erase();
}

/// Overridable inputs are initializers that the file also lists as inputs.
void Lifter::liftDefaults() {
  StringRef key = onnx::OnnxDialect::getDefaultAttrName();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto value = function.getArgAttrOfType<ElementsAttr>(index, key);
    std::string name = getArgumentName(function, index).str();
    if (!value || !isFloat32(argument) || frozen.match(name) ||
        (trainable.empty() ? !feedsGradient(argument) : !trainable.match(name)))
      continue;
    function.removeArgAttr(index, StringAttr::get(function.getContext(), key));
    setArgumentFacts(function, index, {Role::Parameter, name, "", value});
  }
}

void Lifter::liftParameters() {
  SmallVector<Value> found;
  for (Operation &op : function.front())
    if (isa<onnx::InitializerOp, onnx::ConstantOp>(op) &&
        isTrainable(op.getResult(0), onnx::getValueName(op.getResult(0))))
      found.push_back(op.getResult(0));
  for (Value value : found)
    lift(value, Role::Parameter);
}

LogicalResult Lifter::liftStatistics() {
  SmallVector<onnx::BatchNormalizationOp> ops(
      function.getOps<onnx::BatchNormalizationOp>());
  llvm::DenseMap<Value, Value> next;
  for (onnx::BatchNormalizationOp op : ops) {
    if (frozen.match(onnx::getValueName(op->getOperand(3))))
      continue;
    for (unsigned index : {3u, 4u}) {
      // Exporters store equal tensors once: only what shares all four vectors
      // is the same layer.
      auto isSameLayer = [&](OpOperand &use) {
        return use.getOperandNumber() == index &&
               isa<onnx::BatchNormalizationOp>(use.getOwner()) &&
               llvm::equal(use.getOwner()->getOperands().drop_front(),
                           op->getOperands().drop_front());
      };
      if (Value value = op->getOperand(index); onnx::getConstantValue(value))
        lift(value, Role::Buffer, isSameLayer);
    }
    if (failed(trainBatchNorm(op, next)))
      return failure();
  }
  for (BlockArgument argument : function.getArguments())
    if (Value value = next.lookup(argument))
      addNextValue(function, argument, value);
  return success();
}

/// Whether the frontend has said which arguments are trained and how running
/// statistics change; nothing is guessed then.
bool Lifter::hasRoles() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (getArgumentRole(function, i) == Role::Parameter)
      return true;
  return false;
}

LogicalResult Lifter::checkPatterns() {
  for (auto [key, patterns] :
       {std::pair("trainable", &trainable), std::pair("frozen", &frozen)})
    for (const std::string &pattern : patterns->getUnused())
      return function.emitError()
             << "the pattern '" << pattern << "' in '" << key
             << "' matches the whole name of no initializer";
  if (hasRoles())
    return success();
  return function.emitError()
         << "the model has no float32 initializer to train";
}

LogicalResult Lifter::run() {
  addDropoutMasks(function);
  seedDropouts(function, dropoutSeed);
  if (hasRoles())
    return checkPatterns();
  warnAboutInferenceExport(function);
  liftDefaults();
  // Before the parameters: a running mean is none.
  if (failed(liftStatistics()))
    return failure();
  liftParameters();
  return checkPatterns();
}

void LiftParametersPass::runOnOperation() {
  FailureOr<TrainingConfig> loaded =
      config.empty() ? TrainingConfig() : loadConfig(getOperation(), config);
  if (failed(loaded) || failed(Lifter(getOperation(), *loaded).run()))
    signalPassFailure();
}
