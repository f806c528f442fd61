//===- Recurrent.cpp - Decomposition of recurrent gradients ---------------===//
//
// Steps backwards through what forward kept; products for weights and input
// are made once, of all steps together.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "Recurrence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

/// Cotangents of one step's gates and what they are multiplied with.
struct GateGradients {
  int64_t time;
  /// Of the input's product; of the state's, narrow, (batch, gates).
  Value input, state;
};

class BackwardScan {
public:
  BackwardScan(onnx::OnnxBuilder &builder, RecurrentGradientOp op);
  SmallVector<Value> run();

private:
  Value gradientOfY(const RecurrentStep &step);
  void stepBack(const RecurrentStep &step);
  GateGradients stepLstm(const RecurrentStep &step, Value total);
  GateGradients stepGru(const RecurrentStep &step, Value total);
  GateGradients stepGruResetAfter(const RecurrentStep &step, Value total);
  GateGradients stepRnn(const RecurrentStep &step, Value total);

  /// g * (derivative of sigmoid at its result y), or of tanh.
  Value throughSigmoid(Value g, Value y) {
    return builder.mul(g, builder.mul(y, builder.sub(one, y)));
  }
  Value throughTanh(Value g, Value y) {
    return builder.mul(g, builder.sub(one, builder.mul(y, y)));
  }
  Value narrowed(ArrayRef<Value> gates) {
    return builder.cast(concat(gates, 1), narrow);
  }
  Value concat(ArrayRef<Value> parts, int64_t axis) {
    return parts.size() == 1
               ? parts.front()
               : builder.create("Concat", parts, builder.attr("axis", axis));
  }
  /// The cotangent of the state through rows [first, last) of gates.
  Value toState(Value gates, int64_t first, int64_t last) {
    Value rows = builder.slice(op.getRecurrence(), {first * hidden},
                               {last * hidden}, {0});
    return wideProduct(builder, gates, rows, false, false);
  }
  Value columns(Value gates, int64_t first, int64_t last) {
    return builder.slice(gates, {first * hidden}, {last * hidden}, {1});
  }
  Value peephole(int64_t index) {
    return builder.slice(builder.widen(op.getPeepholes()), {index * hidden},
                         {(index + 1) * hidden}, {0});
  }
  Value sumRows(Value value) {
    return builder.reduce("ReduceSum", builder.widen(value), {0},
                          /*keepDims=*/false);
  }
  Value plus(Value a, Value b) { return a ? builder.add(a, b) : b; }
  Value recurrenceGradient(Value state, Value previous);

  onnx::OnnxBuilder &builder;
  RecurrentGradientOp op;
  SmallVector<RecurrentStep> steps;
  int64_t hidden;
  Type narrow;
  Value one, zero;
  /// Cotangents of the state after the step at hand.
  Value dh, dc;
  SmallVector<GateGradients> gates;
  /// Gates i, o, f.
  Value dpeepholes[3];
};

} // namespace

BackwardScan::BackwardScan(onnx::OnnxBuilder &builder, RecurrentGradientOp op)
    : builder(builder), op(op),
      hidden(op.getRecurrence().getType().getDimSize(1)),
      narrow(op.getX().getType().getElementType()) {
  steps = unrollRecurrence(builder, op);
  Value like = steps.back().h;
  one = builder.scalarLike(1, like);
  zero = builder.scalarLike(0, like);
  auto initial = [&](Value given) {
    return given ? builder.widen(given)
                 : builder.splat(0, cast<RankedTensorType>(like.getType()));
  };
  dh = initial(op.getHGradient());
  dc = initial(op.getCGradient());
}

Value BackwardScan::gradientOfY(const RecurrentStep &step) {
  Value all = op.getYGradient();
  Value g = builder.slice(all, {step.time}, {step.time + 1}, {0});
  return builder.widen(
      builder.reshape(g, onnx::getStaticShape(all).drop_front()));
}

/// With tc = tanh(c): do = dh tc, dc += dh o (1 - tc^2); the gates' from dc.
GateGradients BackwardScan::stepLstm(const RecurrentStep &step, Value total) {
  Value i = step.gates[0], o = step.gates[1], f = step.gates[2],
        g = step.gates[3];
  Value squashed = builder.unary("Tanh", step.c);
  Value gateO = throughSigmoid(builder.mul(total, squashed), o);
  dc = builder.add(dc, throughTanh(builder.mul(total, o), squashed));
  if (op.getPeepholes())
    dc = builder.add(dc, builder.mul(gateO, peephole(1)));
  Value gateI = throughSigmoid(builder.mul(dc, g), i);
  Value gateF = throughSigmoid(builder.mul(dc, step.previousC), f);
  Value gateG = throughTanh(builder.mul(dc, i), g);
  dc = builder.mul(dc, f);
  if (op.getPeepholes()) {
    dc = builder.add(dc, builder.add(builder.mul(gateI, peephole(0)),
                                     builder.mul(gateF, peephole(2))));
    Value seen[] = {builder.mul(gateI, step.previousC),
                    builder.mul(gateO, step.c),
                    builder.mul(gateF, step.previousC)};
    for (auto [sum, value] : llvm::zip(dpeepholes, seen))
      sum = plus(sum, sumRows(value));
  }
  Value all = narrowed({gateI, gateO, gateF, gateG});
  dh = toState(all, 0, 4);
  return {step.time, all, all};
}

/// h' = (1 - z) n + z h, n = tanh(.. + (r h) R'): the candidate's product is
/// of r h.
GateGradients BackwardScan::stepGru(const RecurrentStep &step, Value total) {
  Value z = step.gates[0], r = step.gates[1], n = step.gates[2];
  Value h = step.previousH;
  Value gateN = throughTanh(builder.mul(total, builder.sub(one, z)), n);
  Value gateZ = throughSigmoid(builder.mul(total, builder.sub(h, n)), z);
  Value kept = toState(builder.cast(gateN, narrow), 2, 3);
  Value gateR = throughSigmoid(builder.mul(kept, h), r);
  Value all = narrowed({gateZ, gateR, gateN});
  dh = builder.add(builder.add(builder.mul(total, z), builder.mul(kept, r)),
                   toState(columns(all, 0, 2), 0, 2));
  return {step.time, all, all};
}

/// h' = (1 - z) n + z h, n = tanh(.. + r (h R' + b))
GateGradients BackwardScan::stepGruResetAfter(const RecurrentStep &step,
                                              Value total) {
  Value z = step.gates[0], r = step.gates[1], n = step.gates[2];
  Value h = step.previousH;
  Value gateN = throughTanh(builder.mul(total, builder.sub(one, z)), n);
  Value gateZ = throughSigmoid(builder.mul(total, builder.sub(h, n)), z);
  Value gateR = throughSigmoid(builder.mul(gateN, step.reset), r);
  Value state = narrowed({gateZ, gateR, builder.mul(gateN, r)});
  dh = builder.add(builder.mul(total, z), toState(state, 0, 3));
  return {step.time, narrowed({gateZ, gateR, gateN}), state};
}

GateGradients BackwardScan::stepRnn(const RecurrentStep &step, Value total) {
  Value y = step.gates[0];
  Value gate =
      op.getCell() == RecurrentCell::RnnTanh
          ? throughTanh(total, y)
          : builder.where(builder.create("Greater", {y, zero}), total, zero);
  Value all = builder.cast(gate, narrow);
  dh = toState(all, 0, 1);
  return {step.time, all, all};
}

/// From the cotangents of the state after `step` to those before it. Rows that
/// had ended let them through.
void BackwardScan::stepBack(const RecurrentStep &step) {
  Value total = dh, passedH, passedC;
  if (op.getYGradient())
    total = builder.add(total, gradientOfY(step));
  if (step.isInside) {
    passedH = builder.where(step.isInside, zero, dh);
    passedC = builder.where(step.isInside, zero, dc);
    total = builder.where(step.isInside, total, zero);
    dc = builder.where(step.isInside, dc, zero);
  }
  switch (op.getCell()) {
  case RecurrentCell::Lstm:
    gates.push_back(stepLstm(step, total));
    break;
  case RecurrentCell::Gru:
    gates.push_back(stepGru(step, total));
    break;
  case RecurrentCell::GruResetAfter:
    gates.push_back(stepGruResetAfter(step, total));
    break;
  case RecurrentCell::RnnTanh:
  case RecurrentCell::RnnRelu:
    gates.push_back(stepRnn(step, total));
    break;
  }
  if (step.isInside) {
    dh = builder.add(dh, passedH);
    dc = builder.add(dc, passedC);
  }
}

/// The candidate gate of a GRU that resets before its product saw r h.
Value BackwardScan::recurrenceGradient(Value state, Value previous) {
  if (op.getCell() != RecurrentCell::Gru)
    return wideProduct(builder, state, previous, true, false);
  SmallVector<Value> kept;
  for (const RecurrentStep &step : steps)
    kept.push_back(
        builder.cast(builder.mul(step.gates[1], step.previousH), narrow));
  return concat(
      {wideProduct(builder, columns(state, 0, 2), previous, true, false),
       wideProduct(builder, columns(state, 2, 3), concat(kept, 0), true,
                   false)},
      0);
}

SmallVector<Value> BackwardScan::run() {
  for (const RecurrentStep &step : llvm::reverse(steps))
    stepBack(step);
  // Sums over time are made in the order of time.
  llvm::sort(gates, [](auto &a, auto &b) { return a.time < b.time; });
  llvm::sort(steps, [](auto &a, auto &b) { return a.time < b.time; });
  SmallVector<Value> inputs, states, previous;
  for (const GateGradients &gate : gates) {
    inputs.push_back(gate.input);
    states.push_back(gate.state);
  }
  for (const RecurrentStep &step : steps)
    previous.push_back(builder.cast(step.previousH, narrow));
  Value input = concat(inputs, 0), state = concat(states, 0);
  ArrayRef<int64_t> shape = op.getX().getType().getShape();
  Value x = builder.reshape(op.getX(), {shape[0] * shape[1], shape[2]});
  Value dx = MatMulOp::create(builder.getBuilder(), builder.getLoc(), narrow,
                              input, false, op.getWeight(), false);
  SmallVector<Value> results{
      builder.reshape(dx, shape), wideProduct(builder, input, x, true, false),
      recurrenceGradient(state, concat(previous, 0)),
      concat({sumRows(input), sumRows(state)}, 0), builder.cast(dh, narrow)};
  if (op.getCell() == RecurrentCell::Lstm)
    results.push_back(builder.cast(dc, narrow));
  if (op.getPeepholes())
    results.push_back(concat(dpeepholes, 0));
  return results;
}

namespace {

struct DecomposeRecurrentGradient : OpRewritePattern<RecurrentGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RecurrentGradientOp op,
                                PatternRewriter &rewriter) const override {
    onnx::OnnxBuilder builder(rewriter, op.getLoc());
    rewriter.replaceOp(op, BackwardScan(builder, op).run());
    return success();
  }
};

} // namespace

void amp::train::populateRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeRecurrentGradient>(patterns.getContext());
}
