//===- Movement.cpp - Decomposition of data movement ----------------------===//
//
// To Reshape, Transpose and constants.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// Reports a block size that does not divide what it should.
LogicalResult checkBlock(Decomposition &d, int64_t block, bool divides) {
  if (block > 0 && divides)
    return success();
  return d.emitError() << "cannot split " << d.input(0).getType()
                       << " into blocks of " << block;
}

LogicalResult decomposeDepthToSpace(DepthToSpaceOp op, Decomposition &d) {
  ArrayRef<int64_t> shape = getStaticShape(d.input(0));
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  int64_t block = op.getBlocksize();
  if (failed(checkBlock(d, block, block > 0 && c % (block * block) == 0)))
    return failure();
  int64_t rest = c / (block * block);
  bool isColumnFirst = op.getMode() == "CRD";
  Value split = isColumnFirst
                    ? d.reshape(d.input(0), {n, rest, block, block, h, w})
                    : d.reshape(d.input(0), {n, block, block, rest, h, w});
  Value moved = isColumnFirst ? d.transpose(split, {0, 1, 4, 2, 5, 3})
                              : d.transpose(split, {0, 3, 4, 1, 5, 2});
  d.set(0, d.reshape(moved, d.resultShape(0)));
  return success();
}

LogicalResult decomposeSpaceToDepth(SpaceToDepthOp op, Decomposition &d) {
  ArrayRef<int64_t> shape = getStaticShape(d.input(0));
  int64_t n = shape[0], c = shape[1], h = shape[2], w = shape[3];
  int64_t block = op.getBlocksize();
  if (failed(
          checkBlock(d, block, block > 0 && h % block == 0 && w % block == 0)))
    return failure();
  Value split =
      d.reshape(d.input(0), {n, c, h / block, block, w / block, block});
  Value moved = d.transpose(split, {0, 3, 5, 1, 2, 4});
  d.set(0, d.reshape(moved, d.resultShape(0)));
  return success();
}

/// 1 on the k-th diagonal: where row + k = column
LogicalResult decomposeEyeLike(EyeLikeOp op, Decomposition &d) {
  ArrayRef<int64_t> shape = d.resultShape(0);
  auto k = static_cast<int64_t>(op.getK());
  Value rows = d.ints(llvm::to_vector(llvm::seq(k, k + shape[0])));
  Value columns = d.ints(llvm::to_vector(llvm::seq<int64_t>(0, shape[1])));
  d.set(0, d.create("Equal", {d.reshape(rows, {shape[0], 1}), columns}));
  return success();
}

/// Where output element `i` of an axis of `size` elements comes from, `before`
/// elements having been added in front.
int64_t getPadSource(StringRef mode, int64_t i, int64_t before, int64_t size) {
  int64_t position = i - before;
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  // Periodic: of the axis itself, or of it there and back.
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * size - 2, 1);
  position = ((position % period) + period) % period;
  return position < size ? position : period - position;
}

/// Constant padding is a primitive; the other modes take elements by index.
LogicalResult decomposePad(PadOp op, Decomposition &d) {
  StringRef mode = op.getMode();
  if (mode == "constant")
    return success();
  Value value = d.input(0);
  int64_t rank = getStaticShape(value).size();
  FailureOr<SmallVector<int64_t>> pads = d.constantInts(1);
  if (failed(pads))
    return failure();
  SmallVector<int64_t> axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (d.input(3)) {
    FailureOr<SmallVector<int64_t>> given = d.constantInts(3);
    if (failed(given))
      return failure();
    axes = *given;
  }
  for (auto [index, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> fromFront = d.axisOf(axis, rank);
    if (failed(fromFront))
      return failure();
    int64_t size = getStaticShape(value)[*fromFront];
    int64_t before = (*pads)[index], after = (*pads)[axes.size() + index];
    if ((before == 0 && after == 0) || size == 0)
      continue;
    SmallVector<int64_t> sources;
    for (int64_t i = 0; i < before + size + after; ++i)
      sources.push_back(getPadSource(mode, i, before, size));
    value = d.create("Gather", {value, d.ints(sources)},
                     d.attr("axis", *fromFront));
  }
  d.set(0, value);
  return success();
}

/// The sizes of a static shape are constants, however many there are.
LogicalResult decomposeShape(ShapeOp op, Decomposition &d) {
  ArrayRef<int64_t> shape = getStaticShape(d.input(0));
  int64_t rank = shape.size();
  auto clamp = [&](int64_t bound) {
    return std::clamp<int64_t>(bound < 0 ? bound + rank : bound, 0, rank);
  };
  int64_t start = clamp(op.getStart());
  int64_t end = clamp(op.getEnd().value_or(rank));
  d.set(0, d.ints(shape.slice(start, std::max<int64_t>(end - start, 0))));
  return success();
}

LogicalResult decomposeSize(SizeOp, Decomposition &d) {
  int64_t count = cast<ShapedType>(d.input(0).getType()).getNumElements();
  d.set(0, d.reshape(d.ints({count}), {}));
  return success();
}

} // namespace

void amp::onnx::addMovementRules(RuleTable &table) {
  table.add(decomposeDepthToSpace);
  table.add(decomposeEyeLike);
  table.add(decomposePad);
  table.add(decomposeShape);
  table.add(decomposeSize);
  table.add(decomposeSpaceToDepth);
}
