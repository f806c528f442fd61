//===- Slice.cpp - Gradient rules of slices and joins ---------------------===//
//
// Gradients of slices are pads and strides of zeros, not scatters: every
// element is written once, in any order.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Elements start, start + step, ... of `axis`.
struct AxisSlice {
  int64_t axis, start, step;
};

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

/// Where ONNX's Slice begins along a dimension of `dim` elements.
int64_t clampStart(int64_t start, int64_t step, int64_t dim) {
  start = start < 0 ? start + dim : start;
  return std::clamp<int64_t>(start, 0, step > 0 ? dim : dim - 1);
}

/// Elements of `value` along `axis` with `step - 1` zeros between them.
Value spread(Vjp &vjp, Value value, int64_t axis, int64_t step) {
  SmallVector<int64_t> shape(onnx::getStaticShape(value));
  int64_t count = shape[axis];
  SmallVector<int64_t> paired(shape);
  paired.insert(paired.begin() + axis + 1, 1);
  SmallVector<int64_t> before(paired.size()), after(paired.size());
  after[axis + 1] = step - 1;
  Value padded = vjp.pad(vjp.reshape(value, paired), before, after);
  shape[axis] = count * step;
  return vjp.slice(vjp.reshape(padded, shape), {0}, {(count - 1) * step + 1},
                   {axis});
}

/// `value`, which is slice `slice` of one dimension of `dim` elements, with
/// zeros for what the slice left out.
Value unslice(Vjp &vjp, Value value, AxisSlice slice, int64_t dim) {
  auto [axis, start, step] = slice;
  int64_t rank = onnx::getStaticShape(value).size();
  int64_t count = onnx::getStaticShape(value)[axis];
  if (step < 0) {
    value = vjp.slice(value, {-1}, {std::numeric_limits<int64_t>::min()},
                      {axis}, {-1});
    start += (count - 1) * step;
    step = -step;
  }
  if (step > 1 && count > 1)
    value = spread(vjp, value, axis, step);
  SmallVector<int64_t> before(rank), after(rank);
  before[axis] = start;
  after[axis] = dim - start - onnx::getStaticShape(value)[axis];
  return vjp.pad(value, before, after);
}

/// The slices an operation makes, its constants read.
FailureOr<SmallVector<AxisSlice>> getSlices(onnx::SliceOp op) {
  auto starts = getConstantOperand(op, op.getStarts(), "starts");
  if (failed(starts))
    return failure();
  size_t count = starts->size();
  FailureOr<SmallVector<int64_t>> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, count));
  FailureOr<SmallVector<int64_t>> steps = SmallVector<int64_t>(count, 1);
  if (op.getAxes())
    axes = getConstantOperand(op, op.getAxes(), "axes");
  if (op.getSteps())
    steps = getConstantOperand(op, op.getSteps(), "steps");
  if (failed(axes) || failed(steps))
    return failure();
  ArrayRef<int64_t> shape = onnx::getStaticShape(op.getData());
  SmallVector<AxisSlice> slices;
  for (auto [start, axis, step] : llvm::zip(*starts, *axes, *steps)) {
    axis = normalizeAxis(axis, shape.size());
    slices.push_back({axis, clampStart(start, step, shape[axis]), step});
  }
  return slices;
}

/// g in its places, zeros elsewhere
struct SliceRule : MovementRule<SliceRule, onnx::SliceOp> {
  LogicalResult build(onnx::SliceOp op, Vjp &vjp) const {
    auto slices = getSlices(op);
    if (failed(slices))
      return failure();
    Value g = vjp.cotangent(0);
    if (llvm::is_contained(onnx::getStaticShape(g), 0))
      return success();
    for (AxisSlice slice : *slices)
      g = unslice(vjp, g, slice,
                  onnx::getStaticShape(op.getData())[slice.axis]);
    vjp.set(0, g);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Concat and Split
//===----------------------------------------------------------------------===//

/// The slices of g that the operands became
struct ConcatRule : MovementRule<ConcatRule, onnx::ConcatOp> {
  LogicalResult build(onnx::ConcatOp op, Vjp &vjp) const {
    Value g = vjp.cotangent(0);
    int64_t axis = normalizeAxis(op.getAxis(), onnx::getStaticShape(g).size());
    int64_t begin = 0;
    for (unsigned i = 0, end = op->getNumOperands(); i < end; ++i) {
      int64_t size = onnx::getStaticShape(vjp.operand(i))[axis];
      if (vjp.needs(i) && size != 0)
        vjp.set(i,
                end == 1 ? g : vjp.slice(g, {begin}, {begin + size}, {axis}));
      begin += size;
    }
    return success();
  }
};

/// The cotangents joined, zeros for those that are absent
struct SplitRule : MovementRule<SplitRule, onnx::SplitOp> {
  LogicalResult build(onnx::SplitOp op, Vjp &vjp) const {
    int64_t axis =
        normalizeAxis(op.getAxis(), onnx::getStaticShape(op.getInput()).size());
    if (Value only = getOnly(vjp)) {
      vjp.set(0, only);
      return success();
    }
    // One that is wide makes all wide.
    Type element = onnx::getElementType(op.getInput());
    for (unsigned i = 0, end = op->getNumResults(); i < end; ++i)
      if (Value g = vjp.cotangent(i))
        if (!onnx::isHalf(onnx::getElementType(g)))
          element = onnx::getElementType(g);
    SmallVector<Value> parts;
    for (unsigned i = 0, end = op->getNumResults(); i < end; ++i) {
      Value g = vjp.cotangent(i);
      auto shape = onnx::getStaticShape(vjp.result(i));
      parts.push_back(g ? vjp.cast(g, element)
                        : vjp.expand(vjp.scalar(0, element), shape));
    }
    vjp.set(0, vjp.create("Concat", parts, vjp.attr("axis", axis)));
    return success();
  }

private:
  /// The cotangent of the one result of a split into one.
  static Value getOnly(Vjp &vjp) {
    return vjp.getOp()->getNumResults() == 1 ? vjp.cotangent(0) : Value();
  }
};

} // namespace

void amp::train::attachSliceRules(MLIRContext *context) {
  onnx::ConcatOp::attachInterface<ConcatRule>(*context);
  onnx::SliceOp::attachInterface<SliceRule>(*context);
  onnx::SplitOp::attachInterface<SplitRule>(*context);
}
