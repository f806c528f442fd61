//===- Attention.cpp - Decomposition of attention's gradient --------------===//
//
// Scores and probabilities are computed again, with the operations
// `decompose-onnx` writes for forward.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "Recurrence.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class AttentionBackward {
public:
  AttentionBackward(onnx::OnnxBuilder &builder, AttentionGradientOp op)
      : builder(builder), op(op), query(op.getQuery().getType().getShape()),
        key(op.getKey().getType().getShape()),
        value(op.getValue().getType().getShape()) {}

  SmallVector<Value> run();

private:
  Value getScores();
  Value applyMask(Value scores);
  Value getProbabilities(Value scores);
  Value positions(int64_t first, int64_t count, bool isRow);
  Value maskGradient(Value dscores);
  /// (batch, query heads, queries, n) as (batch, key heads, rows, n): the rows
  /// of all query heads that share a key head.
  Value byKeyHead(Value x) {
    ArrayRef<int64_t> shape = onnx::getStaticShape(x);
    return builder.reshape(
        x, {shape[0], key[1], shape[1] / key[1] * shape[2], shape[3]});
  }
  Value product(Value a, bool transA, Value b, bool transB) {
    return MatMulOp::create(builder.getBuilder(), builder.getLoc(),
                            onnx::getElementType(op.getQuery()), a, transA, b,
                            transB);
  }
  Value alongKeys(StringRef name, Value x) {
    return builder.reduce(name, x, {3});
  }

  onnx::OnnxBuilder &builder;
  AttentionGradientOp op;
  ArrayRef<int64_t> query, key, value;
};

} // namespace

/// scale Q K', in f32, before softcap
Value AttentionBackward::getScores() {
  Value q = op.getQuery(), k = op.getKey();
  if (query[1] != key[1]) {
    q = builder.reshape(
        q, {query[0], key[1], query[1] / key[1], query[2], query[3]});
    k = builder.reshape(k, {key[0], key[1], 1, key[2], key[3]});
  }
  Value scores = builder.reshape(wideProduct(builder, q, k, false, true),
                                 {query[0], query[1], query[2], key[2]});
  return builder.scale(scores, op.getScale().convertToFloat());
}

Value AttentionBackward::positions(int64_t first, int64_t count, bool isRow) {
  Value numbers =
      builder.ints(llvm::to_vector(llvm::seq<int64_t>(first, first + count)));
  return builder.reshape(numbers, isRow ? ArrayRef<int64_t>{1, count}
                                        : ArrayRef<int64_t>{count, 1});
}

/// The mask of the operand, then causality, then the keys' lengths.
Value AttentionBackward::applyMask(Value scores) {
  Value masked = builder.scalarLike(-infinity, scores);
  if (Value mask = op.getMask()) {
    bool isBool = onnx::getElementType(mask).isInteger(1);
    SmallVector<int64_t> shape(onnx::getStaticShape(mask));
    if (int64_t missing = key[2] - shape.back(); missing > 0) {
      shape.back() = missing;
      auto type = RankedTensorType::get(shape, onnx::getElementType(mask));
      Value rest = builder.splat(isBool ? 0 : -infinity, type);
      mask = builder.create("Concat", {mask, rest},
                            builder.attr("axis", int64_t(-1)));
    }
    scores = isBool ? builder.where(mask, scores, masked)
                    : builder.add(scores, builder.widen(mask));
  }
  if (std::optional<int64_t> first = op.getCausalOffset()) {
    Value isSeen =
        builder.create("LessOrEqual", {positions(0, key[2], /*isRow=*/true),
                                       positions(*first, query[2], false)});
    scores = builder.where(isSeen, scores, masked);
  }
  if (Value lengths = op.getLengths()) {
    Value column =
        builder.reshape(lengths, {onnx::getStaticShape(lengths)[0], 1, 1, 1});
    Value isGiven =
        builder.create("Less", {positions(0, key[2], /*isRow=*/true), column});
    scores = builder.where(isGiven, scores, masked);
  }
  return scores;
}

/// softmax; a row with every key masked has probability 0 everywhere, not NaN
Value AttentionBackward::getProbabilities(Value scores) {
  Value largest = alongKeys("ReduceMax", scores);
  bool isMasked = op.getMask() || op.getCausalOffset() || op.getLengths();
  Value zero = builder.scalarLike(0, scores), isEmpty;
  if (isMasked) {
    isEmpty = builder.create("Equal",
                             {largest, builder.scalarLike(-infinity, scores)});
    largest = builder.where(isEmpty, zero, largest);
  }
  Value exponential = builder.unary("Exp", builder.sub(scores, largest));
  Value sum = alongKeys("ReduceSum", exponential);
  if (isMasked)
    sum = builder.where(isEmpty, builder.scalarLike(1, sum), sum);
  return builder.div(exponential, sum);
}

/// Sums over what the mask was broadcast over; keys it does not reach are
/// masked.
Value AttentionBackward::maskGradient(Value dscores) {
  ArrayRef<int64_t> shape = onnx::getStaticShape(op.getMask());
  if (shape.back() < key[2])
    dscores = builder.slice(dscores, {0}, {shape.back()}, {3});
  return builder.cast(builder.unbroadcast(dscores, shape),
                      onnx::getElementType(op.getMask()));
}

/// dV = P' g; dP = g V'; dS = P (dP - sum(P dP)); dQ = scale dS K,
/// dK = scale dS' Q. Rows of query heads that share a key head are rows of one
/// product.
SmallVector<Value> AttentionBackward::run() {
  Value scores = getScores(), squashed;
  if (double cap = op.getSoftcap().convertToFloat(); cap > 0) {
    squashed = builder.unary(
        "Tanh", builder.div(scores, builder.scalarLike(cap, scores)));
    scores = builder.scale(squashed, cap);
  }
  Value p = getProbabilities(applyMask(scores));
  Type narrow = onnx::getElementType(op.getQuery());
  Value g = byKeyHead(op.getGradient());
  Value dvalue = product(byKeyHead(builder.cast(p, narrow)), true, g, false);
  Value dp =
      builder.reshape(wideProduct(builder, g, op.getValue(), false, true),
                      onnx::getStaticShape(p));
  Value along = alongKeys("ReduceSum", builder.mul(p, dp));
  Value ds = builder.mul(p, builder.sub(dp, along));
  SmallVector<Value> results;
  Value dmask = op.getDmask() ? maskGradient(ds) : Value();
  if (squashed)
    ds = builder.mul(ds, builder.sub(builder.scalarLike(1, squashed),
                                     builder.mul(squashed, squashed)));
  ds = builder.scale(ds, op.getScale().convertToFloat());
  Value rows = byKeyHead(builder.cast(ds, narrow));
  results.push_back(
      builder.reshape(product(rows, false, op.getKey(), false), query));
  results.push_back(product(rows, true, byKeyHead(op.getQuery()), false));
  results.push_back(dvalue);
  if (dmask)
    results.push_back(dmask);
  return results;
}

namespace {

struct DecomposeAttentionGradient : OpRewritePattern<AttentionGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    rewriter.replaceOp(op, AttentionBackward(builder, op).run());
    return success();
  }
};

} // namespace

void amp::train::populateAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeAttentionGradient>(patterns.getContext());
}
