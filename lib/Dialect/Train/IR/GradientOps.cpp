//===- GradientOps.cpp - Verifiers of the gradient operations -------------===//
//
// Shapes and element types that no constraint can state.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace amp::train;

/// The last two dimensions of `type`, swapped if `transposed`.
static std::pair<int64_t, int64_t> matrixOf(RankedTensorType type,
                                            bool transposed) {
  int64_t rows = type.getDimSize(type.getRank() - 2);
  int64_t columns = type.getDimSize(type.getRank() - 1);
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

void MatMulOp::build(OpBuilder &builder, OperationState &state,
                     Type elementType, Value a, bool transA, Value b,
                     bool transB) {
  auto as = cast<RankedTensorType>(a.getType()),
       bs = cast<RankedTensorType>(b.getType());
  SmallVector<int64_t> shape;
  OpTrait::util::getBroadcastedShape(as.getShape().drop_back(2),
                                     bs.getShape().drop_back(2), shape);
  shape.append({matrixOf(as, transA).first, matrixOf(bs, transB).second});
  build(builder, state, RankedTensorType::get(shape, elementType), a, b, transA,
        transB);
}

LogicalResult MatMulOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  if (a.getElementType() != b.getElementType())
    return emitOpError() << "expects operands of one element type, but got "
                         << a.getElementType() << " and " << b.getElementType();
  if (a.getRank() < 2 || b.getRank() < 2)
    return emitOpError() << "expects operands of at least two dimensions";
  auto [m, k] = matrixOf(a, getTransA());
  auto [k2, n] = matrixOf(b, getTransB());
  SmallVector<int64_t> expected;
  if (k != k2 ||
      !OpTrait::util::getBroadcastedShape(a.getShape().drop_back(2),
                                          b.getShape().drop_back(2), expected))
    return emitOpError() << "has operands that do not multiply: " << a
                         << " and " << b;
  expected.append({m, n});
  if (getType().getShape() != ArrayRef(expected))
    return emitOpError() << "expects a result of shape (" << expected
                         << "), but got " << getType();
  return success();
}
