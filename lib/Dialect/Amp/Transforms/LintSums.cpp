//===- LintSums.cpp - Sums a half type cannot count -----------------------===//
//
// Lint rule about sums of more elements than the type has exact integers.
//
//===----------------------------------------------------------------------===//

#include "Lint.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::lint;

/// Product of the sizes along `axes`; none if one is unknown or no axis.
static std::optional<int64_t> countAlong(RankedTensorType type,
                                         ArrayRef<int64_t> axes) {
  int64_t count = 1;
  for (int64_t axis : axes) {
    int64_t index = axis < 0 ? axis + type.getRank() : axis;
    if (index < 0 || index >= type.getRank() || type.isDynamicDim(index))
      return std::nullopt;
    count *= type.getDimSize(index);
  }
  return count;
}

static SmallVector<int64_t> getAllAxes(RankedTensorType type,
                                       int64_t first = 0) {
  return llvm::to_vector(llvm::seq<int64_t>(first, type.getRank()));
}

/// Without axes a reduction is over all of them, or over none on request.
template <typename ReduceOp>
static std::optional<int64_t> countReduced(ReduceOp op, RankedTensorType type) {
  if (Value axes = op.getAxes()) {
    auto known = onnx::getConstantInts(axes);
    if (!known)
      return std::nullopt;
    if (!known->empty())
      return countAlong(type, *known);
  }
  return op.getNoopWithEmptyAxes() ? std::optional<int64_t>(1)
                                   : countAlong(type, getAllAxes(type));
}

static std::optional<int64_t> countSummed(Operation *op,
                                          RankedTensorType type) {
  using Count = std::optional<int64_t>;
  return llvm::TypeSwitch<Operation *, Count>(op)
      .Case<onnx::ReduceL1Op, onnx::ReduceL2Op, onnx::ReduceLogSumExpOp,
            onnx::ReduceLogSumOp, onnx::ReduceMeanOp, onnx::ReduceSumOp,
            onnx::ReduceSumSquareOp>(
          [&](auto reduce) { return countReduced(reduce, type); })
      .Case([&](onnx::CumSumOp sum) -> Count {
        auto axis = onnx::getConstantInts(sum.getAxis());
        return axis ? countAlong(type, *axis) : std::nullopt;
      })
      .Case<onnx::GlobalAveragePoolOp, onnx::GlobalLpPoolOp>(
          [&](auto) { return countAlong(type, getAllAxes(type, /*first=*/2)); })
      .Default(Count());
}

void Linter::checkSums() {
  function.walk([&](Operation *op) {
    auto type = op->getNumOperands()
                    ? dyn_cast<RankedTensorType>(op->getOperand(0).getType())
                    : RankedTensorType();
    if (!type || !type.getElementType().isF32())
      return;
    std::optional<int64_t> count = countSummed(op, type);
    if (count && *count > getMaxExactInteger())
      report("long-sum", op,
             "sums " + Twine(*count) + " elements, and a sum held in " +
                 getTypeName() + " stops counting ones at " +
                 Twine(getMaxExactInteger()) +
                 "; keep it in float32, or run it where sums are accumulated "
                 "in float32");
  });
}
