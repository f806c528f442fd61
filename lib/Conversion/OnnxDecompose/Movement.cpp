//===- Movement.cpp - Decomposition of data movement ----------------------===//
//
// To Reshape, Transpose and constants.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
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
  table.add(decomposeShape);
  table.add(decomposeSize);
  table.add(decomposeSpaceToDepth);
}
