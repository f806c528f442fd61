//===- Normalization.cpp - Gradient rules of normalisations ---------------===//
//
// All that subtract a mean and divide by a deviation are one operation over
// some axes, with a scale that broadcasts.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Axes [first, rank) of `value`.
SmallVector<int64_t> axesFrom(Value value, int64_t first) {
  return llvm::to_vector(
      llvm::seq<int64_t>(first, onnx::getStaticShape(value).size()));
}

/// A tensor with one element a channel, shaped to broadcast to `x`, whose
/// channels are dimension 1.
Value alongChannels(Vjp &vjp, Value perChannel, Value x) {
  SmallVector<int64_t> shape(onnx::getStaticShape(x).size() - 1, 1);
  shape.front() = onnx::getStaticShape(perChannel).front();
  return vjp.reshape(perChannel, shape);
}

/// What a norm is taken over. Shapes of x, g and scale may differ from the
/// operands': those get gradients in their own shape.
struct Norm {
  Value x, gradient, scale, meanGradient, invStdGradient;
  SmallVector<int64_t> axes;
  APFloat epsilon;
  bool centered = true;
};

/// Sets the gradients of operands 0 (x), 1 (scale) and 2 (bias, if there).
LogicalResult setNormGradients(Vjp &vjp, const Norm &norm) {
  OpBuilder &builder = vjp.getBuilder();
  Type dscaleType;
  if (vjp.needs(1)) {
    Type element = onnx::getElementType(norm.scale);
    dscaleType = RankedTensorType::get(
        onnx::getStaticShape(norm.scale),
        element.isF64() ? element : Type(builder.getF32Type()));
  }
  if (vjp.needs(0) || vjp.needs(1)) {
    auto op = NormGradientOp::create(
        builder, vjp.getLoc(), norm.x.getType(), dscaleType, norm.x,
        norm.gradient, norm.scale, norm.meanGradient, norm.invStdGradient,
        norm.axes, norm.epsilon, norm.centered);
    vjp.set(0, vjp.reshape(op.getDx(), onnx::getStaticShape(vjp.operand(0))));
    if (dscaleType)
      vjp.set(1, vjp.cast(vjp.reshape(op.getDscale(),
                                      onnx::getStaticShape(vjp.operand(1))),
                          vjp.getGradientType(1)));
  }
  return success();
}

/// The bias's gradient when it has one element a channel.
void setChannelBiasGradient(Vjp &vjp) {
  if (!vjp.needs(2))
    return;
  Value g = vjp.widen(vjp.cotangent(0));
  SmallVector<int64_t> axes = axesFrom(g, 2);
  axes.insert(axes.begin(), 0);
  // With its dimensions kept it is the sum that the norm's gradient needs.
  Value sum = vjp.reshape(vjp.reduce("ReduceSum", g, axes),
                          onnx::getStaticShape(vjp.operand(2)));
  vjp.set(2, vjp.cast(sum, vjp.getGradientType(2)));
}

struct LayerNormalizationRule
    : Rule<LayerNormalizationRule, onnx::LayerNormalizationOp> {
  LogicalResult build(onnx::LayerNormalizationOp op, Vjp &vjp) const {
    Value x = op.getX(), g = vjp.cotangentOf(op.getY());
    if (vjp.needs(2) && g)
      vjp.setSummed(2, vjp.widen(g));
    if (!g) // Only the statistics reach the loss.
      g = vjp.splat(0, cast<RankedTensorType>(x.getType()));
    int64_t axis = op.getAxis(), rank = onnx::getStaticShape(x).size();
    return setNormGradients(
        vjp, {x, g, op.getScale(), vjp.cotangentOf(op.getMean()),
              vjp.cotangentOf(op.getInvStdDev()),
              axesFrom(x, axis < 0 ? axis + rank : axis), op.getEpsilon()});
  }
};

struct RMSNormalizationRule
    : Rule<RMSNormalizationRule, onnx::RMSNormalizationOp> {
  LogicalResult build(onnx::RMSNormalizationOp op, Vjp &vjp) const {
    int64_t axis = op.getAxis(), rank = onnx::getStaticShape(op.getX()).size();
    return setNormGradients(
        vjp, {op.getX(), vjp.cotangent(0), op.getScale(), Value(), Value(),
              axesFrom(op.getX(), axis < 0 ? axis + rank : axis),
              op.getEpsilon(), /*centered=*/false});
  }
};

struct InstanceNormalizationRule
    : Rule<InstanceNormalizationRule, onnx::InstanceNormalizationOp> {
  LogicalResult build(onnx::InstanceNormalizationOp op, Vjp &vjp) const {
    Value x = op.getInput();
    setChannelBiasGradient(vjp);
    return setNormGradients(vjp, {x, vjp.cotangent(0),
                                  alongChannels(vjp, op.getScale(), x), Value(),
                                  Value(), axesFrom(x, 2), op.getEpsilon()});
  }
};

/// Over x as [batch, group, channel of group, ...].
struct GroupNormalizationRule
    : Rule<GroupNormalizationRule, onnx::GroupNormalizationOp> {
  LogicalResult build(onnx::GroupNormalizationOp op, Vjp &vjp) const {
    SmallVector<int64_t> split(onnx::getStaticShape(op.getX()));
    int64_t groups = op.getNumGroups();
    split[1] /= groups;
    split.insert(split.begin() + 1, groups);
    SmallVector<int64_t> scaleShape(split.size() - 1, 1);
    scaleShape[0] = groups;
    scaleShape[1] = split[2];
    setChannelBiasGradient(vjp);
    Value x = vjp.reshape(op.getX(), split);
    return setNormGradients(vjp,
                            {x, vjp.reshape(vjp.cotangent(0), split),
                             vjp.reshape(op.getScale(), scaleShape), Value(),
                             Value(), axesFrom(x, 2), op.getEpsilon()});
  }
};

struct BatchNormalizationRule
    : Rule<BatchNormalizationRule, onnx::BatchNormalizationOp> {
  /// Running statistics are inputs that nothing flows into.
  bool carriesGradient(Operation *, unsigned index) const { return index < 3; }

  LogicalResult build(onnx::BatchNormalizationOp op, Vjp &vjp) const {
    Value x = op.getX(), g = vjp.cotangentOf(op.getY());
    if (!g) // The running statistics are no way to the loss.
      return success();
    setChannelBiasGradient(vjp);
    Value scale = alongChannels(vjp, op.getScale(), x);
    if (!op.getTrainingMode())
      return frozen(op, vjp, scale);
    SmallVector<int64_t> axes = axesFrom(x, 2);
    axes.insert(axes.begin(), 0);
    return setNormGradients(
        vjp, {x, g, scale, Value(), Value(), axes, op.getEpsilon()});
  }

  /// dx = g * scale / std, dscale = sum(g * (x - mean) / std)
  static LogicalResult frozen(onnx::BatchNormalizationOp op, Vjp &vjp,
                              Value scale) {
    Value x = op.getX(), g = vjp.widen(vjp.cotangent(0));
    Type wide = onnx::getElementType(g);
    auto channels = [&](Value value) {
      return vjp.cast(alongChannels(vjp, value, x), wide);
    };
    Value variance = channels(op.getInputVar());
    Value epsilon = vjp.scalar(op.getEpsilon().convertToFloat(), wide);
    Value invStd =
        vjp.unary("Reciprocal", vjp.unary("Sqrt", vjp.add(variance, epsilon)));
    if (vjp.needs(0))
      vjp.set(0, vjp.cast(vjp.mul(g, vjp.mul(vjp.cast(scale, wide), invStd)),
                          onnx::getElementType(x)));
    if (!vjp.needs(1))
      return success();
    Value centered = vjp.sub(vjp.cast(x, wide), channels(op.getInputMean()));
    SmallVector<int64_t> axes = axesFrom(x, 2);
    axes.insert(axes.begin(), 0);
    Value dscale =
        vjp.reduce("ReduceSum", vjp.mul(g, vjp.mul(centered, invStd)), axes,
                   /*keepDims=*/false);
    vjp.set(1, vjp.cast(dscale, vjp.getGradientType(1)));
    return success();
  }
};

/// p = 2: (g - y * sum(g * y)) / |x|; p = 1: (g - sign(x) * sum(g * y)) / |x|;
/// 0 where x is 0 all along the axis
struct LpNormalizationRule
    : Rule<LpNormalizationRule, onnx::LpNormalizationOp> {
  LogicalResult build(onnx::LpNormalizationOp op, Vjp &vjp) const {
    Value x = vjp.widen(op.getInput()), g = vjp.widen(vjp.cotangent(0));
    int64_t axis = op.getAxis(), rank = onnx::getStaticShape(x).size();
    if (axis < 0)
      axis += rank;
    bool isL1 = op.getP() == 1;
    Value norm = vjp.reduce("ReduceSum",
                            isL1 ? vjp.unary("Abs", x) : vjp.mul(x, x), {axis});
    if (!isL1)
      norm = vjp.unary("Sqrt", norm);
    Value zero = vjp.scalarLike(0, x), one = vjp.scalarLike(1, x);
    Value isZero = vjp.create("Equal", {norm, zero});
    Value inverse =
        vjp.where(isZero, zero, vjp.div(one, vjp.where(isZero, one, norm)));
    Value y = vjp.mul(x, inverse);
    Value along = vjp.reduce("ReduceSum", vjp.mul(g, y), {axis});
    Value direction = isL1 ? vjp.unary("Sign", x) : y;
    Value dx = vjp.mul(vjp.sub(g, vjp.mul(direction, along)), inverse);
    vjp.set(0, vjp.cast(dx, onnx::getElementType(op.getInput())));
    return success();
  }
};

/// y = c / d, c = x - mean(x), d = s + 1e-9, s = sqrt(mean(c * c)):
/// dx = (g - mean(g)) / d - c * mean(g * c) / (s * d * d), 0 where s is 0
struct MeanVarianceNormalizationRule
    : Rule<MeanVarianceNormalizationRule, onnx::MeanVarianceNormalizationOp> {
  LogicalResult build(onnx::MeanVarianceNormalizationOp op, Vjp &vjp) const {
    Value x = vjp.widen(op.getX()), g = vjp.widen(vjp.cotangent(0));
    int64_t rank = onnx::getStaticShape(x).size();
    SmallVector<int64_t> axes{0, 2, 3};
    if (std::optional<ArrayRef<int64_t>> given = op.getAxes())
      axes.assign(given->begin(), given->end());
    for (int64_t &axis : axes)
      axis = axis < 0 ? axis + rank : axis;
    auto mean = [&](Value value) {
      return vjp.reduce("ReduceMean", value, axes);
    };
    Value c = vjp.sub(x, mean(x));
    Value s = vjp.unary("Sqrt", mean(vjp.mul(c, c)));
    Value zero = vjp.scalarLike(0, x), one = vjp.scalarLike(1, x);
    Value isZero = vjp.create("Equal", {s, zero});
    Value d = vjp.add(s, vjp.scalarLike(1e-9, x));
    Value direct = vjp.div(vjp.sub(g, mean(g)), d);
    // Divided in steps: d * d would underflow.
    Value along = vjp.div(
        vjp.div(mean(vjp.mul(g, vjp.div(c, d))), vjp.where(isZero, one, s)), d);
    Value dx = vjp.sub(direct, vjp.mul(c, along));
    vjp.set(0, vjp.cast(vjp.where(isZero, zero, dx),
                        onnx::getElementType(op.getX())));
    return success();
  }
};

} // namespace

void amp::train::attachNormalizationRules(MLIRContext *context) {
  onnx::BatchNormalizationOp::attachInterface<BatchNormalizationRule>(*context);
  onnx::GroupNormalizationOp::attachInterface<GroupNormalizationRule>(*context);
  onnx::InstanceNormalizationOp::attachInterface<InstanceNormalizationRule>(
      *context);
  onnx::LayerNormalizationOp::attachInterface<LayerNormalizationRule>(*context);
  onnx::LpNormalizationOp::attachInterface<LpNormalizationRule>(*context);
  onnx::MeanVarianceNormalizationOp::attachInterface<
      MeanVarianceNormalizationRule>(*context);
  onnx::RMSNormalizationOp::attachInterface<RMSNormalizationRule>(*context);
}
