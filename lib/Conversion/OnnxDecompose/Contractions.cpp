//===- Contractions.cpp - Decomposition of matrix products ----------------===//
//
// MatMul and Gemm to train.matmul.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// A vector takes part as a matrix of one row (or column) that the result
/// lacks. A matrix on the right takes all rows of the left in one product.
LogicalResult decomposeMatMul(MatMulOp, Decomposition &d) {
  Value a = d.input(0), b = d.input(1);
  if (!isa<FloatType>(getElementType(a)))
    return success();
  ArrayRef<int64_t> as = getStaticShape(a), bs = getStaticShape(b);
  if (bs.size() == 1)
    b = d.reshape(b, {bs[0], 1});
  int64_t depth = as.back();
  bool isFlat = getStaticShape(b).size() == 2 && as.size() != 2;
  if (as.size() == 1)
    a = d.reshape(a, {1, depth});
  else if (isFlat && depth != 0)
    a = d.reshape(
        a, {cast<ShapedType>(a.getType()).getNumElements() / depth, depth});
  d.set(0, d.reshape(d.product(a, b), d.resultShape(0)));
  return success();
}

/// alpha a' b' + beta c, rounded once
LogicalResult decomposeGemm(GemmOp op, Decomposition &d) {
  Value a = d.input(0), b = d.input(1), c = d.input(2);
  if (!isa<FloatType>(getElementType(a)))
    return success();
  double alpha = op.getAlpha().convertToFloat();
  double beta = op.getBeta().convertToFloat();
  bool hasTail = alpha != 1 || (c && beta != 0);
  Value y = d.product(a, b, op.getTransA() != 0, op.getTransB() != 0, hasTail);
  y = d.scale(y, alpha);
  if (c && beta != 0)
    y = d.add(y, d.scale(d.widen(c), beta));
  d.set(0, y);
  return success();
}

} // namespace

void amp::onnx::addContractionRules(RuleTable &table) {
  table.add(decomposeGemm);
  table.add(decomposeMatMul);
}
