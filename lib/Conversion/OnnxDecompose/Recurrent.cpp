//===- Recurrent.cpp - Decomposition of LSTM, GRU and RNN -----------------===//
//
// Unrolled over the sequence. The products of all steps' inputs are one
// product; gates and cell states are f32, and the hidden state is rounded to
// the operands' type before each product with it.
//
//===----------------------------------------------------------------------===//

#include "Recurrent.h"
#include "Decomposition.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp::onnx;

//===----------------------------------------------------------------------===//
// What the three share
//===----------------------------------------------------------------------===//

Value RecurrentLayer::operand(unsigned position) {
  Value value = d.input(position);
  if (!value)
    return {};
  SmallVector<int64_t> shape(getStaticShape(value).drop_front());
  return d.reshape(d.slice(value, {direction}, {direction + 1}, {0}), shape);
}

Value RecurrentLayer::initialState(unsigned position) {
  Value state = d.input(position);
  if (!state)
    return d.splat(0, RankedTensorType::get({batch, hidden},
                                            getElementType(projected)));
  if (isBatchFirst)
    state = d.transpose(state, {1, 0, 2});
  state = d.slice(state, {direction}, {direction + 1}, {0});
  return d.widen(d.reshape(state, {batch, hidden}));
}

Value RecurrentLayer::sumBiases(unsigned gates) {
  Value both = operand(3);
  if (!both)
    return {};
  both = d.widen(both);
  return d.add(part(both, 0, gates), part(both, gates, gates));
}

Value RecurrentLayer::projectInputs(Value bias) {
  Value x = d.input(0);
  if (isBatchFirst)
    x = d.transpose(x, {1, 0, 2});
  Value rows = d.reshape(x, {steps * batch, getStaticShape(x)[2]});
  Value y = d.product(rows, operand(1), false, true, /*wideResult=*/true);
  if (bias)
    y = d.add(y, bias);
  return d.reshape(y, {steps, batch, getStaticShape(y)[1]});
}

Value RecurrentLayer::projectState(Value state, Value weights) {
  Value narrow = d.cast(state, getElementType(weights));
  return d.product(narrow, weights, false, true, /*wideResult=*/true);
}

Value RecurrentLayer::gate(Value gates, unsigned index) {
  return d.slice(gates, {index * hidden}, {(index + 1) * hidden}, {1});
}

Value RecurrentLayer::part(Value vector, unsigned index, unsigned count) {
  return d.slice(vector, {index * hidden}, {(index + count) * hidden}, {0});
}

Value RecurrentLayer::activate(unsigned index, Value x) {
  if (clip > 0)
    x = d.clamp(x, -clip, clip);
  return applyActivation(
      d, activations[direction * activationsPerDirection + index], x);
}

Value RecurrentLayer::keepPast(int64_t step, Value next, Value last) {
  if (!lengths)
    return next;
  Value isGiven = d.create("Greater", {lengths, d.scalarLike(step, lengths)});
  return d.where(isGiven, next, last);
}

/// Whether every sequence has all steps, so that the lengths say nothing.
static bool isFullLength(Value lengths, int64_t steps) {
  std::optional<SmallVector<int64_t>> ints = getConstantInts(lengths);
  return ints &&
         llvm::all_of(*ints, [&](int64_t length) { return length == steps; });
}

LogicalResult RecurrentLayer::run(RecurrentCell &cell) {
  ArrayRef<int64_t> shape = getStaticShape(d.input(0));
  steps = shape[isBatchFirst ? 1 : 0];
  batch = shape[isBatchFirst ? 0 : 1];
  hidden = getStaticShape(d.input(2))[2];
  if (Value given = d.input(4); given && !isFullLength(given, steps))
    lengths = d.reshape(given, {batch, 1});
  SmallVector<Value> outputs, last[2];
  for (direction = 0; direction < int64_t(numDirections); ++direction) {
    bool isReverse = startsReverse || direction == 1;
    SmallVector<Value> states = cell.begin(*this);
    SmallVector<Value> ofSteps(steps);
    for (int64_t i = 0; i < steps; ++i) {
      int64_t step = isReverse ? steps - 1 - i : i;
      SmallVector<Value> next = cell.advance(*this, step, states);
      Value zero = d.scalarLike(0, next[0]);
      ofSteps[step] = keepPast(step, next[0], zero);
      for (auto [state, value] : llvm::zip(states, next))
        state = keepPast(step, value, state);
    }
    outputs.push_back(stack(ofSteps));
    for (auto [list, state] : llvm::zip(last, states))
      list.push_back(state);
  }
  setResults(outputs, last);
  return success();
}

/// The steps of one direction as (steps, 1, batch, hidden).
Value RecurrentLayer::stack(ArrayRef<Value> ofSteps) {
  SmallVector<Value> rows;
  for (Value value : ofSteps)
    rows.push_back(d.reshape(d.cast(value, resultType), {1, 1, batch, hidden}));
  return rows.size() == 1
             ? rows.front()
             : d.create("Concat", rows, d.attr("axis", int64_t(0)));
}

void RecurrentLayer::setResults(ArrayRef<Value> outputs,
                                ArrayRef<SmallVector<Value>> last) {
  auto join = [&](ArrayRef<Value> values, int64_t axis) {
    return values.size() == 1
               ? values.front()
               : d.create("Concat", values, d.attr("axis", axis));
  };
  if (d.wants(0)) {
    Value y = join(outputs, 1);
    d.set(0, isBatchFirst ? d.transpose(y, {2, 0, 1, 3}) : y);
  }
  for (unsigned i = 0; i < 2; ++i) {
    if (last[i].empty() || !d.wants(i + 1))
      continue;
    SmallVector<Value> rows;
    for (Value state : last[i])
      rows.push_back(d.reshape(state, {1, batch, hidden}));
    Value y = join(rows, 0);
    d.set(i + 1, isBatchFirst ? d.transpose(y, {1, 0, 2}) : y);
  }
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

namespace {

/// The inputs' part of the gates at `step`.
Value getStep(Decomposition &d, Value projected, int64_t step) {
  SmallVector<int64_t> shape(getStaticShape(projected).drop_front());
  return d.reshape(d.slice(projected, {step}, {step + 1}, {0}), shape);
}

/// i, o, f = f(x Wᵀ + h Rᵀ + b [+ p c]); c = f c + i g(...); h = o h(c)
class LSTMCell final : public RecurrentCell {
public:
  explicit LSTMCell(LSTMOp op) : couplesGates(op.getInputForget() != 0) {}

  SmallVector<Value> begin(RecurrentLayer &layer) override {
    layer.projected = layer.projectInputs(layer.sumBiases(4));
    layer.recurrence = layer.operand(2);
    peephole = layer.operand(7);
    if (peephole)
      peephole = layer.d.widen(peephole);
    return {layer.initialState(5), layer.initialState(6)};
  }

  SmallVector<Value> advance(RecurrentLayer &layer, int64_t step,
                             ArrayRef<Value> states) override {
    Decomposition &d = layer.d;
    Value cell = states[1];
    Value gates = d.add(getStep(d, layer.projected, step),
                        layer.projectState(states[0], layer.recurrence));
    auto open = [&](unsigned gate, unsigned peep, Value c) {
      Value x = layer.gate(gates, gate);
      if (peephole)
        x = d.add(x, d.mul(layer.part(peephole, peep, 1), c));
      return layer.activate(0, x);
    };
    Value input = open(0, 0, cell);
    Value forget =
        couplesGates ? d.sub(d.scalarLike(1, input), input) : open(2, 2, cell);
    Value candidate = layer.activate(1, layer.gate(gates, 3));
    cell = d.add(d.mul(forget, cell), d.mul(input, candidate));
    Value output = open(1, 1, cell);
    return {d.mul(output, layer.activate(2, cell)), cell};
  }

private:
  bool couplesGates;
  Value peephole;
};

/// z, r = f(x Wᵀ + h Rᵀ + b); h = (1 - z) g(...) + z h
class GRUCell final : public RecurrentCell {
public:
  explicit GRUCell(GRUOp op) : isLinear(op.getLinearBeforeReset() != 0) {}

  SmallVector<Value> begin(RecurrentLayer &layer) override {
    Decomposition &d = layer.d;
    Value both = layer.operand(3), bias;
    if (both) {
      both = d.widen(both);
      bias = layer.part(both, 0, 3);
      stateBias = layer.part(both, 3, 3);
    } else {
      stateBias = {};
    }
    layer.projected = layer.projectInputs(bias);
    layer.recurrence = layer.operand(2);
    return {layer.initialState(5)};
  }

  SmallVector<Value> advance(RecurrentLayer &layer, int64_t step,
                             ArrayRef<Value> states) override {
    Decomposition &d = layer.d;
    Value h = states[0], x = getStep(d, layer.projected, step);
    // Without linear_before_reset the candidate has a product of its own.
    unsigned gates = isLinear ? 3 : 2;
    Value fromState =
        layer.projectState(h, layer.part(layer.recurrence, 0, gates));
    if (stateBias)
      fromState = d.add(fromState, layer.part(stateBias, 0, gates));
    auto open = [&](unsigned i) {
      return layer.activate(0,
                            d.add(layer.gate(x, i), layer.gate(fromState, i)));
    };
    Value update = open(0), reset = open(1), candidate;
    if (isLinear) {
      candidate = d.mul(reset, layer.gate(fromState, 2));
    } else {
      candidate = layer.projectState(d.mul(reset, h),
                                     layer.part(layer.recurrence, 2, 1));
      if (stateBias)
        candidate = d.add(candidate, layer.part(stateBias, 2, 1));
    }
    candidate = layer.activate(1, d.add(layer.gate(x, 2), candidate));
    Value rest = d.sub(d.scalarLike(1, update), update);
    return {d.add(d.mul(rest, candidate), d.mul(update, h))};
  }

private:
  bool isLinear;
  Value stateBias;
};

/// h = f(x Wᵀ + h Rᵀ + b)
class RNNCell final : public RecurrentCell {
public:
  SmallVector<Value> begin(RecurrentLayer &layer) override {
    layer.projected = layer.projectInputs(layer.sumBiases(1));
    layer.recurrence = layer.operand(2);
    return {layer.initialState(5)};
  }

  SmallVector<Value> advance(RecurrentLayer &layer, int64_t step,
                             ArrayRef<Value> states) override {
    Decomposition &d = layer.d;
    Value sum = d.add(getStep(d, layer.projected, step),
                      layer.projectState(states[0], layer.recurrence));
    return {layer.activate(0, sum)};
  }
};

/// Fills what the attributes say; `defaults` are one direction's activations.
template <typename OpTy>
LogicalResult configure(OpTy op, RecurrentLayer &layer,
                        ArrayRef<StringRef> defaults) {
  layer.isBatchFirst = op.getLayout() != 0;
  layer.startsReverse = op.getDirection() == "reverse";
  layer.numDirections = op.getDirection() == "bidirectional" ? 2 : 1;
  layer.clip = op.getClip() ? op.getClip()->convertToFloat() : 0;
  SmallVector<StringRef> names;
  if (ArrayAttr given = op.getActivationsAttr())
    for (auto name : given.getAsRange<StringAttr>())
      names.push_back(name.getValue());
  else
    for (unsigned i = 0; i < layer.numDirections; ++i)
      llvm::append_range(names, defaults);
  if (names.size() != defaults.size() * layer.numDirections)
    return layer.d.emitError()
           << "has " << names.size() << " activations; it takes "
           << defaults.size() * layer.numDirections;
  return layer.setActivations(names, op.getActivationAlpha(),
                              op.getActivationBeta(), defaults.size());
}

LogicalResult decomposeLSTM(LSTMOp op, Decomposition &d) {
  RecurrentLayer layer(d);
  if (failed(configure(op, layer, {"Sigmoid", "Tanh", "Tanh"})))
    return failure();
  LSTMCell cell(op);
  return layer.run(cell);
}

LogicalResult decomposeGRU(GRUOp op, Decomposition &d) {
  RecurrentLayer layer(d);
  if (failed(configure(op, layer, {"Sigmoid", "Tanh"})))
    return failure();
  GRUCell cell(op);
  return layer.run(cell);
}

LogicalResult decomposeRNN(RNNOp op, Decomposition &d) {
  RecurrentLayer layer(d);
  if (failed(configure(op, layer, {"Tanh"})))
    return failure();
  RNNCell cell;
  return layer.run(cell);
}

} // namespace

void amp::onnx::addRecurrentRules(RuleTable &table) {
  table.add(decomposeGRU);
  table.add(decomposeLSTM);
  table.add(decomposeRNN);
}
