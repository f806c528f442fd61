//===- LintPositions.cpp - Arithmetic on positions ------------------------===//
//
// Lint rule about integers that count positions and are computed with as
// floats: a half type collapses those it does not hold.
//
//===----------------------------------------------------------------------===//

#include "Lint.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace amp;
using namespace amp::lint;

namespace {

/// Where integers in a value come from.
struct Origin {
  Operation *op = nullptr;
  /// They count something (Range, CumSum), so that they grow. Others matter
  /// only where they become angles.
  bool counts = false;
};

} // namespace

static bool isInteger(Value value) {
  auto type = dyn_cast_or_null<IntegerType>(
      onnx::getTensorElementType(value.getType()));
  return type && type.getWidth() > 8;
}

/// Whether all numbers of a Range are known to be at most `limit`.
static bool isShortRange(onnx::RangeOp range, int64_t limit) {
  auto isSmall = [&](Value value) {
    if (auto known = onnx::getConstantInts(value))
      return llvm::all_of(*known,
                          [&](int64_t v) { return std::abs(v) <= limit; });
    std::optional<float> known = getSplatValue(value);
    return known && std::abs(*known) <= limit;
  };
  return isSmall(range.getStart()) && isSmall(range.getLimit());
}

/// Ops that multiply or turn what they read.
static bool isArithmetic(Operation *op) {
  return isa<onnx::EinsumOp, onnx::GemmOp, onnx::MatMulOp, onnx::MulOp>(op);
}

static bool isAngle(Operation *op) { return isa<onnx::CosOp, onnx::SinOp>(op); }

void Linter::checkPositions() {
  llvm::DenseMap<Value, Origin> origins;
  llvm::DenseSet<Operation *> reported;
  auto originOf = [&](Operation *op) -> Origin {
    Origin origin;
    for (Value operand : op->getOperands()) {
      Origin next = origins.lookup(operand);
      if (next.op && (!origin.op || next.counts))
        origin = next;
    }
    return origin;
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    Origin origin = originOf(op);
    if (auto range = dyn_cast<onnx::RangeOp>(op)) {
      origin = isShortRange(range, getMaxExactInteger()) ? Origin()
                                                         : Origin{op, true};
    } else if (isa<onnx::CumSumOp>(op) && isInteger(op->getOperand(0))) {
      origin = {op, true};
    } else if (isa<onnx::CastOp>(op) && !origin.op &&
               isInteger(op->getOperand(0)) &&
               isCastable(op->getResult(0).getType()) &&
               !onnx::getConstantValue(op->getOperand(0))) {
      origin = {op, false};
    } else if (!isTransparent(op) && !isArithmetic(op) && !isAngle(op) &&
               !isa<onnx::AddOp, onnx::SubOp>(op)) {
      return;
    }
    if (!origin.op)
      return;
    bool isFloat =
        op->getNumResults() && isCastable(op->getResult(0).getType());
    bool suffers = isAngle(op) || (origin.counts && isArithmetic(op));
    if (isFloat && suffers && reported.insert(origin.op).second)
      report("half-positions", op,
             "computes with integers of " + describe(origin.op) +
                 " as floats, and " + getTypeName() + " holds integers up to " +
                 Twine(getMaxExactInteger()) +
                 " only: positions beyond fall together; keep this op and the "
                 "path to it in float32, for instance with "
                 "pin=<names>=f32");
    for (Value result : op->getResults())
      origins[result] = origin;
  });
}
