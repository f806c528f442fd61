//===- Random.cpp - Decomposition of Dropout ------------------------------===//
//
// Random numbers are a hash of element, operation and iteration: no state, and
// the same numbers whatever computes them.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx;

namespace {

/// Integers below 2^32, kept in i64 where their products wrap harmlessly.
class Hash32 {
public:
  explicit Hash32(Decomposition &d) : d(d) {}

  Value constant(int64_t value) { return d.reshape(d.ints({value}), {}); }
  Value low(Value x) {
    return d.create("BitwiseAnd", {x, constant(0xffffffff)});
  }
  Value exclusiveOr(Value a, Value b) { return d.create("BitwiseXor", {a, b}); }
  /// x ^= x >> 16; x *= m1; x ^= x >> 15; x *= m2; x ^= x >> 16 with the
  /// multipliers of the "lowbias32" search: every input bit reaches every
  /// output bit.
  Value mix(Value x) {
    x = foldDown(x, 16);
    x = foldDown(times(x, 0x7feb352d), 15);
    return foldDown(times(x, 0x846ca68b), 16);
  }

private:
  Value foldDown(Value x, unsigned bits) {
    return exclusiveOr(x, d.div(x, constant(int64_t(1) << bits)));
  }
  Value times(Value x, int64_t factor) {
    return low(d.mul(x, constant(factor)));
  }

  Decomposition &d;
};

/// The number of each element in row-major order, from small vectors.
Value getElementNumbers(Decomposition &d, ArrayRef<int64_t> shape) {
  Value numbers = d.reshape(d.ints({0}), {});
  int64_t stride = 1;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    SmallVector<int64_t> along;
    for (int64_t i = 0; i < shape[axis]; ++i)
      along.push_back(i * stride);
    numbers = d.add(d.alongAxis(d.ints(along), axis, shape.size()), numbers);
    stride *= shape[axis];
  }
  return numbers;
}

/// Tells the operations of one graph apart: by the seed they have, else by
/// name, else by position.
int64_t getStream(DropoutOp op) {
  if (std::optional<uint64_t> seed = op.getSeed())
    return *seed & 0xffffffff;
  std::string name = getNodeName(op).str();
  if (name.empty())
    name = std::to_string(
        std::distance(op->getBlock()->begin(), op->getIterator()));
  return llvm::xxh3_64bits(name) & 0xffffffff;
}

/// The number of the current call of a step function, which makes each call's
/// numbers new; null in other functions.
Value getIteration(DropoutOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (BlockArgument argument : function.getArguments())
    if (train::getArgumentRole(function, argument.getArgNumber()) ==
            train::Role::Counter &&
        getValueName(argument) == "train.iteration")
      return argument;
  return {};
}

/// Uniform f32 numbers in [0, 1): 24 random bits each.
Value getUniform(DropoutOp op, Decomposition &d, ArrayRef<int64_t> shape) {
  Hash32 hash(d);
  Value key = hash.constant(getStream(op));
  if (Value iteration = getIteration(op))
    key = hash.exclusiveOr(hash.mix(hash.low(iteration)), key);
  key = hash.mix(key);
  Value bits = hash.exclusiveOr(hash.low(getElementNumbers(d, shape)), key);
  bits = hash.mix(hash.low(d.add(hash.mix(bits), hash.mix(key))));
  bits = d.div(bits, hash.constant(256));
  return d.scale(d.cast(bits, d.getBuilder().getF32Type()), 0x1p-24);
}

/// Training: x / (1 - ratio) where a random number is at least the ratio,
/// else 0. Otherwise x.
LogicalResult decomposeDropout(DropoutOp op, Decomposition &d) {
  Value x = d.wide(0);
  ArrayRef<int64_t> shape = getStaticShape(x);
  std::optional<double> trains =
      d.input(2) ? d.constantScalar(2) : std::optional<double>(0);
  if (!trains)
    return d.emitError() << "needs a constant for its input 'training_mode'";
  Type boolType = d.getBuilder().getI1Type();
  if (*trains == 0 || d.constantScalar(1) == 0.0) {
    d.set(0, d.input(0));
    d.set(1, d.splat(1, RankedTensorType::get(shape, boolType)));
    return success();
  }
  Value ratio = d.input(1) ? d.cast(d.input(1), d.getBuilder().getF32Type())
                           : d.scalar(0.5, d.getBuilder().getF32Type());
  Value mask = d.create("GreaterOrEqual", {getUniform(op, d, shape), ratio});
  Value factor =
      d.div(d.scalarLike(1, ratio), d.sub(d.scalarLike(1, ratio), ratio));
  Value kept = d.mul(x, d.cast(factor, getElementType(x)));
  d.set(0, d.where(mask, kept, d.scalarLike(0, x)));
  d.set(1, mask);
  return success();
}

} // namespace

void amp::onnx::addRandomRules(RuleTable &table) {
  table.add(decomposeDropout);
}
