//===- AddOptimizer.cpp - From gradients to updates -----------------------===//
//
// Check, clip, update, scale: in this order, so that no state is touched before
// all gradients are known to be finite.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"
#include "Updates.h"
#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "amp/Dialect/Train/Transforms/Passes.h"

namespace amp::train {
#define GEN_PASS_DEF_ADDOPTIMIZERPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

class AddOptimizerPass
    : public amp::train::impl::AddOptimizerPassBase<AddOptimizerPass> {
public:
  using AddOptimizerPassBase::AddOptimizerPassBase;
  void runOnOperation() override;
};

/// A parameter with its gradient.
struct Trained {
  BlockArgument parameter;
  /// What is applied: with accumulation the sum.
  Value gradient;
  /// What backward made.
  Value made;
};

/// Builds the second half of one step.
class StepBuilder {
public:
  StepBuilder(func::FuncOp function, const TrainingConfig &config)
      : function(function), config(config),
        builder(function.front().getTerminator()),
        onnx(builder, function.getLoc()), f32(builder.getF32Type()),
        i64(builder.getI64Type()) {}

  LogicalResult run();

private:
  LogicalResult takeGradients();
  void accumulate();
  void check();
  void guard();
  LogicalResult update();
  void updateScale();
  void guardBuffers();
  void addMetric(StringRef name, Value value);
  void sortResults();
  BlockArgument addScalar(Role role, StringRef name, Type element, double init);
  /// Appends the new value of a counter: `update` of the old one.
  void addCounter(StringRef name, llvm::function_ref<Value(Value)> update);
  FailureOr<Value> getLearningRate(const ParameterGroup *group);
  /// Where a call ends a step `a`, else `b`; `a` if every call does.
  Value select(Value a, Value b) { return last ? onnx.where(last, a, b) : a; }
  Value both(Value a, Value b) {
    return a && b ? onnx.create("And", {a, b}) : a ? a : b;
  }

  func::FuncOp function;
  const TrainingConfig &config;
  OpBuilder builder;
  onnx::OnnxBuilder onnx;
  Type f32, i64;
  SmallVector<Trained> trained;
  llvm::StringMap<Value> learningRates;
  /// Whether this call is the last of a step; null if every call is.
  Value last;
  Value scale, found, multiplier;
  /// Whether parameters are updated; whether the step is skipped.
  Value apply, skip;
};

} // namespace

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

static bool isZero(Value value) {
  auto elements =
      dyn_cast_or_null<DenseElementsAttr>(onnx::getConstantValue(value));
  return elements && elements.isSplat() &&
         elements.getSplatValue<APFloat>().isPosZero();
}

/// Takes the gradients from the results. A gradient of zeros is that of a
/// parameter the loss does not depend on: PyTorch has none there either, and
/// leaves the parameter alone.
LogicalResult StepBuilder::takeGradients() {
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults();) {
    if (getResultRole(function, i) != Role::Gradient) {
      ++i;
      continue;
    }
    auto of = function.getResultAttrOfType<StringAttr>(
        i, TrainDialect::getOfAttrName());
    BlockArgument parameter =
        of ? findArgument(function, of.getValue()) : BlockArgument();
    if (!parameter)
      return function.emitError()
             << "result " << i << " is a gradient of no argument: '"
             << TrainDialect::getOfAttrName() << "' names none";
    Value gradient = terminator->getOperand(i);
    if (isZero(gradient))
      function.emitWarning() << "the loss does not depend on the parameter '"
                             << of.getValue() << "': it will not be trained";
    else
      trained.push_back({parameter, gradient, gradient});
    eraseResult(function, i);
  }
  if (trained.empty())
    return function.emitError()
           << "the loss depends on no parameter, so there is nothing to "
              "train: is the graph cut between them?";
  return success();
}

/// With accumulation: adds this call's gradients to those of the calls before.
void StepBuilder::accumulate() {
  int64_t count = config.accumulate;
  addCounter("train.iteration", [&](Value old) {
    Value next = onnx.add(old, onnx.scalar(1, i64));
    if (count > 1)
      last = onnx.create("Equal",
                         {onnx.create("Mod", {next, onnx.scalar(count, i64)}),
                          onnx.scalar(0, i64)});
    return next;
  });
  if (count == 1)
    return;
  for (Trained &one : trained) {
    auto type = cast<RankedTensorType>(one.parameter.getType());
    std::string of =
        getArgumentName(function, one.parameter.getArgNumber()).str();
    BlockArgument sum = addArgument(
        function, type,
        {Role::OptimizerState, "accumulated_grad." + of, of,
         DenseElementsAttr::get(type, Attribute(builder.getF32FloatAttr(0)))});
    one.gradient = onnx.add(sum, one.gradient);
    addNextValue(function, sum, select(onnx.scalarLike(0, sum), one.gradient));
  }
}

//===----------------------------------------------------------------------===//
// Check and guard
//===----------------------------------------------------------------------===//

void StepBuilder::addMetric(StringRef name, Value value) {
  insertResult(function, function.getNumResults(),
               select(value, onnx.scalar(0, f32)), {Role::Metric, name.str()});
}

void StepBuilder::check() {
  // In the order they are made: the first flag that is set is where it began.
  SmallVector<Trained> ordered(trained);
  llvm::sort(ordered, [](const Trained &a, const Trained &b) {
    Operation *first = a.made.getDefiningOp();
    Operation *second = b.made.getDefiningOp();
    return first && second ? first->isBeforeInBlock(second) : !first && second;
  });
  SmallVector<Value> gradients;
  for (const Trained &one : ordered)
    gradients.push_back(one.gradient);
  Location loc = function.getLoc();
  Type scalar = RankedTensorType::get({}, f32);
  auto check = CheckGradientsOp::create(
      builder, loc,
      SmallVector<Type>(config.gradientFlags ? 2 + gradients.size() : 2,
                        scalar),
      gradients);
  found = check.getFoundInf();
  scale = findArgument(function, "scaler.scale");
  FloatAttr maxNorm;
  if (config.clipNorm)
    maxNorm = builder.getF64FloatAttr(*config.clipNorm);
  Value factor = scale ? scale : onnx.scalar(1, f32);
  auto clip =
      GradientMultiplierOp::create(builder, loc, TypeRange{scalar, scalar},
                                   factor, check.getSumOfSquares(), maxNorm);
  multiplier = clip.getMultiplier();
  addMetric("found_inf", found);
  addMetric("grad_norm", clip.getGradientNorm());
  for (auto [one, flag] : llvm::zip(ordered, check.getFoundIn()))
    addMetric("found_inf." +
                  getArgumentName(function, one.parameter.getArgNumber()).str(),
              flag);
}

/// Decides whether parameters are updated.
void StepBuilder::guard() {
  Value bad;
  if (config.skipNonfiniteGradients.value_or(config.scalesLoss()))
    bad = onnx.cast(found, builder.getI1Type());
  if (config.nonfiniteLoss != NonfiniteLoss::Continue) {
    Value loss = function.front().getTerminator()->getOperand(0);
    Value isBad = onnx.create(
        "Or", {onnx.unary("IsNaN", loss), onnx.unary("IsInf", loss)});
    if (last)
      addCounter("train.nonfinite_losses", [&](Value old) {
        Value sum = onnx.add(old, onnx.cast(isBad, i64));
        isBad = onnx.create("Greater", {sum, onnx.scalar(0, i64)});
        return select(onnx.scalar(0, i64), sum);
      });
    bad = bad ? onnx.create("Or", {bad, isBad}) : isBad;
  }
  if (bad)
    skip = both(last, bad);
  apply = both(last, bad ? onnx.unary("Not", bad) : Value());
  if (!apply)
    apply = onnx.scalar(1, builder.getI1Type());
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

BlockArgument StepBuilder::addScalar(Role role, StringRef name, Type element,
                                     double init) {
  auto type = RankedTensorType::get({}, element);
  Attribute value = isa<FloatType>(element)
                        ? Attribute(builder.getFloatAttr(element, init))
                        : Attribute(builder.getIntegerAttr(element, init));
  return addArgument(
      function, type,
      {role, name.str(), "", DenseElementsAttr::get(type, value)});
}

void StepBuilder::addCounter(StringRef name,
                             llvm::function_ref<Value(Value)> update) {
  BlockArgument argument = addScalar(Role::Counter, name, i64, 0);
  addNextValue(function, argument, update(argument));
}

/// The argument `lr`, or a group's own.
FailureOr<Value> StepBuilder::getLearningRate(const ParameterGroup *group) {
  bool isOwn = group && group->lr;
  std::string name = isOwn ? "lr." + group->name : "lr";
  Value &lr = learningRates[name];
  if (!lr && findArgument(function, name))
    return function.emitError() << "the model has an input called '" << name
                                << "', which is the learning rate's name";
  if (!lr)
    lr = addScalar(Role::Hyper, name, f32,
                   isOwn ? *group->lr : config.optimizer.lr);
  return lr;
}

LogicalResult StepBuilder::update() {
  const OptimizerConfig &optimizer = config.optimizer;
  std::vector<NamePatterns> groups;
  for (const ParameterGroup &group : optimizer.groups)
    groups.emplace_back(ArrayRef(group.match));
  BlockArgument applied =
      addScalar(Role::Counter, "train.applied_steps", i64, 0);
  for (const Trained &one : trained) {
    StringRef name = getArgumentName(function, one.parameter.getArgNumber());
    for (NamePatterns &patterns : groups)
      patterns.match(name);
    const ParameterGroup *group = optimizer.findGroup(name);
    FailureOr<Value> lr = getLearningRate(group);
    if (failed(lr))
      return failure();
    double decay = group ? group->weightDecay.value_or(optimizer.weightDecay)
                         : optimizer.weightDecay;
    addUpdate(function, optimizer, config.clipValue, decay, one.parameter,
              one.gradient, *lr, {multiplier, applied, apply});
  }
  for (auto [patterns, group] : llvm::zip(groups, optimizer.groups))
    if (!patterns.getUnused().empty())
      return function.emitError()
             << "the parameter group '" << group.name << "' is empty: '"
             << group.match << "' matches the whole name of no parameter";
  addNextValue(function, applied, onnx.add(applied, onnx.cast(apply, i64)));
  return success();
}

void StepBuilder::updateScale() {
  if (skip) {
    addCounter("train.skipped",
               [&](Value old) { return onnx.add(old, onnx.cast(skip, i64)); });
    addCounter("train.consecutive_skips", [&](Value old) {
      Value count = onnx.add(old, onnx.scalar(1, i64));
      return onnx.where(skip, count, select(onnx.scalar(0, i64), old));
    });
  }
  if (!scale)
    return;
  const LossScaleConfig &rule = config.lossScale;
  Type i32 = builder.getI32Type();
  BlockArgument tracker =
      addScalar(Role::ScalerState, "scaler.growth_tracker", i32, 0);
  BlockArgument left = addScalar(Role::ScalerState, "scaler.hysteresis_left",
                                 i32, rule.hysteresis);
  auto number = [&](std::optional<double> value) {
    return value ? builder.getF64FloatAttr(*value) : FloatAttr();
  };
  auto op = UpdateScaleOp::create(
      builder, function.getLoc(),
      {scale.getType(), tracker.getType(), left.getType()}, scale, tracker,
      left, found, last, number(rule.growthFactor), number(rule.backoffFactor),
      builder.getI64IntegerAttr(rule.growthInterval),
      builder.getI64IntegerAttr(rule.hysteresis), number(rule.minScale),
      number(rule.maxScale));
  addNextValue(function, cast<BlockArgument>(scale), op.getNewScale());
  addNextValue(function, tracker, op.getNewGrowthTracker());
  addNextValue(function, left, op.getNewHysteresisLeft());
}

/// On request, buffers keep their values in a skipped step.
void StepBuilder::guardBuffers() {
  if (!config.guardBuffers || !skip)
    return;
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto alias = function.getResultAttrOfType<IntegerAttr>(
        i, TrainDialect::getAliasAttrName());
    if (!alias || getResultRole(function, i) != Role::Buffer)
      continue;
    Value old = function.getArgument(alias.getInt());
    terminator->setOperand(i, onnx.where(skip, old, terminator->getOperand(i)));
  }
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Loss, outputs, metrics, then what is written over arguments, by argument.
void StepBuilder::sortResults() {
  Operation *terminator = function.front().getTerminator();
  // By rank, then by where it stood.
  SmallVector<std::pair<int64_t, unsigned>> order;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto alias = function.getResultAttrOfType<IntegerAttr>(
        i, TrainDialect::getAliasAttrName());
    std::optional<Role> role = getResultRole(function, i);
    int64_t rank = alias                  ? alias.getInt()
                   : role == Role::Loss   ? -3
                   : role == Role::Metric ? -1
                                          : -2;
    order.push_back({rank, i});
  }
  llvm::sort(order);
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (auto [rank, index] : order) {
    values.push_back(terminator->getOperand(index));
    attributes.push_back(function.getResultAttrDict(index));
  }
  setResults(function, values, attributes);
}

LogicalResult StepBuilder::run() {
  if (function.getNumResults() == 0 || getResultRole(function, 0) != Role::Loss)
    return function.emitError()
           << "the first result is not the loss: run --train-add-loss first";
  if (failed(takeGradients()))
    return failure();
  accumulate();
  check();
  guard();
  if (failed(update()))
    return failure();
  updateScale();
  guardBuffers();
  sortResults();
  return success();
}

void AddOptimizerPass::runOnOperation() {
  FailureOr<TrainingConfig> loaded = loadConfig(getOperation(), config);
  if (failed(loaded) || failed(StepBuilder(getOperation(), *loaded).run()))
    signalPassFailure();
}
