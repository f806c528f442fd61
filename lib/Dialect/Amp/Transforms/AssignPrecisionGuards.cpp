//===- AssignPrecisionGuards.cpp - Tiny constants under a division --------===//
//
// x / sqrt(mean(x * x) + 1e-6): where a tiny constant keeps a division from
// zero, what it is added to and what divides by it run in float32.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// Ops through which a guarded sum of squares, or a norm, is computed.
static bool isInNorm(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"Abs", "Mul", "Pow", "Sqrt"}, true)
      .Cases({"ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean"}, true)
      .Cases({"ReduceSum", "ReduceSumSquare"}, true)
      .Default(false);
}

static bool followsTypes(const Node &node) {
  return node.step == Step::Op && node.info && !node.keeps && !node.fixed &&
         node.opClass != OpClass::Narrow;
}

/// Below the normal range of float16, and of the size that keeps norms from
/// dividing by zero: 1e-5, 1e-6, 1e-12.
static constexpr float tinyBelow = 0x1p-14f;

/// The one constant of a guard holder, if it is a tiny number.
std::optional<float> Assigner::getTinyConstant(const Node &node,
                                               uint32_t &constant) {
  for (const Slot &slot : graph.operandsOf(node)) {
    uint32_t root = graph.values[slot.value].root;
    if (root == none || !slot.eligible)
      continue;
    auto type = dyn_cast<RankedTensorType>(graph.values[root].value.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 1)
      continue;
    float magnitude = getStats(root, node.scope->half).maxAbs;
    if (magnitude > 0 && magnitude < tinyBelow) {
      constant = root;
      return magnitude;
    }
  }
  return std::nullopt;
}

/// Whether a reader of the holder's result divides by it, or takes its root or
/// logarithm.
bool Assigner::protectsDivision(uint32_t holder) {
  for (const Slot &result : graph.resultsOf(graph.nodes[holder]))
    for (uint32_t reader : graph.readersOf(result.value)) {
      const Node &user = graph.nodes[reader];
      if (!user.info || user.info->fact->guard != GuardRole::User)
        continue;
      for (const Slot &slot : graph.operandsOf(user))
        if (slot.value == result.value &&
            slot.formal == user.info->fact->guardedSlot)
          return true;
    }
  return false;
}

/// Puts the holder, the norm it guards and the division it protects in
/// float32.
void Assigner::protectGuard(uint32_t holder, uint32_t constant) {
  Node &node = graph.nodes[holder];
  node.forced = Kind::F32;
  node.forcedRule = DecisionRule::Constant;
  node.forcedBy = graph.nameOfValue(constant);
  StringAttr name = graph.nameOf(node);
  auto force = [&](Node &other) {
    if (!followsTypes(other) || other.forced != Kind::Other)
      return false;
    other.forced = Kind::F32;
    other.forcedRule = DecisionRule::Guard;
    other.forcedBy = name;
    return true;
  };
  SmallVector<uint32_t> worklist = {holder};
  while (!worklist.empty()) {
    const Node &next = graph.nodes[worklist.pop_back_val()];
    for (const Slot &slot : graph.operandsOf(next)) {
      uint32_t producer = graph.values[slot.value].producer;
      if (producer == none || !graph.nodes[producer].info ||
          !isInNorm(graph.nodes[producer].info->spec->name))
        continue;
      if (force(graph.nodes[producer]))
        worklist.push_back(producer);
    }
  }
  for (const Slot &result : graph.resultsOf(node))
    for (uint32_t reader : graph.readersOf(result.value))
      if (graph.nodes[reader].info &&
          graph.nodes[reader].info->fact->guard == GuardRole::User)
        force(graph.nodes[reader]);
}

void Assigner::findGuards() {
  for (uint32_t number = 0; number < graph.nodes.size(); ++number) {
    const Node &node = graph.nodes[number];
    if (!followsTypes(node) || node.forced != Kind::Other ||
        node.scope->isProgramOrder() || !keepsLossyWide(node))
      continue;
    if (node.info->fact->guard != GuardRole::Holder &&
        node.info->spec->name != "Sub")
      continue;
    uint32_t constant = none;
    std::optional<float> tiny = getTinyConstant(node, constant);
    if (!tiny)
      continue;
    bool flushes = getStats(constant, node.scope->half).flushes > 0;
    if (flushes || protectsDivision(number))
      protectGuard(number, constant);
  }
}
