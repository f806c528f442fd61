//===- AssignPrecisionConstants.cpp - What half types do to constants -----===//
//
// Counts the values of constants that a half type cannot hold, each constant
// once, and says when an op should stay in float32 for them.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "ConstantStats.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// Constants up to this size are looked at although the op may stay in float32
/// anyway.
static constexpr uint64_t smallConstant = 4096;

/// A weight tensor of a contraction, or a vector of parameters, may lose this
/// share of its nonzero values to zero: they are then tiny beside the others.
static constexpr uint64_t flushShare = 16;

static HalfFormat getFormat(Kind half) {
  return half == Kind::F16 ? HalfFormat::Float16 : HalfFormat::BFloat16;
}

/// A factor that loses this share of itself is another factor; numbers of
/// ordinary size lose at most an eighth of that.
static constexpr float distortedShare = 0x1p-8f;

/// Whether a half type makes the number another one for the op: it was chosen
/// to be not quite one (a bound before 1 - p, log or atanh) and becomes one, or
/// it is a factor below the type's normal range that loses much. A summand may
/// do that: what it lacks is nothing beside what it is added to.
static bool isDistorted(const Node &node, float value, HalfFormat format) {
  float rounded = convertFromHalf(convertToHalf(value, format), format);
  if (std::fabs(rounded) == 1 && std::fabs(value) != 1)
    return true;
  StringRef op = node.info->spec->name;
  return (op == "Mul" || op == "Div") &&
         std::fabs(rounded - value) > distortedShare * std::fabs(value);
}

static uint64_t getSize(const ValueState &value) {
  auto shaped = dyn_cast<ShapedType>(value.value.getType());
  return shaped && shaped.hasStaticShape() ? shaped.getNumElements() : 0;
}

const NarrowingStats &Assigner::getStats(uint32_t root, Kind half) {
  auto [it, isNew] = stats.try_emplace({root, uint32_t(half)});
  if (isNew)
    it->second = countNarrowing(graph.values[root].value, getFormat(half));
  return it->second;
}

bool Assigner::keepsLossyWide(const Node &node) const {
  switch (options.lossyConstants) {
  case LossyConstants::Wide:
    return true;
  case LossyConstants::Keep:
    return false;
  case LossyConstants::ByPolicy:
    return !node.scope->isProgramOrder();
  }
  llvm_unreachable("covered switch");
}

/// The worst constant among the operands that would be `half`. Without
/// `scanLarge`, large constants not counted yet are taken to be fine.
Loss Assigner::findLoss(const Node &node, Kind half, bool scanLarge) {
  VarSet vars = node.info->decided(node.opClass) & node.info->legal(half);
  const OpFact &fact = *node.info->fact;
  Loss worst;
  for (const Slot &slot : graph.operandsOf(node)) {
    uint32_t root = graph.values[slot.value].root;
    if (root == none || !slot.eligible || !contains(vars, slot.var))
      continue;
    Loss loss;
    loss.root = root;
    loss.size = getSize(graph.values[root]);
    if (!scanLarge && loss.size > smallConstant &&
        !stats.contains({root, uint32_t(half)}))
      continue;
    loss.stats = getStats(root, half);
    loss.distorted =
        loss.size == 1 && isDistorted(node, loss.stats.maxAbs, getFormat(half));
    if (loss.stats.overflows == 0 && loss.stats.flushes == 0 && !loss.distorted)
      continue;
    bool isDivisor =
        fact.guard == GuardRole::User && slot.formal == fact.guardedSlot;
    loss.forbids = loss.stats.overflows > 0 || loss.size <= 1 || isDivisor ||
                   loss.stats.flushes * flushShare > loss.size;
    if (worst.root == none || (loss.forbids && !worst.forbids))
      worst = loss;
  }
  return worst;
}

static std::string describe(const Loss &loss) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "of " << loss.size << (loss.size == 1 ? " value" : " values");
  if (loss.stats.overflows)
    os << ", " << loss.stats.overflows << " over range";
  if (loss.stats.overflows && loss.stats.flushes)
    os << " and";
  else if (loss.stats.flushes)
    os << ",";
  if (loss.stats.flushes)
    os << " " << loss.stats.flushes << " flushed to zero";
  if (!loss.stats.overflows && !loss.stats.flushes)
    os << ", " << loss.stats.maxAbs << ", which the half type makes another";
  return text;
}

/// Names the constant and the counts in the node's reason.
void Assigner::explainLoss(Node &node, const Loss &loss) {
  StringAttr name = graph.nameOfValue(loss.root);
  node.by = name;
  node.note =
      StringAttr::get(node.op->getContext(), "Constant '" + name.getValue() +
                                                 "': " + describe(loss) + ".");
}

/// Ops that run narrow although a constant loses values say so.
void Assigner::noteLosses() {
  for (Node &node : graph.nodes) {
    if (node.step != Step::Op || node.keeps || !node.info)
      continue;
    Kind half = Kind::Other;
    for (const Slot &slot : graph.operandsOf(node))
      if (slot.eligible && isHalf(slot.kind) &&
          graph.values[slot.value].isConstant())
        half = slot.kind;
    if (half == Kind::Other)
      continue;
    Loss loss = findLoss(node, half, /*scanLarge=*/true);
    if (loss.root != none)
      explainLoss(node, loss);
  }
}

/// How far float32 results go that the op's types do not bound.
Range Assigner::rangeOfKept(const Node &node) {
  if (isa<onnx::CastOp>(node.op)) {
    Type from = onnx::getTensorElementType(node.op->getOperand(0).getType());
    bool isSmall = from.isInteger() && from.getIntOrFloatBitWidth() <= 8;
    return isSmall ? Range::Safe : Range::Unknown;
  }
  auto fill = dyn_cast<onnx::ConstantOfShapeOp>(node.op);
  if (!fill)
    return Range::Unknown;
  auto value = dyn_cast_or_null<DenseElementsAttr>(fill.getValueAttr());
  if (!value || !value.getElementType().isF32())
    return Range::Safe;
  Kind half = isHalf(node.scope->half) ? node.scope->half : Kind::F16;
  NarrowingStats stats =
      countNarrowing(value.getRawData().data(), 1, getFormat(half));
  return stats.overflows || stats.flushes ? Range::Hazard : Range::Safe;
}
