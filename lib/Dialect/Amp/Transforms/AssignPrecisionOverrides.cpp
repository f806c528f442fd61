//===- AssignPrecisionOverrides.cpp - Types that the user fixed -----------===//
//
// Reads pins, finds the nodes they name, and refuses what cannot be.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecisionOverrides.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

llvm::Error Pins::add(StringRef text, bool ofSlot) {
  StringRef option = ofSlot ? "pin-slot" : "pin";
  auto fail = [&](const Twine &what) {
    return llvm::createStringError("option '" + option + "=" + text +
                                   "': " + what);
  };
  auto [pattern, word] = text.rsplit('=');
  std::optional<Kind> kind = parseKind(word);
  if (pattern.size() == text.size() || !kind)
    return fail("expects a type, f32, f16 or bf16, after the last '='; a comma "
                "ends a pin, so write one that belongs to a name as '[,]'");
  Pin pin;
  pin.text = text.str();
  pin.kind = *kind;
  if (ofSlot) {
    auto [name, position] = pattern.rsplit(':');
    unsigned input;
    if (name.size() == pattern.size() || position.getAsInteger(10, input))
      return fail("expects ':' and the number of an input, from 0, before '='");
    pin.input = input;
    pattern = name;
  }
  pin.pattern = llvm::Regex(("^(" + pattern + ")$").str());
  std::string why;
  if (!pin.pattern.isValid(why))
    return fail("'" + pattern + "' is no regular expression: " + why);
  pins.push_back(std::move(pin));
  return llvm::Error::success();
}

LogicalResult Pins::apply(func::FuncOp function, Graph &graph) {
  if (pins.empty())
    return success();
  nodeOf.clear();
  pinOf.clear();
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.step == Step::Op || node.step == Step::Leave)
      nodeOf[node.op] = number;
  WalkResult result = function.walk([&](Operation *op) {
    if (isa<onnx::InitializerOp>(op))
      return WalkResult::advance();
    std::string name = onnx::getNodeName(op).str();
    auto it = nodeOf.find(op);
    // Reports and decision files number nodes without a name.
    if (name.empty() && it != nodeOf.end())
      name = graph.keyOf(graph.nodes[it->second]);
    if (name.empty())
      return WalkResult::advance();
    return WalkResult(applyTo(op, name, graph));
  });
  return failure(result.wasInterrupted());
}

static bool isShapeOnly(const Node &node) {
  return node.info && node.info->fact->shapeOnly;
}

LogicalResult Pins::applyTo(Operation *op, StringRef name, Graph &graph) {
  for (Pin &pin : pins) {
    if (!pin.pattern.match(name))
      continue;
    pin.used = true;
    auto it = nodeOf.find(op);
    // Without float values every type is right.
    if (!pin.input &&
        (it == nodeOf.end() || isShapeOnly(graph.nodes[it->second])))
      continue;
    if (it == nodeOf.end())
      return op->emitError() << "'" << name << "' has no float input for pin '"
                             << pin.text << "'";
    Node &node = graph.nodes[it->second];
    if (failed(pin.input ? pinInput(node, pin, graph) : pinNode(node, pin)))
      return failure();
  }
  return success();
}

/// Says why `var` cannot be `kind`, if it cannot.
static LogicalResult checkLegal(const Node &node, const Pin &pin, int var) {
  StringRef name = onnx::getNodeName(node.op);
  auto refuse = [&]() {
    return node.op->emitError()
           << "cannot pin '" << name << "' as '" << pin.text << "' asks: ";
  };
  if (node.rule == DecisionRule::Existing)
    return refuse() << "it has half types in the source, which stay";
  if (!isHalf(pin.kind))
    return success();
  if (node.rule == DecisionRule::Disabled)
    return refuse() << "autocast is off where it stands; give a dtype, or "
                       "enable the region around it";
  if (!node.info || node.step != Step::Op)
    return refuse() << "its types are not decided as a whole; pin ops in its "
                       "body, or nothing";
  if (contains(node.info->held, var))
    return refuse() << "this input keeps its type in every precision";
  if (!contains(node.info->legal(pin.kind), var))
    return refuse() << node.info->spec->name << " does not take "
                    << stringifyKind(pin.kind) << " there";
  return success();
}

/// A pin names a node and counts more than allow and deny, which name an
/// operator. Said for the first node of a pin.
static void tellPrecedence(const Node &node, Pin &pin) {
  bool half = isHalf(pin.kind);
  if (pin.told ||
      node.tableRule != (half ? DecisionRule::Deny : DecisionRule::Allow))
    return;
  pin.told = true;
  node.op->emitRemark() << "'" << onnx::getNodeName(node.op)
                        << "' is pinned by '" << pin.text << "' although "
                        << (half ? "deny=" : "allow=")
                        << onnx::getOpType(node.op)
                        << " asks for the opposite; the pin counts more";
}

LogicalResult Pins::pinNode(Node &node, Pin &pin) {
  if (failed(checkLegal(node, pin, node.info ? node.info->primaryVar : -1)))
    return failure();
  if (isHalf(pin.kind) && node.keeps)
    return node.op->emitError()
           << "cannot pin '" << onnx::getNodeName(node.op) << "' as '"
           << pin.text << "' asks: " << onnx::getOpType(node.op)
           << " has no precision to decide";
  const Pin *&first = pinOf[&node];
  if (first && first->kind != pin.kind)
    return node.op->emitError()
           << "'" << onnx::getNodeName(node.op) << "' is pinned both by '"
           << first->text << "' and by '" << pin.text << "'";
  tellPrecedence(node, pin);
  first = &pin;
  node.forced = pin.kind;
  node.forcedRule = DecisionRule::Pin;
  node.forcedBy = StringAttr::get(node.op->getContext(), pin.text);
  return success();
}

LogicalResult Pins::pinInput(Node &node, Pin &pin, Graph &graph) {
  auto refuse = [&]() {
    return node.op->emitError()
           << "cannot pin an input of '" << onnx::getNodeName(node.op)
           << "' as '" << pin.text << "' asks: ";
  };
  if (!node.info || node.step != Step::Op)
    return refuse() << "its types are not decided as a whole";
  SmallVector<Value> inputs = onnx::getPositionalInputs(node.op);
  if (*pin.input >= inputs.size() || !inputs[*pin.input])
    return refuse() << "it has no input " << *pin.input;
  // Operands are the inputs that are present, in order.
  uint32_t number = llvm::count_if(ArrayRef(inputs).take_front(*pin.input),
                                   [](Value value) { return bool(value); });
  const Slot *slot = findSlot(graph.operandsOf(node), number);
  if (!slot || graph.values[slot->value].declared != Kind::F32)
    return refuse() << "input " << *pin.input << " is no float32 tensor";
  if (failed(checkLegal(node, pin, slot->var)))
    return failure();
  if (isHalf(pin.kind) && (!slot->eligible || node.keeps))
    return refuse() << "this input keeps its type in every precision";
  if (slot->var == node.info->primaryVar)
    return pinNode(node, pin);
  if (!slot->eligible)
    return success();
  SlotPin wanted{slot->var, pin.kind,
                 StringAttr::get(node.op->getContext(), pin.text)};
  for (const SlotPin &other : graph.slotPins[&node - graph.nodes.data()])
    if (other.var == wanted.var && other.kind != wanted.kind)
      return node.op->emitError()
             << "inputs of one type of '" << onnx::getNodeName(node.op)
             << "' are pinned both by '" << other.by.getValue() << "' and by '"
             << pin.text << "'";
  graph.slotPins[&node - graph.nodes.data()].push_back(wanted);
  return success();
}

LogicalResult Pins::checkUsed(ModuleOp module) const {
  for (const Pin &pin : pins)
    if (!pin.used)
      return emitError(module.getLoc())
             << "option '" << (pin.input ? "pin-slot" : "pin") << "="
             << pin.text
             << "' matches no node; a pattern must match a whole name";
  return success();
}
