//===- Optimizers.cpp - Decompositions of optimizer updates ---------------===//
//
// The formulas of torch.optim, in the parameter's type; what depends on the
// step count alone is computed in float64.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// What the updates have in common.
template <typename Op> class Update : public onnx::OnnxBuilder {
public:
  Update(Op op, PatternRewriter &rewriter)
      : OnnxBuilder(rewriter, op.getLoc()), op(op), rewriter(rewriter),
        parameter(op.getParameter()),
        element(onnx::getElementType(op.getParameter())) {}

  Value number(APFloat value) { return number(value.convertToDouble()); }
  Value number(double value) { return scalar(value, element); }
  /// a * value
  Value times(Value value, double factor) { return scale(value, factor); }
  double decay() { return op.getWeightDecay().convertToDouble(); }

  /// The gradient, unscaled, clipped, negated to maximize.
  Value gradient() {
    Value g = mul(op.getGradient(), cast(op.getMultiplier(), element));
    if (std::optional<APFloat> limit = op.getClipValue()) {
      g = create("Min", {g, number(*limit)});
      g = create("Max", {g, neg(number(*limit))});
    }
    return op.getMaximize() ? neg(g) : g;
  }

  /// Decay that is part of the gradient.
  Value withDecay(Value g) {
    return decay() == 0 ? g : add(g, times(parameter, decay()));
  }

  Value lr() { return cast(op.getLr(), element); }
  /// Decay beside the gradient: p * (1 - lr * decay).
  Value decayed() {
    if (decay() == 0)
      return parameter;
    Value lr64 = cast(op.getLr(), getBuilder().getF64Type());
    Value keep = sub(scalarLike(1, lr64), scale(lr64, decay()));
    return mul(parameter, cast(keep, element));
  }

  /// beta * old + (1 - beta) * value
  Value mean(Value old, Value value, APFloat beta) {
    double b = beta.convertToDouble();
    return add(times(old, b), times(value, 1 - b));
  }

  /// 1 - beta^(step + 1), in float64.
  Value correction(APFloat beta) {
    Type f64 = getBuilder().getF64Type();
    Value step = cast(op.getStep(), f64);
    Value power = create("Pow", {scalar(beta.convertToDouble(), f64),
                                 add(step, scalarLike(1, step))});
    return sub(scalarLike(1, power), power);
  }

  /// Replaces the op: each result is new where `apply` holds, else the old.
  void finish(ArrayRef<Value> old, ArrayRef<Value> fresh) {
    SmallVector<Value> results;
    for (auto [before, after] : llvm::zip(old, fresh))
      results.push_back(where(op.getApply(), after, before));
    rewriter.replaceOp(op, results);
  }

protected:
  Op op;
  PatternRewriter &rewriter;
  Value parameter;
  Type element;
};

/// p -= lr * momentum(g)
struct DecomposeSgd : OpRewritePattern<SgdUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SgdUpdateOp op,
                                PatternRewriter &rewriter) const override {
    Update<SgdUpdateOp> u(op, rewriter);
    Value p = op.getParameter(), g = u.withDecay(u.gradient());
    Value buffer = op.getMomentumBuffer();
    if (!buffer) {
      u.finish({p}, {u.sub(p, u.mul(u.lr(), g))});
      return success();
    }
    double momentum = op.getMomentum().convertToDouble();
    double dampening = op.getDampening().convertToDouble();
    Value later = u.add(u.times(buffer, momentum), u.times(g, 1 - dampening));
    Value isFirst =
        u.create("Equal", {op.getStep(), u.scalarLike(0, op.getStep())});
    Value next = u.where(isFirst, g, later);
    Value direction =
        op.getNesterov() ? u.add(g, u.times(next, momentum)) : next;
    u.finish({p, buffer}, {u.sub(p, u.mul(u.lr(), direction)), next});
    return success();
  }
};

/// p -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
struct DecomposeAdam : OpRewritePattern<AdamUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AdamUpdateOp op,
                                PatternRewriter &rewriter) const override {
    Update<AdamUpdateOp> u(op, rewriter);
    Value p = op.getDecoupled() ? u.decayed() : op.getParameter();
    Value g = u.gradient();
    if (!op.getDecoupled())
      g = u.withDecay(g);
    Value m = u.mean(op.getExpAvg(), g, op.getBeta1());
    Value v = u.mean(op.getExpAvgSq(), u.mul(g, g), op.getBeta2());
    Value largest = v;
    if (op.getMaxExpAvgSq())
      largest = u.create("Max", {op.getMaxExpAvgSq(), v});
    Value lr = u.cast(op.getLr(), rewriter.getF64Type());
    Type element = onnx::getElementType(p);
    Value size = u.cast(u.div(lr, u.correction(op.getBeta1())), element);
    Value root = u.cast(u.unary("Sqrt", u.correction(op.getBeta2())), element);
    Value below =
        u.add(u.div(u.unary("Sqrt", largest), root), u.number(op.getEps()));
    Value next = u.sub(p, u.mul(size, u.div(m, below)));
    SmallVector<Value> old{op.getParameter(), op.getExpAvg(), op.getExpAvgSq()};
    SmallVector<Value> fresh{next, m, v};
    if (op.getMaxExpAvgSq()) {
      old.push_back(op.getMaxExpAvgSq());
      fresh.push_back(largest);
    }
    u.finish(old, fresh);
    return success();
  }
};

/// p -= lr * sign(beta1 m + (1 - beta1) g)
struct DecomposeLion : OpRewritePattern<LionUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LionUpdateOp op,
                                PatternRewriter &rewriter) const override {
    Update<LionUpdateOp> u(op, rewriter);
    Value g = u.gradient(), m = op.getExpAvg();
    Value direction = u.unary("Sign", u.mean(m, g, op.getBeta1()));
    Value next = u.sub(u.decayed(), u.mul(u.lr(), direction));
    u.finish({op.getParameter(), m}, {next, u.mean(m, g, op.getBeta2())});
    return success();
  }
};

/// p -= lr * norm(p) / norm(r) * r
struct DecomposeLamb : OpRewritePattern<LambUpdateOp> {
  using OpRewritePattern::OpRewritePattern;

  static Value norm(onnx::OnnxBuilder &builder, Value value) {
    return builder.unary(
        "Sqrt", builder.create("ReduceSum", {builder.mul(value, value)},
                               builder.attr("keepdims", int64_t(0))));
  }

  LogicalResult matchAndRewrite(LambUpdateOp op,
                                PatternRewriter &rewriter) const override {
    Update<LambUpdateOp> u(op, rewriter);
    Value p = op.getParameter(), g = u.gradient();
    Type element = onnx::getElementType(p);
    Value m = u.mean(op.getExpAvg(), g, op.getBeta1());
    Value v = u.mean(op.getExpAvgSq(), u.mul(g, g), op.getBeta2());
    Value first = u.cast(u.correction(op.getBeta1()), element);
    Value second = u.cast(u.correction(op.getBeta2()), element);
    Value below =
        u.add(u.unary("Sqrt", u.div(v, second)), u.number(op.getEps()));
    Value r = u.withDecay(u.div(u.div(m, first), below));
    Value ofP = norm(u, p), ofR = norm(u, r), zero = u.number(0.0);
    Value both = u.create("And", {u.create("Greater", {ofP, zero}),
                                  u.create("Greater", {ofR, zero})});
    Value trust = u.where(both, u.div(ofP, ofR), u.number(1.0));
    Value next = u.sub(p, u.mul(u.mul(u.lr(), trust), r));
    u.finish({p, op.getExpAvg(), op.getExpAvgSq()}, {next, m, v});
    return success();
  }
};

} // namespace

void amp::train::populateOptimizerPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeAdam, DecomposeLamb, DecomposeLion, DecomposeSgd>(
      patterns.getContext());
}
