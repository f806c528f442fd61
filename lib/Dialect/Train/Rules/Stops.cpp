//===- Stops.cpp - Operators that no gradient passes ----------------------===//
//
// Piecewise constant or not a function of their operands' values: the
// cotangents of all operands are zero, which is a rule and not a missing one.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.OPQ.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

template <typename OpTy> struct StopRule : Rule<StopRule<OpTy>, OpTy> {
  bool carriesGradient(Operation *, unsigned) const { return false; }
  LogicalResult build(OpTy, Vjp &) const { return success(); }
};

template <typename... OpTys> void attachStops(MLIRContext *context) {
  (OpTys::template attachInterface<StopRule<OpTys>>(*context), ...);
}

} // namespace

void amp::train::attachStopRules(MLIRContext *context) {
  attachStops<onnx::CeilOp, onnx::FloorOp, onnx::HardmaxOp, onnx::RoundOp,
              onnx::SignOp>(context);
  attachStops<onnx::ArgMaxOp, onnx::ArgMinOp, onnx::EqualOp, onnx::GreaterOp,
              onnx::GreaterOrEqualOp, onnx::IsInfOp, onnx::IsNaNOp,
              onnx::LessOp, onnx::LessOrEqualOp, onnx::NonZeroOp>(context);
  attachStops<onnx::ConstantOfShapeOp, onnx::EyeLikeOp, onnx::OneHotOp,
              onnx::RangeOp, onnx::ShapeOp, onnx::SizeOp>(context);
  attachStops<onnx::BernoulliOp, onnx::MultinomialOp, onnx::RandomNormalLikeOp,
              onnx::RandomNormalOp, onnx::RandomUniformLikeOp,
              onnx::RandomUniformOp>(context);
}
