//===- Pad.cpp - Gradient rules of Pad ------------------------------------===//
//
// What was added is cut off; what was mirrored or repeated is added back to
// where it came from.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

namespace {

/// Elements added before and after each dimension; negative: removed.
struct Padding {
  SmallVector<int64_t> before, after;
};

FailureOr<Padding> getPadding(onnx::PadOp op) {
  int64_t rank = onnx::getStaticShape(op.getData()).size();
  auto pads = getConstantOperand(op, op.getPads(), "pads");
  if (failed(pads))
    return failure();
  FailureOr<SmallVector<int64_t>> axes =
      llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (op.getAxes())
    axes = getConstantOperand(op, op.getAxes(), "axes");
  if (failed(axes))
    return failure();
  Padding padding{SmallVector<int64_t>(rank), SmallVector<int64_t>(rank)};
  for (auto [i, axis] : llvm::enumerate(*axes)) {
    padding.before[normalizeAxis(axis, rank)] = (*pads)[i];
    padding.after[normalizeAxis(axis, rank)] = (*pads)[i + axes->size()];
  }
  return padding;
}

SmallVector<int64_t> positivePart(ArrayRef<int64_t> values, int64_t sign) {
  return llvm::map_to_vector(values, [&](int64_t value) {
    return std::max<int64_t>(sign * value, 0);
  });
}

/// The part of g that are elements of the operand, zeros for those removed.
Value crop(Vjp &vjp, Value g, const Padding &padding) {
  ArrayRef<int64_t> shape = onnx::getStaticShape(g);
  SmallVector<int64_t> starts = positivePart(padding.before, 1);
  SmallVector<int64_t> ends = positivePart(padding.after, 1);
  bool cuts = llvm::any_of(llvm::concat<int64_t>(starts, ends),
                           [](int64_t n) { return n != 0; });
  for (auto [end, dim] : llvm::zip(ends, shape))
    end = dim - end;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  return vjp.pad(cuts ? vjp.slice(g, starts, ends, axes) : g,
                 positivePart(padding.before, -1),
                 positivePart(padding.after, -1));
}

/// g where the constant was put, summed
Value constantGradient(Vjp &vjp, onnx::PadOp op, Value g) {
  Type element = onnx::getElementType(op.getData());
  Value inner = zeros(vjp, onnx::getStaticShape(op.getData()), element);
  SmallVector<Value> inputs{inner, op.getPads(), vjp.scalar(1, element)};
  if (op.getAxes())
    inputs.push_back(op.getAxes());
  Expr added = Expr(vjp, vjp.create("Pad", inputs)) > 0.5;
  return select(added, Expr(vjp, g), 0);
}

/// The element of a dimension of `dim` that padding copied to `position`, which
/// may be outside.
int64_t getSource(int64_t position, int64_t dim, StringRef mode) {
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, dim - 1);
  int64_t period = mode == "wrap" ? dim : std::max<int64_t>(2 * (dim - 1), 1);
  int64_t place = ((position % period) + period) % period;
  return place < dim ? place : period - place;
}

/// g added up along each padded dimension
Value fold(Vjp &vjp, onnx::PadOp op, Value g, const Padding &padding) {
  ArrayRef<int64_t> shape = onnx::getStaticShape(op.getData());
  for (auto [axis, dim] : llvm::enumerate(shape)) {
    if (padding.before[axis] == 0 && padding.after[axis] == 0)
      continue;
    SmallVector<int64_t> sources;
    for (int64_t i : llvm::seq<int64_t>(0, onnx::getStaticShape(g)[axis]))
      sources.push_back(getSource(i - padding.before[axis], dim, op.getMode()));
    g = addRows(vjp, g, vjp.ints(sources), axis, dim);
  }
  return g;
}

struct PadRule : Rule<PadRule, onnx::PadOp> {
  LogicalResult build(onnx::PadOp op, Vjp &vjp) const {
    FailureOr<Padding> padding = getPadding(op);
    if (failed(padding))
      return failure();
    Value g = vjp.cotangent(0);
    bool constant = op.getMode() == "constant";
    if (vjp.needs(0))
      vjp.setSummed(0, constant ? crop(vjp, g, *padding)
                                : fold(vjp, op, g, *padding));
    if (constant && op.getConstantValue() && vjp.needs(2))
      vjp.setSummed(2, constantGradient(vjp, op, g));
    return success();
  }
};

} // namespace

void amp::train::attachPadRules(MLIRContext *context) {
  onnx::PadOp::attachInterface<PadRule>(*context);
}
