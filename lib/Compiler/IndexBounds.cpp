//===- IndexBounds.cpp - What inputs may hold as indices ------------------===//
//
// Walks from inputs to the operators that take their elements as indices.
//
//===----------------------------------------------------------------------===//

#include "IndexBounds.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;

static constexpr llvm::StringLiteral attrName = "index_bounds";

namespace {

/// The part of an argument that a value holds. `isWhole`: the value has the
/// layout of that part, so that it can be sliced further.
struct Part {
  SmallVector<int64_t> begin, end;
  bool keepsLayout = true;
};

class IndexTracer {
public:
  explicit IndexTracer(BlockArgument argument)
      : builder(argument.getContext()) {
    Part all;
    all.end =
        llvm::to_vector(cast<RankedTensorType>(argument.getType()).getShape());
    all.begin.assign(all.end.size(), 0);
    follow(argument, all);
  }

  SmallVector<Attribute> found;

private:
  void follow(Value value, const Part &part);
  void followUse(OpOperand &use, Part part);
  void note(Operation *op, const Part &part, int64_t low, int64_t high);
  static bool slice(Operation *op, Part &part);
  static bool pick(Operation *op, Part &part);

  Builder builder;
};

/// What an operator does with an operand of integers.
enum class Use { None, Moves, Reshapes, Slices, Gathers, Classes };

} // namespace

static Use getUse(Operation *op, unsigned operand) {
  StringRef type = onnx::getOpType(op);
  if (operand == 0)
    return llvm::StringSwitch<Use>(type)
        .Cases({"Identity", "Cast"}, Use::Moves)
        .Cases({"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose",
                "Expand"},
               Use::Reshapes)
        .Case("Slice", Use::Slices)
        .Case("Gather", Use::Gathers)
        .Default(Use::None);
  if (operand != 1)
    return Use::None;
  return llvm::StringSwitch<Use>(type)
      .Cases({"Gather", "GatherElements", "ScatterElements"}, Use::Gathers)
      .Cases({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"},
             Use::Classes)
      .Default(Use::None);
}

/// The size of an operand's dimension; 0 when it is not known.
static int64_t getDim(Value value, int64_t axis) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return 0;
  axis += axis < 0 ? type.getRank() : 0;
  return axis < 0 || axis >= type.getRank() || type.isDynamicDim(axis)
             ? 0
             : type.getDimSize(axis);
}

static int64_t getAxis(Operation *op) {
  auto axis = op->getAttrOfType<IntegerAttr>("axis");
  return axis ? axis.getInt() : 0;
}

void IndexTracer::note(Operation *op, const Part &part, int64_t low,
                       int64_t high) {
  StringRef name = onnx::getNodeName(op);
  std::string node = name.empty()
                         ? onnx::getOpType(op).str()
                         : (name + " (" + onnx::getOpType(op) + ")").str();
  SmallVector<NamedAttribute> facts{
      builder.getNamedAttr("low", builder.getI64IntegerAttr(low)),
      builder.getNamedAttr("high", builder.getI64IntegerAttr(high)),
      builder.getNamedAttr("node", builder.getStringAttr(node)),
      builder.getNamedAttr("begin", builder.getDenseI64ArrayAttr(part.begin)),
      builder.getNamedAttr("end", builder.getDenseI64ArrayAttr(part.end))};
  if (auto ignored = op->getAttrOfType<IntegerAttr>("ignore_index"))
    facts.push_back(builder.getNamedAttr(
        "ignore", builder.getI64IntegerAttr(ignored.getInt())));
  found.push_back(builder.getDictionaryAttr(facts));
}

/// Slice with constant bounds and steps of 1.
bool IndexTracer::slice(Operation *op, Part &part) {
  auto get = [&](unsigned operand) -> std::optional<SmallVector<int64_t>> {
    if (operand >= op->getNumOperands())
      return std::nullopt;
    return onnx::getConstantInts(op->getOperand(operand));
  };
  std::optional<SmallVector<int64_t>> starts = get(1), ends = get(2),
                                      axes = get(3), steps = get(4);
  if (!starts || !ends || (!axes && op->getNumOperands() > 3) ||
      (!steps && op->getNumOperands() > 4))
    return false;
  int64_t rank = part.begin.size();
  for (size_t i = 0; i < starts->size(); ++i) {
    int64_t axis = axes ? (*axes)[i] : i;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || (steps && (*steps)[i] != 1))
      return false;
    int64_t size = part.end[axis] - part.begin[axis];
    auto place = [&](int64_t at) {
      return part.begin[axis] +
             std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    int64_t begin = place((*starts)[i]), end = place((*ends)[i]);
    part.begin[axis] = begin;
    part.end[axis] = std::max(begin, end);
  }
  return true;
}

/// Gather of one constant position.
bool IndexTracer::pick(Operation *op, Part &part) {
  std::optional<SmallVector<int64_t>> at =
      onnx::getConstantInts(op->getOperand(1));
  int64_t rank = part.begin.size(), axis = getAxis(op);
  axis += axis < 0 ? rank : 0;
  if (!at || at->size() != 1 || axis < 0 || axis >= rank)
    return false;
  int64_t size = part.end[axis] - part.begin[axis];
  int64_t index = at->front() < 0 ? at->front() + size : at->front();
  if (index < 0 || index >= size)
    return false;
  part.begin[axis] += index;
  part.end[axis] = part.begin[axis] + 1;
  part.keepsLayout = false;
  return true;
}

void IndexTracer::followUse(OpOperand &use, Part part) {
  Operation *op = use.getOwner();
  unsigned operand = use.getOperandNumber();
  int64_t size;
  switch (getUse(op, operand)) {
  case Use::None:
    return;
  case Use::Moves:
    return follow(op->getResult(0), part);
  case Use::Reshapes:
    part.keepsLayout = false;
    return follow(op->getResult(0), part);
  case Use::Slices:
    if (part.keepsLayout && slice(op, part))
      follow(op->getResult(0), part);
    return;
  case Use::Gathers:
    if (operand == 0) {
      if (part.keepsLayout && pick(op, part))
        follow(op->getResult(0), part);
      return;
    }
    size = getDim(op->getOperand(0), getAxis(op));
    if (size > 0)
      note(op, part, -size, size - 1);
    return;
  case Use::Classes:
    if (int64_t classes = getDim(op->getOperand(0), 1))
      note(op, part, 0, classes - 1);
    return;
  }
}

void IndexTracer::follow(Value value, const Part &part) {
  auto type = dyn_cast<TensorType>(value.getType());
  if (!type || !type.getElementType().isSignlessInteger() ||
      type.getElementType().isInteger(1))
    return;
  for (OpOperand &use : value.getUses())
    followUse(use, part);
}

void amp::noteIndexBounds(func::FuncOp function) {
  if (function.isExternal())
    return;
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> all;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    StringRef name = onnx::getValueName(argument);
    if (!type || !type.hasStaticShape() || name.empty())
      continue;
    IndexTracer tracer(argument);
    // Forward and backward have the same node.
    llvm::SetVector<Attribute> facts(tracer.found.begin(), tracer.found.end());
    if (!facts.empty())
      all.push_back(builder.getNamedAttr(
          name, builder.getArrayAttr(facts.getArrayRef())));
  }
  if (!all.empty())
    function->setAttr(attrName, builder.getDictionaryAttr(all));
}

std::vector<ArtifactIndices> amp::getIndexBounds(func::FuncOp function,
                                                 StringRef argument) {
  std::vector<ArtifactIndices> result;
  auto all = function->getAttrOfType<DictionaryAttr>(attrName);
  auto list = all ? all.getAs<ArrayAttr>(argument) : ArrayAttr();
  if (!list)
    return result;
  for (auto facts : list.getAsRange<DictionaryAttr>()) {
    ArtifactIndices indices;
    indices.node = facts.getAs<StringAttr>("node").str();
    indices.low = facts.getAs<IntegerAttr>("low").getInt();
    indices.high = facts.getAs<IntegerAttr>("high").getInt();
    if (auto ignored = facts.getAs<IntegerAttr>("ignore"))
      indices.ignored = ignored.getInt();
    indices.begin =
        llvm::to_vector(facts.getAs<DenseI64ArrayAttr>("begin").asArrayRef());
    indices.end =
        llvm::to_vector(facts.getAs<DenseI64ArrayAttr>("end").asArrayRef());
    result.push_back(std::move(indices));
  }
  return result;
}
