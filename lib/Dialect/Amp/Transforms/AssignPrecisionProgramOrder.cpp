//===- AssignPrecisionProgramOrder.cpp - As an eager framework would ------===//
//
// Type promotion op by op: what PyTorch's autocast gives operators it lists
// nowhere.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// Two different types meet in float32.
static Kind join(Kind left, Kind right) {
  if (left == Kind::Other || left == right)
    return right;
  return Kind::F32;
}

/// Operands with dimensions decide; without any, rank-0 tensors; constants of
/// rank 0 were numbers in the program and never decide.
Kind Assigner::promotedKind(const Node &node) {
  Kind dimensioned = Kind::Other, scalar = Kind::Other;
  VarSet vars = node.info->decided(node.opClass);
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    if (!slot.eligible || !contains(vars, slot.var))
      continue;
    if (!value.isScalar)
      dimensioned = join(dimensioned, value.kind);
    else if (!value.isConstant())
      scalar = join(scalar, value.kind);
  }
  return dimensioned != Kind::Other ? dimensioned : scalar;
}

void Assigner::decideProgramOrder(Node &node) {
  Kind kind = Kind::F32;
  if (node.opClass == OpClass::Promote) {
    kind = promotedKind(node);
  } else {
    for (const Slot &slot : graph.operandsOf(node))
      if (slot.eligible && slot.formal == node.info->fact->primary) {
        kind = graph.values[slot.value].kind;
        break;
      }
  }
  DecisionRule rule = node.opClass == OpClass::Promote ? DecisionRule::Promote
                                                       : DecisionRule::Follow;
  if (!isHalf(kind))
    return setWide(node, rule);
  if (!isLegal(node, kind))
    return setWide(node, DecisionRule::Illegal);
  if (keepsLossyWide(node)) {
    Loss loss = findLoss(node, kind, /*scanLarge=*/true);
    if (loss.forbids) {
      explainLoss(node, loss);
      return setWide(node, DecisionRule::Constant);
    }
  }
  setHalf(node, kind, rule);
}
