//===- Indexing.cpp - Gradient rules of gathers ---------------------------===//
//
// Rows taken twice get both cotangents, added in float32. Indices may be
// negative and in any order.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;
using onnx::Expr;

namespace {

/// `indices` with `dims` (a number for each, or one per last coordinate) added
/// to those that count from the end.
Value fromFront(Vjp &vjp, Value indices, ArrayRef<int64_t> dims) {
  Type i64 = vjp.getBuilder().getI64Type();
  if (auto known = onnx::getConstantInts(indices))
    if (llvm::all_of(*known, [](int64_t index) { return index >= 0; }))
      return vjp.cast(indices, i64);
  Expr index(vjp, vjp.cast(indices, i64));
  Expr size(vjp,
            dims.size() == 1 ? vjp.scalar(dims.front(), i64) : vjp.ints(dims));
  return select(index < 0, index + size, index);
}

/// The first of `indices`, if they are constants that count up by one: the
/// Gather is a slice then.
std::optional<int64_t> getSliceStart(Value indices, int64_t dim) {
  auto known = onnx::getConstantInts(indices);
  if (!known || known->empty())
    return std::nullopt;
  for (auto [i, index] : llvm::enumerate(*known))
    if (normalizeAxis(index, dim) !=
        normalizeAxis(known->front(), dim) + int64_t(i))
      return std::nullopt;
  return normalizeAxis(known->front(), dim);
}

/// g's rows added to the rows of X they came from
struct GatherRule : MovementRule<GatherRule, onnx::GatherOp> {
  LogicalResult build(onnx::GatherOp op, Vjp &vjp) const {
    ArrayRef<int64_t> shape = onnx::getStaticShape(op.getData());
    int64_t axis = normalizeAxis(op.getAxis(), shape.size());
    int64_t count =
        cast<ShapedType>(op.getIndices().getType()).getNumElements();
    SmallVector<int64_t> rows(shape);
    rows[axis] = count;
    Value g = vjp.reshape(vjp.cotangent(0), rows);
    if (auto start = getSliceStart(op.getIndices(), shape[axis])) {
      SmallVector<int64_t> before(shape.size()), after(shape.size());
      before[axis] = *start;
      after[axis] = shape[axis] - count - *start;
      vjp.set(0, vjp.pad(g, before, after));
      return success();
    }
    Value indices = fromFront(vjp, op.getIndices(), {shape[axis]});
    vjp.setSummed(
        0, addRows(vjp, g, vjp.reshape(indices, {count}), axis, shape[axis]));
    return success();
  }
};

/// g added at the elements it came from
struct GatherElementsRule
    : MovementRule<GatherElementsRule, onnx::GatherElementsOp> {
  LogicalResult build(onnx::GatherElementsOp op, Vjp &vjp) const {
    Expr g = vjp.wideCotangent(0);
    Value into =
        zeros(vjp, onnx::getStaticShape(op.getData()), onnx::getElementType(g));
    vjp.setSummed(0, vjp.create("ScatterElements", {into, op.getIndices(), g},
                                {vjp.attr("axis", int64_t(op.getAxis())),
                                 vjp.attr("reduction", "add")}));
    return success();
  }
};

/// g's slices added to the slices of X they came from. Batch dimensions become
/// one that is indexed too.
struct GatherNDRule : MovementRule<GatherNDRule, onnx::GatherNDOp> {
  LogicalResult build(onnx::GatherNDOp op, Vjp &vjp) const {
    ArrayRef<int64_t> shape = onnx::getStaticShape(op.getData());
    ArrayRef<int64_t> places = onnx::getStaticShape(op.getIndices());
    int64_t batchDims = op.getBatchDims(), width = places.back();
    int64_t batch = product(shape.take_front(batchDims));
    if (product(places) == 0 || product(shape) == 0)
      return success();
    ArrayRef<int64_t> indexed = shape.slice(batchDims, width);
    ArrayRef<int64_t> slice = shape.drop_front(batchDims + width);
    int64_t count = product(places) / width / batch;
    Value indices = vjp.reshape(fromFront(vjp, op.getIndices(), indexed),
                                {batch, count, width});
    SmallVector<int64_t> into{batch}, updates{batch, count};
    llvm::append_range(into, indexed);
    llvm::append_range(into, slice);
    llvm::append_range(updates, slice);
    Expr g = vjp.wideCotangent(0);
    Value sum = vjp.create("ScatterND",
                           {zeros(vjp, into, onnx::getElementType(g)),
                            withBatch(vjp, indices), vjp.reshape(g, updates)},
                           vjp.attr("reduction", "add"));
    vjp.setSummed(0, vjp.reshape(sum, shape));
    return success();
  }

private:
  static int64_t product(ArrayRef<int64_t> dims) {
    int64_t total = 1;
    for (int64_t dim : dims)
      total *= dim;
    return total;
  }

  /// The number of its batch before each tuple of (batch, count, width).
  static Value withBatch(Vjp &vjp, Value indices) {
    ArrayRef<int64_t> shape = onnx::getStaticShape(indices);
    auto numbers = llvm::to_vector(llvm::seq<int64_t>(0, shape[0]));
    Value column = vjp.reshape(vjp.ints(numbers), {shape[0], 1, 1});
    return vjp.create("Concat",
                      {vjp.expand(column, {shape[0], shape[1], 1}), indices},
                      vjp.attr("axis", int64_t(2)));
  }
};

/// g of the values at the elements they came from
struct TopKRule : MovementRule<TopKRule, onnx::TopKOp> {
  LogicalResult build(onnx::TopKOp op, Vjp &vjp) const {
    Value g = vjp.cotangent(0);
    Value into =
        zeros(vjp, onnx::getStaticShape(op.getX()), onnx::getElementType(g));
    // No element is taken twice.
    vjp.set(0, vjp.create("ScatterElements", {into, op.getIndices(), g},
                          vjp.attr("axis", int64_t(op.getAxis()))));
    return success();
  }
};

} // namespace

void amp::train::attachIndexingRules(MLIRContext *context) {
  onnx::GatherElementsOp::attachInterface<GatherElementsRule>(*context);
  onnx::GatherNDOp::attachInterface<GatherNDRule>(*context);
  onnx::GatherOp::attachInterface<GatherRule>(*context);
  onnx::TopKOp::attachInterface<TopKRule>(*context);
}
