//===- Recurrence.cpp - Recurrent layers unrolled over time ---------------===//
//
// The input's product is one for all steps; what depends on the state is
// written step by step.
//
//===----------------------------------------------------------------------===//

#include "Recurrence.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

Value amp::train::wideProduct(onnx::OnnxBuilder &builder, Value a, Value b,
                              bool transA, bool transB) {
  Type element = onnx::getElementType(a);
  if (onnx::isHalf(element))
    element = builder.getBuilder().getF32Type();
  return MatMulOp::create(builder.getBuilder(), builder.getLoc(), element, a,
                          transA, b, transB);
}

namespace {

class Unroller {
public:
  Unroller(onnx::OnnxBuilder &builder, RecurrentGradientOp op)
      : builder(builder), op(op), time(op.getX().getType().getDimSize(0)),
        batch(op.getX().getType().getDimSize(1)),
        hidden(op.getRecurrence().getType().getDimSize(1)) {}

  SmallVector<RecurrentStep> run();

private:
  void projectInput();
  Value initialState(Value given);
  void advance(RecurrentStep &step);
  void advanceLstm(RecurrentStep &step, Value input);
  void advanceGru(RecurrentStep &step, Value input);
  void keepFinished(RecurrentStep &step);

  Value sigmoid(Value value) { return builder.unary("Sigmoid", value); }
  Value tanh(Value value) { return builder.unary("Tanh", value); }
  /// Gate `index` of (batch, gates).
  Value gate(Value gates, int64_t index) {
    return builder.slice(gates, {index * hidden}, {(index + 1) * hidden}, {1});
  }
  /// Gates [index, index + count) of a bias or a weight's rows.
  Value part(Value value, int64_t index, int64_t count) {
    return builder.slice(value, {index * hidden}, {(index + count) * hidden},
                         {0});
  }
  /// The state's part of the gates whose weights are `rows`.
  Value project(Value state, Value rows) {
    Value narrow = builder.cast(state, onnx::getElementType(rows));
    return wideProduct(builder, narrow, rows, /*transA=*/false,
                       /*transB=*/true);
  }

  onnx::OnnxBuilder &builder;
  RecurrentGradientOp op;
  int64_t time, batch, hidden;
  Value projected, stateBias, lengths;
};

} // namespace

/// What the inputs give to the gates of all steps.
void Unroller::projectInput() {
  ArrayRef<int64_t> shape = op.getX().getType().getShape();
  Value rows = builder.reshape(op.getX(), {time * batch, shape[2]});
  projected = wideProduct(builder, rows, op.getWeight(), /*transA=*/false,
                          /*transB=*/true);
  int64_t gates = op.getWeight().getType().getDimSize(0);
  if (op.getBias()) {
    Value both = builder.widen(op.getBias());
    int64_t count = gates / hidden;
    Value bias = part(both, 0, count), second = part(both, count, count);
    // A GRU may reset what its second bias gives.
    if (count == 3)
      stateBias = second;
    else
      bias = builder.add(bias, second);
    projected = builder.add(projected, bias);
  }
  projected = builder.reshape(projected, {time, batch, gates});
}

Value Unroller::initialState(Value given) {
  if (given)
    return builder.widen(given);
  return builder.splat(
      0,
      RankedTensorType::get({batch, hidden}, onnx::getElementType(projected)));
}

void Unroller::advanceLstm(RecurrentStep &step, Value input) {
  Value gates = builder.add(input, project(step.previousH, op.getRecurrence()));
  auto open = [&](int64_t index, int64_t peephole, Value c) {
    Value x = gate(gates, index);
    if (op.getPeepholes())
      x = builder.add(
          x,
          builder.mul(part(builder.widen(op.getPeepholes()), peephole, 1), c));
    return sigmoid(x);
  };
  Value i = open(0, 0, step.previousC), f = open(2, 2, step.previousC),
        g = tanh(gate(gates, 3));
  step.c = builder.add(builder.mul(f, step.previousC), builder.mul(i, g));
  Value o = open(1, 1, step.c);
  step.h = builder.mul(o, tanh(step.c));
  step.gates = {i, o, f, g};
}

void Unroller::advanceGru(RecurrentStep &step, Value input) {
  bool resetsAfter = op.getCell() == RecurrentCell::GruResetAfter;
  int64_t count = resetsAfter ? 3 : 2;
  Value h = step.previousH;
  Value state = project(h, part(op.getRecurrence(), 0, count));
  if (stateBias)
    state = builder.add(state, part(stateBias, 0, count));
  auto open = [&](int64_t index) {
    return sigmoid(builder.add(gate(input, index), gate(state, index)));
  };
  Value z = open(0), r = open(1), candidate;
  if (resetsAfter) {
    step.reset = gate(state, 2);
    candidate = builder.mul(r, step.reset);
  } else {
    candidate = project(builder.mul(r, h), part(op.getRecurrence(), 2, 1));
    if (stateBias)
      candidate = builder.add(candidate, part(stateBias, 2, 1));
  }
  Value n = tanh(builder.add(gate(input, 2), candidate));
  Value rest = builder.sub(builder.scalarLike(1, z), z);
  step.h = builder.add(builder.mul(rest, n), builder.mul(z, h));
  step.gates = {z, r, n};
}

void Unroller::advance(RecurrentStep &step) {
  SmallVector<int64_t> shape(onnx::getStaticShape(projected).drop_front());
  Value input = builder.reshape(
      builder.slice(projected, {step.time}, {step.time + 1}, {0}), shape);
  switch (op.getCell()) {
  case RecurrentCell::Lstm:
    return advanceLstm(step, input);
  case RecurrentCell::Gru:
  case RecurrentCell::GruResetAfter:
    return advanceGru(step, input);
  case RecurrentCell::RnnTanh:
  case RecurrentCell::RnnRelu:
    Value sum = builder.add(input, project(step.previousH, op.getRecurrence()));
    step.h = op.getCell() == RecurrentCell::RnnTanh
                 ? tanh(sum)
                 : builder.unary("Relu", sum);
    step.gates = {step.h};
    return;
  }
}

/// Past its length a row keeps its state.
void Unroller::keepFinished(RecurrentStep &step) {
  if (!lengths)
    return;
  step.isInside = builder.create(
      "Greater", {lengths, builder.scalarLike(step.time, lengths)});
  step.h = builder.where(step.isInside, step.h, step.previousH);
  if (step.c)
    step.c = builder.where(step.isInside, step.c, step.previousC);
}

SmallVector<RecurrentStep> Unroller::run() {
  projectInput();
  if (op.getSequenceLens())
    lengths = builder.reshape(op.getSequenceLens(), {batch, 1});
  SmallVector<RecurrentStep> steps;
  Value h = initialState(op.getInitialH()), c;
  if (op.getCell() == RecurrentCell::Lstm)
    c = initialState(op.getInitialC());
  for (int64_t number = 0; number < time; ++number) {
    RecurrentStep step;
    step.time = op.getReverse() ? time - 1 - number : number;
    step.previousH = h;
    step.previousC = c;
    advance(step);
    keepFinished(step);
    h = step.h;
    c = step.c;
    steps.push_back(std::move(step));
  }
  return steps;
}

SmallVector<RecurrentStep>
amp::train::unrollRecurrence(onnx::OnnxBuilder &builder,
                             RecurrentGradientOp op) {
  return Unroller(builder, op).run();
}
