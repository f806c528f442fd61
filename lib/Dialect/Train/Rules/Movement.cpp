//===- Movement.cpp - Gradient rules of casts and data movement -----------===//
//
// Cotangents wider than the result pass through, so that weight gradients stay
// float32. Slices and pads are in Slice.cpp and Pad.cpp.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// g in the operand's type
template <typename OpTy> struct CastRule : MovementRule<CastRule<OpTy>, OpTy> {
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }
  LogicalResult build(OpTy op, Vjp &vjp) const {
    vjp.set(0,
            vjp.cast(vjp.cotangent(0), onnx::getElementType(vjp.operand(0))));
    return success();
  }
};

/// g in the operand's shape
template <typename OpTy>
struct ReshapeRule : MovementRule<ReshapeRule<OpTy>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    vjp.set(
        0, vjp.reshape(vjp.cotangent(0), onnx::getStaticShape(vjp.operand(0))));
    return success();
  }
};

/// g; none where the frontend stops gradients (detach)
struct IdentityRule : MovementRule<IdentityRule, onnx::IdentityOp> {
  bool carriesGradient(Operation *op, unsigned) const {
    return !op->hasAttr(TrainDialect::getStopGradientAttrName());
  }
  LogicalResult build(onnx::IdentityOp op, Vjp &vjp) const {
    vjp.set(0, vjp.cotangent(0));
    return success();
  }
};

/// The inverse permutation of g
struct TransposeRule : MovementRule<TransposeRule, onnx::TransposeOp> {
  LogicalResult build(onnx::TransposeOp op, Vjp &vjp) const {
    int64_t rank = onnx::getStaticShape(vjp.operand(0)).size();
    SmallVector<int64_t> inverse(rank);
    for (int64_t i = 0; i < rank; ++i)
      inverse[op.getPerm() ? (*op.getPerm())[i] : rank - 1 - i] = i;
    vjp.set(0, vjp.transpose(vjp.cotangent(0), inverse));
    return success();
  }
};

/// ub(g)
struct ExpandRule : MovementRule<ExpandRule, onnx::ExpandOp> {
  LogicalResult build(onnx::ExpandOp op, Vjp &vjp) const {
    vjp.setSummed(0, vjp.cotangent(0));
    return success();
  }
};

/// g reshaped to (repeat, dimension) pairs, repeats summed
struct TileRule : MovementRule<TileRule, onnx::TileOp> {
  LogicalResult build(onnx::TileOp op, Vjp &vjp) const {
    ArrayRef<int64_t> from = onnx::getStaticShape(vjp.operand(0)),
                      to = onnx::getStaticShape(vjp.result(0));
    if (llvm::is_contained(to, 0))
      return success();
    SmallVector<int64_t> pairs, repeats;
    for (auto [dim, tiled] : llvm::zip(from, to)) {
      if (tiled != dim)
        repeats.push_back(pairs.size());
      pairs.append({tiled / dim, dim});
    }
    Value parts = vjp.reshape(vjp.wideCotangent(0), pairs);
    vjp.setSummed(0,
                  vjp.reshape(vjp.reduce("ReduceSum", parts, repeats), from));
    return success();
  }
};

/// The same selection of g
struct TriluRule : MovementRule<TriluRule, onnx::TriluOp> {
  LogicalResult build(onnx::TriluOp op, Vjp &vjp) const {
    vjp.set(0, vjp.create("Trilu", {vjp.cotangent(0), op.getK()},
                          vjp.attr("upper", int64_t(op.getUpper()))));
    return success();
  }
};

/// The same reversal of g
struct ReverseSequenceRule
    : MovementRule<ReverseSequenceRule, onnx::ReverseSequenceOp> {
  LogicalResult build(onnx::ReverseSequenceOp op, Vjp &vjp) const {
    vjp.set(0, vjp.create("ReverseSequence",
                          {vjp.cotangent(0), op.getSequenceLens()},
                          {vjp.attr("batch_axis", int64_t(op.getBatchAxis())),
                           vjp.attr("time_axis", int64_t(op.getTimeAxis()))}));
    return success();
  }
};

} // namespace

void amp::train::attachMovementRules(MLIRContext *context) {
  amp::CastOp::attachInterface<CastRule<amp::CastOp>>(*context);
  onnx::CastLikeOp::attachInterface<CastRule<onnx::CastLikeOp>>(*context);
  onnx::CastOp::attachInterface<CastRule<onnx::CastOp>>(*context);
  onnx::ExpandOp::attachInterface<ExpandRule>(*context);
  onnx::FlattenOp::attachInterface<ReshapeRule<onnx::FlattenOp>>(*context);
  onnx::IdentityOp::attachInterface<IdentityRule>(*context);
  onnx::ReshapeOp::attachInterface<ReshapeRule<onnx::ReshapeOp>>(*context);
  onnx::ReverseSequenceOp::attachInterface<ReverseSequenceRule>(*context);
  onnx::SqueezeOp::attachInterface<ReshapeRule<onnx::SqueezeOp>>(*context);
  onnx::TileOp::attachInterface<TileRule>(*context);
  onnx::TransposeOp::attachInterface<TransposeRule>(*context);
  onnx::TriluOp::attachInterface<TriluRule>(*context);
  onnx::UnsqueezeOp::attachInterface<ReshapeRule<onnx::UnsqueezeOp>>(*context);
}
