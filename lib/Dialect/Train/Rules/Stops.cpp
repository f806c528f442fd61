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
#include "amp/Dialect/Train/GradientRules.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

template <typename OpTy> struct StopRule : Rule<StopRule<OpTy>, OpTy> {
  bool carriesGradient(Operation *, unsigned) const { return false; }
  LogicalResult build(OpTy, Vjp &) const { return success(); }
};

template <typename... OpTys> struct Operators {
  static void attach(MLIRContext *context) {
    (OpTys::template attachInterface<StopRule<OpTys>>(*context), ...);
  }
  static bool contain(StringRef name) {
    return ((OpTys::getOperationName() == name) || ...);
  }
};

using Stops = Operators<
    // Piecewise constant.
    onnx::CeilOp, onnx::FloorOp, onnx::HardmaxOp, onnx::RoundOp, onnx::SignOp,
    // Of integers and truth values.
    onnx::AndOp, onnx::ArgMaxOp, onnx::ArgMinOp, onnx::BitShiftOp,
    onnx::BitwiseAndOp, onnx::BitwiseNotOp, onnx::BitwiseOrOp,
    onnx::BitwiseXorOp, onnx::EqualOp, onnx::GreaterOp, onnx::GreaterOrEqualOp,
    onnx::IsInfOp, onnx::IsNaNOp, onnx::LessOp, onnx::LessOrEqualOp,
    onnx::NonMaxSuppressionOp, onnx::NonZeroOp, onnx::NotOp, onnx::OrOp,
    onnx::XorOp,
    // Of shapes and constants.
    onnx::BlackmanWindowOp, onnx::ConstantOp, onnx::ConstantOfShapeOp,
    onnx::HammingWindowOp, onnx::HannWindowOp, onnx::EyeLikeOp, onnx::OneHotOp,
    onnx::RangeOp, onnx::ShapeOp, onnx::SizeOp,
    // Random.
    onnx::BernoulliOp, onnx::MultinomialOp, onnx::RandomNormalLikeOp,
    onnx::RandomNormalOp, onnx::RandomUniformLikeOp, onnx::RandomUniformOp>;

} // namespace

void amp::train::attachStopRules(MLIRContext *context) {
  Stops::attach(context);
}

bool amp::train::stopsGradients(StringRef operationName) {
  return Stops::contain(operationName);
}
