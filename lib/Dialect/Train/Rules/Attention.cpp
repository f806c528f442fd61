//===- Attention.cpp - Gradient rules of attention ------------------------===//
//
// Heads are split and past keys joined as forward does it; the rest stays one
// operation.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include <cmath>

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// (batch, sequence, heads * size) as (batch, heads, sequence, size)
Value splitHeads(Vjp &vjp, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = onnx::getStaticShape(x);
  if (shape.size() == 4)
    return x;
  Value split = vjp.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return vjp.transpose(split, {0, 2, 1, 3});
}

/// The inverse, if `like` has joined heads.
Value joinHeads(Vjp &vjp, Value x, Value like) {
  if (onnx::getStaticShape(like).size() == 4)
    return x;
  return vjp.reshape(vjp.transpose(x, {0, 2, 1, 3}),
                     onnx::getStaticShape(like));
}

InFlightDiagnostic emitNoRule(onnx::AttentionOp op) {
  InFlightDiagnostic error = op->emitError() << "Attention ";
  if (StringRef name = onnx::getNodeName(op); !name.empty())
    error << '\'' << name << "' ";
  error << "has no gradient rule ";
  return error;
}

struct AttentionRule : Rule<AttentionRule, onnx::AttentionOp> {
  LogicalResult build(onnx::AttentionOp op, Vjp &vjp) const {
    if (vjp.cotangentOf(op.getQkMatmulOutput()))
      return emitNoRule(op) << "for its output qk_matmul_output: the loss must "
                               "not depend on it";
    bool isFlat = onnx::getStaticShape(op.getQ()).size() == 3;
    if (isFlat && (!op.getQNumHeads() || !op.getKvNumHeads()))
      return emitNoRule(op) << "for operands of three dimensions without "
                               "q_num_heads and kv_num_heads";
    int64_t heads = op.getQNumHeads().value_or(0);
    int64_t keyHeads = op.getKvNumHeads().value_or(0);
    Value query = splitHeads(vjp, op.getQ(), heads);
    Value key = splitHeads(vjp, op.getK(), keyHeads);
    Value value = splitHeads(vjp, op.getV(), keyHeads);
    int64_t past = 0;
    if (Value pastKey = op.getPastKey()) {
      past = onnx::getStaticShape(pastKey)[2];
      NamedAttribute axis = vjp.attr("axis", int64_t(2));
      key = vjp.create("Concat", {pastKey, key}, axis);
      value = vjp.create("Concat", {op.getPastValue(), value}, axis);
    }
    AttentionGradientOp gradient;
    if (Value g = vjp.cotangentOf(op.getY()))
      gradient =
          create(op, vjp, query, key, value, splitHeads(vjp, g, heads), past);
    setKeyGradients(vjp, gradient ? gradient.getDkey() : Value(),
                    vjp.cotangentOf(op.getPresentKey()), past, 1, op.getK());
    setKeyGradients(vjp, gradient ? gradient.getDvalue() : Value(),
                    vjp.cotangentOf(op.getPresentValue()), past, 2, op.getV());
    if (!gradient)
      return success();
    vjp.setFormal(0, joinHeads(vjp, gradient.getDquery(), op.getQ()));
    if (gradient.getDmask())
      vjp.setFormal(3, gradient.getDmask());
    return success();
  }

  static AttentionGradientOp create(onnx::AttentionOp op, Vjp &vjp, Value query,
                                    Value key, Value value, Value g,
                                    int64_t past) {
    OpBuilder &builder = vjp.getBuilder();
    Type dmask;
    Value mask = op.getAttnMask();
    if (mask && vjp.needs(op.getODSOperandIndexAndLength(3).first))
      dmask = mask.getType();
    double size = onnx::getStaticShape(query)[3];
    float scale = op.getScale() ? op.getScale()->convertToFloat()
                                : float(1 / std::sqrt(size));
    return AttentionGradientOp::create(
        builder, vjp.getLoc(), query.getType(), key.getType(), value.getType(),
        dmask, query, key, value, g, mask, op.getNonpadKvSeqlen(),
        builder.getF32FloatAttr(scale),
        builder.getF32FloatAttr(op.getSoftcap().convertToFloat()),
        op.getIsCausal() ? builder.getI64IntegerAttr(past) : IntegerAttr());
  }

  /// Splits what keys (or values), past ones first, get, with what comes
  /// through `present`. `formal` is the input, past ones are three further.
  static void setKeyGradients(Vjp &vjp, Value gradient, Value present,
                              int64_t past, unsigned formal, Value input) {
    if (gradient && present)
      gradient = vjp.add(gradient, present);
    else if (present)
      gradient = present;
    if (!gradient)
      return;
    int64_t keys = onnx::getStaticShape(gradient)[2];
    if (past != 0) {
      vjp.setFormal(formal + 3, vjp.slice(gradient, {0}, {past}, {2}));
      gradient = vjp.slice(gradient, {past}, {keys}, {2});
    }
    vjp.setFormal(formal, joinHeads(vjp, gradient, input));
  }
};

/// Rotates back: the sine's sign turned.
struct RotaryEmbeddingRule
    : Rule<RotaryEmbeddingRule, onnx::RotaryEmbeddingOp> {
  /// The tables are no parameters.
  bool carriesGradient(Operation *, unsigned index) const { return index == 0; }

  LogicalResult build(onnx::RotaryEmbeddingOp op, Vjp &vjp) const {
    SmallVector<NamedAttribute> attributes{
        vjp.attr("interleaved", int64_t(op.getInterleaved())),
        vjp.attr("rotary_embedding_dim", int64_t(op.getRotaryEmbeddingDim()))};
    if (std::optional<uint64_t> heads = op.getNumHeads())
      attributes.push_back(vjp.attr("num_heads", int64_t(*heads)));
    SmallVector<Value> inputs{vjp.cotangent(0), op.getCosCache(),
                              vjp.neg(op.getSinCache())};
    if (Value ids = op.getPositionIds())
      inputs.push_back(ids);
    vjp.set(0, vjp.create("RotaryEmbedding", inputs, attributes));
    return success();
  }
};

} // namespace

void amp::train::attachAttentionRules(MLIRContext *context) {
  onnx::AttentionOp::attachInterface<AttentionRule>(*context);
  onnx::RotaryEmbeddingOp::attachInterface<RotaryEmbeddingRule>(*context);
}
