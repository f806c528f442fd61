//===- AssignPrecisionGraph.cpp - A function as arrays of nodes and slots -===//
//
// Walks a function once, in program order, bodies of region ops included.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecisionGraph.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

CarriedLayout amp::assign::getCarriedLayout(Operation *loop) {
  if (auto scan = dyn_cast<onnx::ScanOp>(loop)) {
    uint64_t inputs =
        std::min<uint64_t>(scan.getNumScanInputs(), scan->getNumOperands());
    return {0, 0, 0, unsigned(scan->getNumOperands() - inputs)};
  }
  auto [first, count] = cast<onnx::SchemaOpInterface>(loop).getInputRange(2);
  return {first, 2, 1, count};
}

Slot *amp::assign::findSlot(MutableArrayRef<Slot> slots, uint32_t number) {
  Slot *slot =
      llvm::lower_bound(slots, number, [](const Slot &slot, uint32_t number) {
        return slot.number < number;
      });
  return slot != slots.end() && slot->number == number ? slot : nullptr;
}

LogicalResult Graph::build(func::FuncOp function, Tables &givenTables,
                           Scope &scope, uint32_t firstOp) {
  numOps = firstOp;
  tables = &givenTables;
  outputsKey = StringAttr::get(function.getContext(),
                               onnx::OnnxDialect::getOutputsAttrName());
  Block &body = function.getBody().front();
  size_t size = body.getOperations().size() + body.getNumArguments();
  nodes.reserve(size);
  values.reserve(size);
  index.reserve(size);
  results.reserve(size);
  operands.reserve(2 * size);
  for (Value argument : body.getArguments())
    addValue(argument, none);
  for (ValueState &argument : values)
    argument.range = Range::Unknown;
  if (failed(addBlock(body, scope)))
    return failure();
  indexReaders();
  return success();
}

uint32_t Graph::addValue(Value value, uint32_t producer) {
  Kind kind = getKind(value.getType());
  if (kind == Kind::Other)
    return none;
  uint32_t number = values.size();
  index.try_emplace(value, number);
  ValueState &state = values.emplace_back();
  state.value = value;
  state.producer = producer;
  state.declared = state.kind = kind;
  auto ranked = dyn_cast<RankedTensorType>(value.getType());
  state.isScalar = ranked && ranked.getRank() == 0;
  return number;
}

LogicalResult Graph::addBlock(Block &block, Scope &scope) {
  for (Operation &op : block)
    if (failed(addOp(op, scope)))
      return failure();
  return success();
}

LogicalResult Graph::addOp(Operation &op, Scope &scope) {
  // Region ops of ours, and casts, are not there any more when a report counts.
  if (!isa<AutocastOp, YieldOp, CastOp>(op))
    ++numOps;
  if (isa<onnx::InitializerOp, onnx::ConstantOp>(op)) {
    addConstant(op);
    return success();
  }
  if (auto autocast = dyn_cast<AutocastOp>(op))
    return addAutocast(autocast, scope);
  // Its operands are the values of the autocast op's results.
  if (isa<YieldOp>(op))
    return success();
  if (isa<onnx::IfOp, onnx::LoopOp, onnx::ScanOp>(op))
    return addRegionOp(op, scope);
  Step step = isa<func::ReturnOp>(op)  ? Step::Return
              : isa<onnx::YieldOp>(op) ? Step::Yield
                                       : Step::Op;
  uint32_t number = addNode(op, step, scope);
  addOperandSlots(nodes[number]);
  // Bodies of ops that autocast does not look through keep their interface; of
  // onnx.node nothing inside is known either.
  Scope &inner =
      isa<onnx::SchemaOpInterface>(op) ? scope : *tables->getDisabled();
  for (Region &region : op.getRegions())
    for (Block &block : region) {
      for (Value argument : block.getArguments())
        if (uint32_t value = addValue(argument, none); value != none)
          values[value].range = Range::Unknown;
      openRegions.push_back(none);
      if (failed(addBlock(block, inner)))
        return failure();
      openRegions.pop_back();
    }
  nodes[number].ordinal = numOps - 1;
  addResultSlots(nodes[number], number);
  finishNode(number);
  return success();
}

/// If, Loop and Scan: a node before the bodies and one after.
LogicalResult Graph::addRegionOp(Operation &op, Scope &scope) {
  uint32_t region = regions.size();
  regions.emplace_back();
  uint32_t enter = addNode(op, Step::Enter, scope);
  nodes[enter].region = region;
  regions[region].enter = enter;
  addOperandSlots(nodes[enter]);
  openRegions.push_back(region);
  for (Region &body : op.getRegions()) {
    for (Value argument : body.getArguments())
      regions[region].arguments.push_back(addValue(argument, enter));
    if (failed(addBlock(body.front(), scope)))
      return failure();
  }
  openRegions.pop_back();
  uint32_t leave = addNode(op, Step::Leave, scope);
  nodes[leave].region = region;
  regions[region].leave = leave;
  regions[region].demoted.assign(op.getNumResults(), false);
  addResultSlots(nodes[leave], leave);
  return success();
}

LogicalResult Graph::addAutocast(AutocastOp op, Scope &scope) {
  autocasts.push_back(op);
  FailureOr<Scope *> inner = tables->getScope(op, scope);
  if (failed(inner))
    return failure();
  Block &body = op.getBody().front();
  if (failed(addBlock(body, **inner)))
    return failure();
  for (auto [result, yielded] :
       llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
    if (uint32_t value = lookup(yielded); value != none)
      index.try_emplace(result, value);
  return success();
}

void Graph::addConstant(Operation &op) {
  uint32_t value = addValue(op.getResult(0), none);
  if (value != none && values[value].declared == Kind::F32)
    values[value].root = value;
}

uint32_t Graph::addNode(Operation &op, Step step, Scope &scope) {
  Node &node = nodes.emplace_back();
  node.op = &op;
  node.step = step;
  node.scope = &scope;
  node.ordinal = numOps - 1;
  if (isa<onnx::SchemaOpInterface>(op))
    node.info = &tables->getInfo(&op, scope);
  if (step == Step::Yield) {
    node.region = openRegions.back();
    if (node.region != none)
      regions[node.region].yields.push_back(nodes.size() - 1);
  }
  node.firstOperand = node.endOperand = operands.size();
  node.firstResult = node.endResult = results.size();
  return nodes.size() - 1;
}

/// A node without float slots decides nothing.
void Graph::finishNode(uint32_t number) {
  const Node &node = nodes.back();
  if (node.step == Step::Op && number + 1 == nodes.size() &&
      node.firstOperand == node.endOperand &&
      node.firstResult == node.endResult)
    nodes.pop_back();
}

namespace {

/// Formal parameters of the operands or results of one op.
class Formals {
public:
  Formals(const Node &node, bool inputs) {
    if (!node.info || node.step != Step::Op)
      return;
    const onnx::OpSpec &spec = *node.info->spec;
    formals = inputs ? spec.inputs : spec.outputs;
    held = node.info->held;
    if (!(inputs ? spec.sizedInputs : spec.sizedOutputs))
      return;
    auto op = cast<onnx::SchemaOpInterface>(node.op);
    for (unsigned i = 0; i < formals.size(); ++i) {
      auto [first, count] = inputs ? op.getInputRange(i) : op.getOutputRange(i);
      ofValue.append(count, i);
    }
  }

  /// The slot of operand or result `number`, which is `value` in the graph.
  Slot makeSlot(uint32_t value, uint32_t number, Kind kind) const {
    Slot slot{value, number, /*var=*/-1, /*formal=*/0, /*eligible=*/false,
              kind};
    if (formals.empty())
      return slot;
    unsigned formal = ofValue.empty()
                          ? std::min<unsigned>(slot.number, formals.size() - 1)
                          : ofValue[slot.number];
    slot.formal = formal;
    slot.var = formals[formal].typeVar;
    slot.eligible =
        slot.kind == Kind::F32 && slot.var >= 0 && !contains(held, slot.var);
    return slot;
  }

private:
  ArrayRef<onnx::FormalSpec> formals;
  SmallVector<uint8_t, 16> ofValue;
  VarSet held = 0;
};

} // namespace

void Graph::addOperandSlots(Node &node) {
  node.firstOperand = operands.size();
  Formals formals(node, /*inputs=*/true);
  for (auto [number, operand] : llvm::enumerate(node.op->getOperands())) {
    if (!isa<TensorType>(operand.getType()))
      continue;
    uint32_t value = lookup(operand);
    if (value != none)
      operands.push_back(
          formals.makeSlot(value, number, values[value].declared));
  }
  node.endOperand = operands.size();
}

void Graph::addResultSlots(Node &node, uint32_t producer) {
  node.firstResult = results.size();
  Formals formals(node, /*inputs=*/false);
  for (auto [number, result] : llvm::enumerate(node.op->getResults())) {
    uint32_t value = addValue(result, producer);
    if (value != none)
      results.push_back(
          formals.makeSlot(value, number, values[value].declared));
  }
  node.endResult = results.size();
}

void Graph::indexReaders() {
  firstReader.assign(values.size() + 1, 0);
  for (const Slot &slot : operands)
    ++firstReader[slot.value + 1];
  for (size_t value = 0; value < values.size(); ++value)
    firstReader[value + 1] += firstReader[value];
  readers.resize(operands.size());
  std::vector<uint32_t> next(firstReader.begin(), firstReader.end() - 1);
  for (auto [number, node] : llvm::enumerate(nodes))
    for (const Slot &slot : operandsOf(node))
      readers[next[slot.value]++] = number;
}

std::string Graph::keyOf(const Node &node) const {
  StringRef type = onnx::getOpType(node.op);
  if (type.empty())
    type = node.op->getName().getStringRef();
  return ("#" + llvm::Twine(node.ordinal) + ":" + type).str();
}

StringAttr Graph::nameOf(const Node &node) const {
  auto name =
      node.op->getAttrOfType<StringAttr>(onnx::OnnxDialect::getNameAttrName());
  if (name && !name.getValue().empty())
    return name;
  return StringAttr::get(node.op->getContext(), keyOf(node));
}

StringAttr Graph::nameOfValue(uint32_t number) const {
  Value value = values[number].value;
  // As getValueName, but without a look-up of the text.
  if (auto result = dyn_cast<OpResult>(value)) {
    auto names = dyn_cast_or_null<ArrayAttr>(
        result.getOwner()->getDiscardableAttr(outputsKey));
    if (names && result.getResultNumber() < names.size())
      if (auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]))
        if (!name.getValue().empty())
          return name;
  } else if (StringRef name = onnx::getValueName(value); !name.empty()) {
    return StringAttr::get(value.getContext(), name);
  }
  if (values[number].producer != none)
    return nameOf(nodes[values[number].producer]);
  return StringAttr::get(value.getContext(), isa<BlockArgument>(value)
                                                 ? "a graph input"
                                                 : "a constant");
}
