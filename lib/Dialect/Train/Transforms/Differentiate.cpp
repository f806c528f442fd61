//===- Differentiate.cpp - Reverse-mode differentiation -------------------===//
//
// Walks a function backwards and lets each operation's rule turn cotangents of
// its results into cotangents of its operands.
//
//===----------------------------------------------------------------------===//

#include "Dropout.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace amp::train {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "amp/Dialect/Train/Transforms/Passes.h.inc"
} // namespace amp::train

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Whether `value` may have a cotangent: float tensors, and what is not known
/// to be something else.
bool mayCarryGradient(Value value) {
  auto type = dyn_cast<TensorType>(value.getType());
  return !type || isa<FloatType>(type.getElementType());
}

class Differentiator {
public:
  Differentiator(func::FuncOp function, Value loss, ArrayRef<Value> sources,
                 bool wideWeights)
      : function(function), loss(loss), sources(sources),
        wideWeights(wideWeights), builder(function.front().getTerminator()) {}

  LogicalResult run();
  /// The gradient of a source in the source's type; null when zero.
  Value getGradient(Value source);

private:
  void markActive();
  LogicalResult checkRules();
  LogicalResult reportOpenShape(Operation *op, Type type);
  LogicalResult visit(Operation *op);
  bool isActiveOperand(OpOperand &operand) const;
  SmallVector<Value> getActiveOperands(Operation *op) const;
  Value sum(Value value);

  func::FuncOp function;
  Value loss;
  ArrayRef<Value> sources;
  bool wideWeights;
  OpBuilder builder;
  /// Values that depend on a source and on which the loss depends.
  llvm::DenseSet<Value> active;
  /// Operations to differentiate, in program order.
  SmallVector<Operation *> path;
  /// What has been found of each value's cotangent.
  llvm::DenseMap<Value, SmallVector<Value>> contributions;
};

} // namespace

bool Differentiator::isActiveOperand(OpOperand &operand) const {
  if (!active.contains(operand.get()))
    return false;
  auto differentiable = dyn_cast<DifferentiableOpInterface>(operand.getOwner());
  return !differentiable ||
         differentiable.carriesGradient(operand.getOperandNumber());
}

/// Operands of `op` that a cotangent may flow into, and outer values that its
/// regions use without listing them.
SmallVector<Value> Differentiator::getActiveOperands(Operation *op) const {
  SmallVector<Value> found;
  for (OpOperand &operand : op->getOpOperands())
    if (isActiveOperand(operand))
      found.push_back(operand.get());
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value value : inner->getOperands())
        if (active.contains(value))
          found.push_back(value);
    });
  return found;
}

void Differentiator::markActive() {
  active.insert(sources.begin(), sources.end());
  for (Operation &op : function.front())
    if (!getActiveOperands(&op).empty())
      for (Value result : op.getResults())
        if (mayCarryGradient(result))
          active.insert(result);
  llvm::DenseSet<Value> wanted{loss};
  for (Operation &op : llvm::reverse(function.front())) {
    if (llvm::none_of(op.getResults(), [&](Value result) {
          return wanted.contains(result) && active.contains(result);
        }))
      continue;
    path.push_back(&op);
    SmallVector<Value> operands = getActiveOperands(&op);
    wanted.insert(operands.begin(), operands.end());
  }
  std::reverse(path.begin(), path.end());
}

/// Reports all operations without a rule at once.
LogicalResult Differentiator::checkRules() {
  SmallVector<Operation *> missing;
  for (Operation *op : path)
    if (!isa<DifferentiableOpInterface>(op))
      missing.push_back(op);
  if (missing.empty())
    return success();
  auto error = function.emitError()
               << missing.size() << " operation"
               << (missing.size() == 1 ? " has" : "s have")
               << " no gradient rule, but the loss depends on a parameter "
                  "through "
               << (missing.size() == 1 ? "it" : "them");
  for (Operation *op : missing) {
    auto &note = error.attachNote(op->getLoc());
    StringRef type = onnx::getOpType(op);
    note << (type.empty() ? op->getName().getStringRef() : type);
    if (StringRef name = onnx::getNodeName(op); !name.empty())
      note << " '" << name << "'";
    if (op->getNumRegions())
      note << ": control flow is not differentiated";
  }
  return failure();
}

/// The cotangent of `value`: all contributions summed in float32, rounded once;
/// or pairwise in the value's type.
Value Differentiator::sum(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return Value();
  SmallVector<Value> &parts = found->second;
  if (parts.size() == 1)
    return parts.front();
  Vjp vjp(builder, parts.front().getDefiningOp(), {}, {});
  Type element = onnx::getElementType(value);
  bool mixed = llvm::any_of(
      parts, [&](Value part) { return onnx::getElementType(part) != element; });
  // Two halves sum to the correctly rounded half; more would round in between.
  if (onnx::isHalf(element) && (mixed || (wideWeights && parts.size() > 2)))
    for (Value &part : parts)
      part = vjp.cast(part, builder.getF32Type());
  Value total = parts.front();
  for (Value part : ArrayRef(parts).drop_front())
    total = vjp.add(total, part);
  if (!mixed)
    total = vjp.cast(total, element);
  parts.assign({total});
  return total;
}

LogicalResult Differentiator::visit(Operation *op) {
  auto differentiable = cast<DifferentiableOpInterface>(op);
  SmallVector<Value> cotangents;
  bool any = false;
  for (Value result : op->getResults()) {
    Value cotangent = sum(result);
    if (cotangent && !differentiable.takesWideCotangents())
      cotangent = Vjp(builder, op, {}, {})
                      .cast(cotangent, onnx::getElementType(result));
    any |= static_cast<bool>(cotangent);
    cotangents.push_back(cotangent);
  }
  if (!any)
    return success();
  llvm::SmallBitVector needed(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    needed[operand.getOperandNumber()] = isActiveOperand(operand);
  Vjp vjp(builder, op, cotangents, needed, wideWeights);
  if (failed(differentiable.vjp(vjp)))
    return failure();
  for (auto [index, gradient] : llvm::enumerate(vjp.getGradients())) {
    if (!gradient || !needed[index])
      continue;
    Value operand = op->getOperand(index);
    contributions[operand].push_back(
        wideWeights ? gradient
                    : vjp.cast(gradient, onnx::getElementType(operand)));
  }
  return success();
}

/// Says which node has a shape that is not known, and what would help.
LogicalResult Differentiator::reportOpenShape(Operation *op, Type type) {
  auto error = op->emitOpError();
  if (StringRef name = onnx::getNodeName(op); !name.empty())
    error << "'" << name << "' ";
  error << "has a value of type " << type
        << ", but gradients need static shapes: ";
  bool allBound = llvm::all_of(function.getArgumentTypes(), [](Type argument) {
    auto shaped = dyn_cast<ShapedType>(argument);
    return !shaped || shaped.hasStaticShape();
  });
  return allBound ? error << "the inputs' sizes are known, but this one is "
                             "computed from values"
                  : error << "bind the symbolic dimensions";
}

LogicalResult Differentiator::run() {
  markActive();
  if (failed(checkRules()))
    return failure();
  for (Operation *op : path)
    for (Value value :
         llvm::concat<Value>(llvm::to_vector_of<Value>(op->getOperands()),
                             llvm::to_vector_of<Value>(op->getResults())))
      if (auto type = dyn_cast<ShapedType>(value.getType());
          active.contains(value) && (!type || !type.hasStaticShape()))
        return reportOpenShape(op, value.getType());
  contributions[loss].push_back(
      SeedOp::create(builder, function.getLoc(), loss.getType()));
  for (Operation *op : llvm::reverse(path))
    if (failed(visit(op)))
      return failure();
  return success();
}

Value Differentiator::getGradient(Value source) {
  Value total = sum(source);
  if (!total)
    return Value();
  return Vjp(builder, total.getDefiningOp(), {}, {})
      .cast(total, onnx::getElementType(source));
}

namespace {

class DifferentiatePass
    : public amp::train::impl::DifferentiatePassBase<DifferentiatePass> {
public:
  using DifferentiatePassBase::DifferentiatePassBase;
  void runOnOperation() override;

private:
  FailureOr<Value> findLoss();
  LogicalResult findSources(SmallVectorImpl<Value> &sources);
};

StringRef nameOf(DictionaryAttr attributes) {
  if (!attributes)
    return "";
  auto name =
      attributes.getAs<StringAttr>(onnx::OnnxDialect::getNameAttrName());
  return name ? name.getValue() : StringRef();
}

} // namespace

FailureOr<Value> DifferentiatePass::findLoss() {
  func::FuncOp function = getOperation();
  Operation *terminator = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    bool found = loss.empty() ? getResultRole(function, i) == Role::Loss
                              : nameOf(function.getResultAttrDict(i)) == loss;
    if (!found)
      continue;
    Value value = terminator->getOperand(i);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !isa<FloatType>(type.getElementType()) ||
        !type.hasStaticShape() || type.getNumElements() != 1)
      return function.emitError()
             << "the loss must be one number, but it is " << value.getType();
    return value;
  }
  if (loss.empty())
    return function.emitError() << "no result has the role of the loss";
  return function.emitError() << "no output is called '" << loss << "'";
}

LogicalResult DifferentiatePass::findSources(SmallVectorImpl<Value> &sources) {
  func::FuncOp function = getOperation();
  llvm::SetVector<StringRef> names;
  for (const std::string &name : wrt)
    names.insert(name);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = nameOf(function.getArgAttrDict(index));
    if (wrt.empty() ? getArgumentRole(function, index) == Role::Parameter
                    : names.remove(name))
      sources.push_back(argument);
  }
  if (!names.empty())
    return function.emitError()
           << "no argument is called '" << names.front() << "'";
  if (sources.empty())
    return function.emitError() << "no argument has the role of a parameter";
  return success();
}

void DifferentiatePass::runOnOperation() {
  func::FuncOp function = getOperation();
  addDropoutMasks(function);
  FailureOr<Value> lossValue = findLoss();
  SmallVector<Value> sources;
  if (failed(lossValue) || failed(findSources(sources)))
    return signalPassFailure();
  Differentiator differentiator(function, *lossValue, sources,
                                !halfWeightGradients);
  if (failed(differentiator.run()))
    return signalPassFailure();
  Operation *terminator = function.front().getTerminator();
  OpBuilder builder(terminator);
  onnx::OnnxBuilder onnxBuilder(builder, function.getLoc());
  for (Value source : sources) {
    Value gradient = differentiator.getGradient(source);
    if (!gradient)
      gradient = onnxBuilder.splat(0, cast<RankedTensorType>(source.getType()));
    unsigned index = cast<BlockArgument>(source).getArgNumber();
    StringRef name = nameOf(function.getArgAttrDict(index));
    NamedAttrList attributes;
    attributes.set(TrainDialect::getRoleAttrName(),
                   builder.getStringAttr(getRoleName(Role::Gradient)));
    if (!name.empty()) {
      attributes.set(TrainDialect::getOfAttrName(),
                     builder.getStringAttr(name));
      attributes.set(onnx::OnnxDialect::getNameAttrName(),
                     builder.getStringAttr("grad." + name));
    }
    if (failed(function.insertResult(function.getNumResults(), source.getType(),
                                     attributes.getDictionary(&getContext()))))
      return signalPassFailure();
    terminator->insertOperands(terminator->getNumOperands(), gradient);
  }
}
