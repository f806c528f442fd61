//===- LintConstants.cpp - Constants that a half type cannot hold ---------===//
//
// Lint rules about guards that vanish, masks and weights out of range.
//
//===----------------------------------------------------------------------===//

#include "ConstantStats.h"
#include "Lint.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::lint;

/// Relative error from which a rounded guard is worth a word; a normal half
/// number has at most 2^-11.
static constexpr float maxGuardError = 1.0f / 256;

/// Weights may lose this share of their values to zero unmentioned: they are
/// tiny beside the others.
static constexpr uint64_t flushShare = 16;

//===----------------------------------------------------------------------===//
// underflowing-guard
//===----------------------------------------------------------------------===//

/// The op that must not read zero and reads `value`, maybe moved; null when
/// there is none.
Operation *Linter::findProtected(Value value) {
  SmallVector<Value> copies{value};
  llvm::DenseSet<Value> seen;
  while (!copies.empty()) {
    Value copy = copies.pop_back_val();
    if (!seen.insert(copy).second)
      continue;
    for (OpOperand &use : copy.getUses()) {
      Operation *user = use.getOwner();
      const OpFact &fact = facts.lookup(onnx::getOpType(user));
      if (fact.guard == GuardRole::User &&
          use.getOperandNumber() == fact.guardedSlot)
        return user;
      if (isTransparent(user))
        llvm::append_range(copies, user->getResults());
    }
  }
  return nullptr;
}

void Linter::checkGuard(Operation *holder) {
  for (Value operand : holder->getOperands()) {
    std::optional<float> value = getSplatValue(operand);
    if (!value || *value == 0 || !std::isfinite(*value))
      continue;
    float rounded = roundToHalf(*value, format);
    if (!std::isfinite(rounded) ||
        std::abs(rounded - *value) <= maxGuardError * std::abs(*value))
      continue;
    Operation *user = findProtected(holder->getResult(0));
    if (!user)
      continue;
    reportedConstants.insert(operand);
    StringRef smallest = isFloat16() ? "6.2e-05" : "1.2e-38";
    std::string is = formatFloat(*value) + " becomes " + formatFloat(rounded) +
                     " in " + getTypeName().str();
    if (rounded != 0)
      report("underflowing-guard", holder,
             is + ", which is less precise than other numbers, and guards " +
                 describe(user) +
                 "; keep both in float32 if that matters, or take a guard of "
                 "at least " +
                 smallest);
    else
      report("underflowing-guard", holder,
             is + " and guards " + describe(user) +
                 " no more; keep both and what is between in float32, or take "
                 "a guard of at least " +
                 smallest);
  }
}

void Linter::checkGuards() {
  function.walk([&](Operation *op) {
    const OpFact &fact = facts.lookup(onnx::getOpType(op));
    if (op->getNumResults() == 1 &&
        (fact.guard == GuardRole::Holder || isa<onnx::SubOp>(op)))
      checkGuard(op);
  });
}

//===----------------------------------------------------------------------===//
// overflowing-mask
//===----------------------------------------------------------------------===//

/// Ops whose results reach a Softmax through sums, products and choices.
llvm::DenseSet<Operation *> Linter::findSoftmaxFeeders() {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<onnx::AddOp, onnx::MulOp, onnx::SubOp, onnx::WhereOp>(op) ||
        isTransparent(op))
      ops.push_back(op);
  });
  llvm::DenseSet<Operation *> feeders;
  // Backwards, readers come first.
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getUsers(), [&](Operation *user) {
          return isa<onnx::SoftmaxOp, onnx::LogSoftmaxOp>(user) ||
                 feeders.contains(user);
        }))
      feeders.insert(op);
  return feeders;
}

void Linter::checkMasks() {
  llvm::DenseSet<Operation *> feeders = findSoftmaxFeeders();
  StringRef limit = isFloat16() ? "65504" : "3.38e+38";
  function.walk([&](Operation *op) {
    if (!feeders.contains(op) || isTransparent(op))
      return;
    for (Value operand : op->getOperands()) {
      std::optional<float> value = getSplatValue(operand);
      if (!value || !std::isfinite(*value) ||
          std::isfinite(roundToHalf(*value, format)))
        continue;
      reportedConstants.insert(operand);
      report("overflowing-mask", op,
             formatFloat(*value) + " becomes infinite in " + getTypeName() +
                 " on the way to a Softmax, which gives NaN where all is "
                 "masked; keep it in float32, set lossy-constants=clamp, or "
                 "take a mask of -" +
                 limit);
    }
  });
}

//===----------------------------------------------------------------------===//
// weight-range
//===----------------------------------------------------------------------===//

/// Whether some reader could be given the value in half.
static bool canNarrow(Value constant, const OpFacts &facts) {
  return llvm::any_of(constant.getUses(), [&](OpOperand &use) {
    return isa<onnx::SchemaOpInterface>(use.getOwner()) &&
           !facts.lookup(onnx::getOpType(use.getOwner()))
                .isFixedSlot(use.getOperandNumber());
  });
}

void Linter::checkWeights() {
  function.walk([&](Operation *op) {
    if (!isa<onnx::InitializerOp, onnx::ConstantOp>(op))
      return;
    Value constant = op->getResult(0);
    auto type = dyn_cast<RankedTensorType>(constant.getType());
    if (!type || !type.getElementType().isF32() || !type.hasStaticShape() ||
        reportedConstants.contains(constant) || !canNarrow(constant, facts))
      return;
    NarrowingStats stats = countNarrowing(constant, format);
    if (!stats.overflows &&
        stats.flushes * flushShare <= uint64_t(type.getNumElements()))
      return;
    report("weight-range", op,
           "of " + Twine(type.getNumElements()) + " values, " +
               Twine(stats.overflows) + " would be infinite and " +
               Twine(stats.flushes) + " zero in " + getTypeName() +
               "; keep its readers in float32 (the default of the balanced "
               "policy), or set lossy-constants=clamp");
  });
}
