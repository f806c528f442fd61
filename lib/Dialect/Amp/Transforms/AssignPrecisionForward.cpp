//===- AssignPrecisionForward.cpp - One op after the other ----------------===//
//
// Decides what classes and arriving types decide, in program order, and leaves
// ops open that casts alone should place.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

void Assigner::forward() {
  for (ValueState &value : graph.values) {
    value.open = false;
    value.kind = value.declared;
    value.alsoAs = Kind::Other;
    if (value.producer == none && value.assumed &&
        value.range == Range::Unknown)
      value.range = Range::Safe;
  }
  for (uint32_t number = 0; number < graph.nodes.size();) {
    Node &node = graph.nodes[number];
    switch (node.step) {
    case Step::Op:
      decideOp(node);
      break;
    case Step::Enter:
      enterRegion(node);
      break;
    case Step::Leave:
      number = leaveRegion(number);
      continue;
    case Step::Yield:
    case Step::Return:
      decideBoundary(node);
      break;
    }
    ++number;
  }
}

void Assigner::decideOp(Node &node) {
  node.open = false;
  if (node.fixed)
    return decideFixed(node);
  node.by = node.note = {};
  node.byValue = none;
  if (node.keeps)
    return decideKept(node);
  if (node.forced != Kind::Other)
    return decideForced(node);
  switch (node.opClass) {
  case OpClass::Narrow:
    return decideNarrow(node);
  case OpClass::Wide:
    return setWide(node, node.tableRule);
  default:
    return node.scope->isProgramOrder() ? decideProgramOrder(node)
                                        : decideFewestCasts(node);
  }
}

/// Whether the variable of the op's main operand may be `half`.
bool Assigner::isLegal(const Node &node, Kind half) const {
  VarSet vars = node.info->decided(node.opClass) & node.info->legal(half);
  return contains(vars, node.info->primaryVar);
}

void Assigner::decideForced(Node &node) {
  node.by = node.forcedBy;
  if (node.forced != Kind::F32)
    return setHalf(node, node.forced, node.forcedRule);
  // The table's own reason is the better one.
  if (node.opClass == OpClass::Wide && node.forcedRule == DecisionRule::Guard) {
    node.by = {};
    return setWide(node, node.tableRule);
  }
  setWide(node, node.forcedRule);
}

void Assigner::decideNarrow(Node &node) {
  Kind half = node.scope->half;
  if (!isLegal(node, half))
    return setWide(node, DecisionRule::Illegal);
  if (keepsLossyWide(node)) {
    Loss loss = findLoss(node, half, /*scanLarge=*/true);
    if (loss.forbids) {
      explainLoss(node, loss);
      return setWide(node, DecisionRule::Constant);
    }
  }
  setHalf(node, half, node.tableRule);
}

//===----------------------------------------------------------------------===//
// Ops that keep their types
//===----------------------------------------------------------------------===//

/// A cast of the user reads what arrives: widening first would change nothing.
/// Its result is what the user said.
void Assigner::decideKept(Node &node) {
  bool isCast = isa<onnx::CastOp, CastOp>(node.op);
  for (Slot &slot : graph.operandsOf(node)) {
    ValueState &value = graph.values[slot.value];
    slot.kind = value.declared;
    if (isCast && isHalf(value.kind))
      slot.kind = value.kind;
  }
  bool mayRetarget = isa<onnx::CastOp>(node.op) && node.scope->enabled &&
                     !node.scope->isProgramOrder() &&
                     node.firstOperand == node.endOperand;
  if (mayRetarget && node.firstResult != node.endResult &&
      graph.resultsOf(node).front().kind == Kind::F32) {
    Type from = onnx::getTensorElementType(node.op->getOperand(0).getType());
    if (from.isInteger())
      return leaveOpen(node);
  }
  for (Slot &slot : graph.resultsOf(node))
    slot.kind = graph.values[slot.value].declared;
  finishResults(node);
  if (!isCast)
    return;
  for (const Slot &slot : graph.operandsOf(node))
    for (const Slot &result : graph.resultsOf(node))
      if (isHalf(slot.kind) && result.kind == Kind::F32) {
        graph.values[result.value].alsoAs = slot.kind;
        graph.values[result.value].range = Range::Safe;
      }
}

/// The slots are the user's.
void Assigner::decideFixed(Node &node) { finishResults(node); }

//===----------------------------------------------------------------------===//
// Setting slots
//===----------------------------------------------------------------------===//

/// The type in which the operands of a variable arrive, float32 unless they
/// agree on a half type.
Kind Assigner::arrivingKind(const Node &node, int var) {
  Kind joined = Kind::Other;
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    if (!slot.eligible || slot.var != var)
      continue;
    if (!isHalf(value.kind) || value.open ||
        !contains(node.info->legal(value.kind), var))
      return Kind::F32;
    if (joined != Kind::Other && joined != value.kind)
      return Kind::F32;
    joined = value.kind;
  }
  return joined == Kind::Other ? Kind::F32 : joined;
}

void Assigner::setHalf(Node &node, Kind half, DecisionRule rule) {
  OpClass opClass = node.forced == half ? OpClass::Narrow : node.opClass;
  VarSet vars = node.info->decided(opClass) & node.info->legal(half);
  bool castsAll = opClass == OpClass::Narrow || opClass == OpClass::Promote;
  auto set = [&](Slot &slot) {
    if (!slot.eligible)
      return;
    if (contains(vars, slot.var))
      slot.kind = half;
    else
      slot.kind = castsAll ? Kind::F32 : arrivingKind(node, slot.var);
  };
  for (Slot &slot : graph.operandsOf(node))
    set(slot);
  for (Slot &slot : graph.resultsOf(node))
    set(slot);
  node.rule = rule;
  finishResults(node);
}

void Assigner::setWide(Node &node, DecisionRule rule) {
  for (Slot &slot : graph.operandsOf(node))
    if (slot.eligible)
      slot.kind = Kind::F32;
  for (Slot &slot : graph.resultsOf(node))
    if (slot.eligible)
      slot.kind = Kind::F32;
  node.rule = rule;
  finishResults(node);
}

void Assigner::leaveOpen(Node &node) {
  node.open = true;
  setWide(node, DecisionRule::MinCut);
}

/// Pins of single inputs hold whatever was decided for the op.
void Assigner::applySlotPins(Node &node) {
  auto pins = graph.slotPins.find(&node - graph.nodes.data());
  if (pins == graph.slotPins.end())
    return;
  auto set = [&](Slot &slot) {
    for (const SlotPin &pin : pins->second)
      if (slot.eligible && slot.var == pin.var)
        slot.kind = pin.kind;
  };
  llvm::for_each(graph.operandsOf(node), set);
  llvm::for_each(graph.resultsOf(node), set);
  node.open = false;
  node.rule = DecisionRule::Pin;
  node.by = pins->second.front().by;
}

/// Tells the results' values what the node's slots say.
void Assigner::finishResults(Node &node) {
  if (!graph.slotPins.empty())
    applySlotPins(node);
  MutableArrayRef<Slot> results = graph.resultsOf(node);
  if (results.empty())
    return;
  Range range = rangeOfResults(node);
  for (const Slot &slot : results) {
    ValueState &value = graph.values[slot.value];
    value.kind = slot.kind;
    value.open = node.open && slot.eligible;
    value.range = isHalf(slot.kind) ? Range::Safe : range;
    if (value.assumed && value.range == Range::Unknown)
      value.range = Range::Safe;
  }
}

/// How far the float32 results of a node may go.
Range Assigner::rangeOfResults(const Node &node) {
  if (!node.info || (node.keeps && node.rule == DecisionRule::Disabled))
    return Range::Hazard;
  if (node.info->fact->range == ValueRange::Bounded)
    return Range::Safe;
  if (node.keeps)
    return rangeOfKept(node);
  switch (node.rule) {
  case DecisionRule::Constant:
  case DecisionRule::Guard:
  case DecisionRule::Pin:
  case DecisionRule::File:
    return Range::Hazard;
  default:
    break;
  }
  Range range = Range::Safe;
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    if (slot.eligible && !value.isConstant() && !isHalf(value.kind))
      range = std::max(range, value.range);
  }
  if (node.info->fact->range == ValueRange::Expands)
    range = std::max(range, node.open ? Range::Unknown : Range::Hazard);
  return range;
}

//===----------------------------------------------------------------------===//
// Fewest casts
//===----------------------------------------------------------------------===//

/// An op of class promote, follow or move: float32 beside a value that may be
/// out of range, else half beside a half value, else left to the min-cut.
void Assigner::decideFewestCasts(Node &node) {
  Kind half = Kind::Other;
  uint32_t hazard = none, unknown = none, narrow = none;
  bool mixed = false, halfAtHand = false;
  VarSet vars = node.info->decided(node.opClass);
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    if (!slot.eligible || !contains(vars, slot.var) || value.isConstant())
      continue;
    if (isHalf(value.kind)) {
      mixed |= half != Kind::Other && half != value.kind;
      half = value.kind;
      narrow = slot.value;
      continue;
    }
    halfAtHand |= isHalf(value.alsoAs);
    if (value.range == Range::Hazard && hazard == none)
      hazard = slot.value;
    if (value.range == Range::Unknown && unknown == none)
      unknown = slot.value;
  }
  if (hazard != none || mixed ||
      (unknown != none && (half != Kind::Other || halfAtHand))) {
    uint32_t by = hazard != none ? hazard : mixed ? narrow : unknown;
    node.byValue = by;
    return setWide(node, hazard != none ? DecisionRule::Range
                                        : DecisionRule::Promote);
  }
  Kind target = half == Kind::Other ? node.scope->half : half;
  if (!isLegal(node, target))
    return setWide(node, DecisionRule::Illegal);
  if (keepsLossyWide(node)) {
    Loss loss = findLoss(node, target, /*scanLarge=*/half != Kind::Other);
    if (loss.forbids) {
      explainLoss(node, loss);
      return setWide(node, DecisionRule::Constant);
    }
  }
  if (half == Kind::Other)
    return leaveOpen(node);
  node.byValue = narrow;
  setHalf(node, half, DecisionRule::Follow);
}
