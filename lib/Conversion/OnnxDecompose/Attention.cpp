//===- Attention.cpp - Decomposition of attention -------------------------===//
//
// Scores and softmax are f32; probabilities are rounded to the operands' type
// for the product with the values, as fused kernels do.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include <cmath>

using namespace mlir;
using namespace amp::onnx;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// (batch, sequence, heads * size) -> (batch, heads, sequence, size)
Value splitHeads(Decomposition &d, Value x, int64_t heads) {
  ArrayRef<int64_t> shape = getStaticShape(x);
  if (shape.size() == 4)
    return x;
  Value split = d.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  return d.transpose(split, {0, 2, 1, 3});
}

/// The numbers [first, first + count) as a column or a row of a matrix.
Value positions(Decomposition &d, int64_t first, int64_t count, bool isRow) {
  Value numbers =
      d.ints(llvm::to_vector(llvm::seq<int64_t>(first, first + count)));
  return d.reshape(numbers, isRow ? ArrayRef<int64_t>{1, count}
                                  : ArrayRef<int64_t>{count, 1});
}

/// One Attention: operands as (batch, heads, sequence, size).
class AttentionBuilder {
public:
  AttentionBuilder(AttentionOp op, Decomposition &d) : op(op), d(d) {}

  LogicalResult build();

private:
  LogicalResult prepare();
  /// (batch, heads, queries, keys), in f32
  Value getScores();
  Value addMask(Value scores);
  Value applyMask(Value scores);
  Value softmaxOfMasked(Value scores);
  Value getOutput(Value probabilities);
  /// Splits the query heads by the key head they share.
  Value groupHeads(Value value) {
    ArrayRef<int64_t> shape = getStaticShape(value);
    return d.reshape(
        value, {shape[0], keyHeads, queryHeads / keyHeads, shape[2], shape[3]});
  }
  /// A dimension of 1 beside the key heads, which the product repeats.
  Value repeatHeads(Value value) {
    ArrayRef<int64_t> shape = getStaticShape(value);
    return d.reshape(value, {shape[0], shape[1], 1, shape[2], shape[3]});
  }

  AttentionOp op;
  Decomposition &d;
  Value query, key, value;
  int64_t queryHeads = 0, keyHeads = 0, past = 0;
};

} // namespace

LogicalResult AttentionBuilder::prepare() {
  bool isFlat = getStaticShape(d.input(0)).size() == 3;
  if (isFlat && (!op.getQNumHeads() || !op.getKvNumHeads()))
    return d.emitError() << "has operands of three dimensions, but not the "
                            "attributes q_num_heads and kv_num_heads";
  int64_t heads = op.getQNumHeads().value_or(0);
  int64_t kvHeads = op.getKvNumHeads().value_or(0);
  query = splitHeads(d, d.input(0), heads);
  key = splitHeads(d, d.input(1), kvHeads);
  value = splitHeads(d, d.input(2), kvHeads);
  if (Value pastKey = d.input(4)) {
    past = getStaticShape(pastKey)[2];
    key = d.create("Concat", {pastKey, key}, d.attr("axis", int64_t(2)));
    value = d.create("Concat", {d.input(5), value}, d.attr("axis", int64_t(2)));
  }
  queryHeads = getStaticShape(query)[1];
  keyHeads = getStaticShape(key)[1];
  if (keyHeads == 0 || queryHeads % keyHeads != 0)
    return d.emitError() << "has " << queryHeads << " query heads and "
                         << keyHeads << " key heads, which do not divide them";
  return success();
}

Value AttentionBuilder::getScores() {
  double size = getStaticShape(query)[3];
  double scale =
      op.getScale() ? op.getScale()->convertToFloat() : 1 / std::sqrt(size);
  Value scores;
  if (queryHeads == keyHeads)
    scores = d.product(query, key, false, true, /*wideResult=*/true);
  else
    scores = d.product(groupHeads(query), repeatHeads(key), false, true,
                       /*wideResult=*/true);
  SmallVector<int64_t> shape{getStaticShape(query)[0], queryHeads,
                             getStaticShape(query)[2], getStaticShape(key)[2]};
  return d.scale(d.reshape(scores, shape), scale);
}

/// The mask of the operand; keys it does not reach are masked.
Value AttentionBuilder::addMask(Value scores) {
  Value mask = d.input(3);
  int64_t keys = getStaticShape(key)[2];
  SmallVector<int64_t> shape(getStaticShape(mask));
  bool isBool = getElementType(mask).isInteger(1);
  if (int64_t missing = keys - shape.back(); missing > 0) {
    shape.back() = missing;
    auto type = RankedTensorType::get(shape, getElementType(mask));
    Value rest = d.splat(isBool ? 0 : -infinity, type);
    mask = d.create("Concat", {mask, rest}, d.attr("axis", int64_t(-1)));
  }
  if (isBool)
    return d.where(mask, scores, d.scalarLike(-infinity, scores));
  return d.add(scores, d.widen(mask));
}

Value AttentionBuilder::applyMask(Value scores) {
  int64_t queries = getStaticShape(query)[2], keys = getStaticShape(key)[2];
  Value masked = d.scalarLike(-infinity, scores);
  if (d.input(3))
    scores = addMask(scores);
  if (op.getIsCausal()) {
    Value isSeen =
        d.create("LessOrEqual", {positions(d, 0, keys, /*isRow=*/true),
                                 positions(d, past, queries, /*isRow=*/false)});
    scores = d.where(isSeen, scores, masked);
  }
  if (Value lengths = d.input(6)) {
    Value column = d.reshape(lengths, {getStaticShape(lengths)[0], 1, 1, 1});
    Value isGiven =
        d.create("Less", {positions(d, 0, keys, /*isRow=*/true), column});
    scores = d.where(isGiven, scores, masked);
  }
  return scores;
}

/// A query without any key attends to nothing: 0, not NaN.
Value AttentionBuilder::softmaxOfMasked(Value scores) {
  Value largest = d.reduce("ReduceMax", scores, {3});
  Value isEmpty =
      d.create("Equal", {largest, d.scalarLike(-infinity, scores)});
  largest = d.where(isEmpty, d.scalarLike(0, scores), largest);
  Value exponential = d.unary("Exp", d.sub(scores, largest));
  Value sum = d.reduceSum(exponential, {3});
  return d.div(exponential, d.where(isEmpty, d.scalarLike(1, sum), sum));
}

Value AttentionBuilder::getOutput(Value probabilities) {
  Value narrow = d.cast(probabilities, getElementType(value));
  SmallVector<int64_t> shape(getStaticShape(query));
  shape[3] = getStaticShape(value)[3];
  Value y;
  if (queryHeads == keyHeads)
    y = d.product(narrow, value);
  else
    y = d.reshape(d.product(groupHeads(narrow), repeatHeads(value)), shape);
  if (getStaticShape(d.input(0)).size() == 3)
    y = d.reshape(d.transpose(y, {0, 2, 1, 3}),
                  {shape[0], shape[2], shape[1] * shape[3]});
  return y;
}

LogicalResult AttentionBuilder::build() {
  if (failed(prepare()))
    return failure();
  Value scores = getScores();
  Value stages[4] = {scores};
  if (double cap = op.getSoftcap().convertToFloat(); cap > 0)
    scores =
        d.scale(d.unary("Tanh", d.div(scores, d.scalarLike(cap, scores))), cap);
  stages[1] = scores;
  stages[2] = scores = applyMask(scores);
  bool isMasked = d.input(3) || op.getIsCausal() || d.input(6);
  stages[3] = isMasked ? softmaxOfMasked(scores) : d.softmax(scores, 3);
  d.set(0, getOutput(stages[3]));
  d.set(1, key);
  d.set(2, value);
  uint64_t mode = op.getQkMatmulOutputMode();
  if (mode > 3)
    return d.emitError() << "has qk_matmul_output_mode " << mode
                         << "; there are 0 to 3";
  d.set(3, stages[mode]);
  return success();
}

static LogicalResult decomposeAttention(AttentionOp op, Decomposition &d) {
  return AttentionBuilder(op, d).build();
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

/// The table for each token, as (batch, sequence, 1, size / 2).
static Value getRotation(Decomposition &d, unsigned position) {
  Value table = d.wide(position);
  if (d.input(3))
    table = d.create("Gather", {table, d.input(3)});
  SmallVector<int64_t> shape(getStaticShape(table));
  shape.insert(shape.end() - 1, 1);
  return d.reshape(table, shape);
}

/// (x1, x2) -> (cos x1 - sin x2, sin x1 + cos x2) over the first `size`
/// elements of the last dimension.
static Value rotate(Decomposition &d, Value x, int64_t size,
                    bool isInterleaved) {
  Value cosine = getRotation(d, 1), sine = getRotation(d, 2);
  ArrayRef<int64_t> shape = getStaticShape(x);
  int64_t axis = 3, half = size / 2;
  Value first = isInterleaved ? d.slice(x, {0}, {size}, {axis}, {2})
                              : d.slice(x, {0}, {half}, {axis});
  Value second = isInterleaved ? d.slice(x, {1}, {size}, {axis}, {2})
                               : d.slice(x, {half}, {size}, {axis});
  Value real = d.sub(d.mul(cosine, first), d.mul(sine, second));
  Value imaginary = d.add(d.mul(sine, first), d.mul(cosine, second));
  if (!isInterleaved)
    return d.create("Concat", {real, imaginary}, d.attr("axis", axis));
  SmallVector<int64_t> pairShape{shape[0], shape[1], shape[2], half, 1};
  Value pairs = d.create(
      "Concat", {d.reshape(real, pairShape), d.reshape(imaginary, pairShape)},
      d.attr("axis", axis + 1));
  return d.reshape(pairs, {shape[0], shape[1], shape[2], size});
}

static LogicalResult decomposeRotaryEmbedding(RotaryEmbeddingOp op,
                                              Decomposition &d) {
  Value x = d.wide(0);
  SmallVector<int64_t> shape(getStaticShape(x));
  bool hasHeads = shape.size() == 4;
  int64_t heads = op.getNumHeads().value_or(0);
  if (!hasHeads && heads <= 0)
    return d.emitError() << "has an operand of three dimensions, but not the "
                            "attribute num_heads";
  x = hasHeads ? d.transpose(x, {0, 2, 1, 3})
               : d.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  int64_t headSize = getStaticShape(x)[3];
  int64_t size = op.getRotaryEmbeddingDim();
  if (size == 0)
    size = headSize;
  Value y = rotate(d, x, size, op.getInterleaved() != 0);
  if (size != headSize)
    y = d.create("Concat", {y, d.slice(x, {size}, {headSize}, {3})},
                 d.attr("axis", int64_t(3)));
  y = hasHeads ? d.transpose(y, {0, 2, 1, 3}) : d.reshape(y, shape);
  d.set(0, y);
  return success();
}

void amp::onnx::addAttentionRules(RuleTable &table) {
  table.add(decomposeAttention);
  table.add(decomposeRotaryEmbedding);
}
