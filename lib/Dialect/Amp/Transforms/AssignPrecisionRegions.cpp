//===- AssignPrecisionRegions.cpp - If, Loop, Scan and outputs ------------===//
//
// The types that cross the border of a body. Branches agree or are float32;
// carried values agree all the way round.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// Operand `number` of `node`, null when it is no float.
static Slot *operandSlot(Graph &graph, const Node &node, uint32_t number) {
  return findSlot(graph.operandsOf(node), number);
}

/// Whether carried values may be half at all.
static bool mayCarryHalf(const Graph &graph, const Node &node) {
  const Node &leave = graph.nodes[graph.regions[node.region].leave];
  return node.scope->enabled && node.scope->isProgramOrder() &&
         leave.forced != Kind::F32;
}

void Assigner::enterRegion(Node &node) {
  RegionState &region = graph.regions[node.region];
  for (Slot &slot : graph.operandsOf(node))
    slot.kind = graph.values[slot.value].declared;
  if (isa<onnx::IfOp>(node.op))
    return;
  CarriedLayout carried = getCarriedLayout(node.op);
  for (auto [number, argument] : llvm::enumerate(region.arguments)) {
    if (argument == none || number < carried.firstArgument)
      continue;
    unsigned index = number - carried.firstArgument;
    ValueState &value = graph.values[argument];
    value.kind = value.declared;
    value.range = Range::Hazard;
    Slot *slot = operandSlot(graph, node, carried.firstOperand + index);
    if (!slot || value.declared != Kind::F32 || slot->kind != Kind::F32)
      continue;
    const ValueState &outer = graph.values[slot->value];
    bool isCarried = index < carried.count;
    // Slices of a scan input have the type of the whole.
    bool takesHalf =
        isHalf(outer.kind) && !outer.open &&
        (!isCarried || (mayCarryHalf(graph, node) && !region.demoted[index]));
    if (takesHalf)
      slot->kind = value.kind = outer.kind;
    if (!isCarried)
      value.range = isHalf(outer.kind) ? Range::Safe : outer.range;
  }
}

uint32_t Assigner::leaveRegion(uint32_t number) {
  Node &node = graph.nodes[number];
  RegionState &region = graph.regions[node.region];
  bool isIf = isa<onnx::IfOp>(node.op);
  node.rule = node.forced != Kind::Other ? node.forcedRule
              : isIf                     ? DecisionRule::Region
                                         : DecisionRule::Loop;
  node.by = node.forcedBy;
  if (isIf) {
    leaveIf(node, region);
    return number + 1;
  }
  return leaveLoop(node, region) ? number + 1 : region.enter;
}

void Assigner::setResult(Slot &slot, Kind kind, Range range) {
  ValueState &value = graph.values[slot.value];
  slot.kind = value.kind = kind;
  value.open = false;
  value.range = isHalf(kind) ? Range::Safe : range;
}

/// A result is half when all branches yield it so.
void Assigner::leaveIf(const Node &node, const RegionState &region) {
  for (Slot &result : graph.resultsOf(node)) {
    Kind kind = Kind::Other;
    Range range = Range::Safe;
    SmallVector<Slot *> yielded;
    for (uint32_t yield : region.yields) {
      Slot *slot = operandSlot(graph, graph.nodes[yield], result.number);
      if (!slot)
        continue;
      const ValueState &value = graph.values[slot->value];
      Kind arriving = value.open ? Kind::F32 : value.kind;
      kind = kind == Kind::Other || kind == arriving ? arriving : Kind::F32;
      range = std::max(range, value.range);
      yielded.push_back(slot);
    }
    Kind declared = graph.values[result.value].declared;
    if (declared != Kind::F32 || !isHalf(kind) || node.forced == Kind::F32)
      kind = declared;
    for (Slot *slot : yielded)
      slot->kind = kind;
    setResult(result, kind, range);
  }
}

/// False when a carried value must be demoted and the body decided anew.
bool Assigner::leaveLoop(const Node &node, RegionState &region) {
  const Node &enter = graph.nodes[region.enter];
  const Node &yield = graph.nodes[region.yields.front()];
  CarriedLayout carried = getCarriedLayout(node.op);
  bool agrees = true;
  for (Slot &result : graph.resultsOf(node)) {
    Slot *slot =
        operandSlot(graph, yield, carried.firstYielded + result.number);
    if (!slot)
      continue;
    const ValueState &value = graph.values[slot->value];
    Kind arriving = value.open ? Kind::F32 : value.kind;
    if (result.number >= carried.count) {
      // Scan outputs stack what the body yields.
      slot->kind = graph.values[result.value].declared == Kind::F32
                       ? arriving
                       : value.declared;
      setResult(result, slot->kind, value.range);
      continue;
    }
    const Slot *initial =
        operandSlot(graph, enter, carried.firstOperand + result.number);
    Kind kind = initial ? initial->kind : Kind::F32;
    if (isHalf(kind) && value.declared == Kind::F32 && arriving != kind) {
      region.demoted[result.number] = true;
      agrees = false;
    }
    slot->kind = kind;
    setResult(result, kind, Range::Hazard);
  }
  return agrees;
}

/// Yields are set when their region is left; outputs of the function, and
/// bodies that autocast does not look through, keep their types.
void Assigner::decideBoundary(Node &node) {
  bool keeps = node.step == Step::Yield || options.keepOutputs;
  for (Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    slot.kind = keeps || value.open ? value.declared : value.kind;
  }
}
