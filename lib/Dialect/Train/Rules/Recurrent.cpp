//===- Recurrent.cpp - Gradient rules of recurrent layers -----------------===//
//
// One gradient operation for each direction; their results are joined.
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

namespace {

InFlightDiagnostic emitNoRule(Operation *op) {
  InFlightDiagnostic error = op->emitError() << onnx::getOpType(op) << ' ';
  if (StringRef name = onnx::getNodeName(op); !name.empty())
    error << '\'' << name << "' ";
  error << "has no gradient rule with ";
  return error;
}

/// Whether `given` repeats `expected` for each direction; absent means so.
bool areActivations(ArrayAttr given, ArrayRef<StringRef> expected) {
  if (!given)
    return true;
  for (auto [index, attribute] : llvm::enumerate(given))
    if (!mlir::cast<StringAttr>(attribute).getValue().equals_insensitive(
            expected[index % expected.size()]))
      return false;
  return true;
}

std::optional<RecurrentCell> parseCell(Operation *op) {
  auto given = op->getAttrOfType<ArrayAttr>("activations");
  if (auto gru = dyn_cast<onnx::GRUOp>(op)) {
    if (!areActivations(given, {"Sigmoid", "Tanh"}))
      return std::nullopt;
    return gru.getLinearBeforeReset() ? RecurrentCell::GruResetAfter
                                      : RecurrentCell::Gru;
  }
  if (isa<onnx::LSTMOp>(op)) {
    if (!areActivations(given, {"Sigmoid", "Tanh", "Tanh"}))
      return std::nullopt;
    return RecurrentCell::Lstm;
  }
  if (areActivations(given, {"Tanh"}))
    return RecurrentCell::RnnTanh;
  if (areActivations(given, {"Relu"}))
    return RecurrentCell::RnnRelu;
  return std::nullopt;
}

/// The cell of an LSTM, GRU or RNN; an error for those without a rule.
FailureOr<RecurrentCell> getCell(Operation *op) {
  if (op->hasAttr("clip"))
    return emitNoRule(op) << "the attribute clip";
  if (auto lstm = dyn_cast<onnx::LSTMOp>(op); lstm && lstm.getInputForget())
    return emitNoRule(op) << "coupled input and forget gates (input_forget)";
  std::optional<RecurrentCell> cell = parseCell(op);
  if (!cell)
    return emitNoRule(op)
           << "the activations " << op->getAttr("activations")
           << ": there is one for the default ones, and for Relu in all "
              "directions of an RNN";
  return *cell;
}

/// One direction's operands without the dimension of directions, time first.
struct Direction {
  Value x, weight, recurrence, bias, sequenceLens, initialH, initialC,
      peepholes;
};

class LayerGradient {
public:
  LayerGradient(Vjp &vjp, RecurrentCell cell)
      : vjp(vjp), cell(cell), inputs(onnx::getPositionalInputs(vjp.getOp())) {
    Operation *op = vjp.getOp();
    if (auto layout = op->getAttrOfType<IntegerAttr>("layout"))
      isBatchFirst = layout.getInt() != 0;
    if (auto name = op->getAttrOfType<StringAttr>("direction")) {
      numDirections = name.getValue() == "bidirectional" ? 2 : 1;
      startsReverse = name.getValue() == "reverse";
    }
    inputs.resize(8);
    for (Value output : onnx::getPositionalOutputs(op))
      given.push_back(toTimeFirst(vjp.cotangentOf(output)));
    given.resize(3);
  }

  void build();

private:
  Value pick(Value value, int64_t direction, int64_t axis = 0);
  Value toTimeFirst(Value value);
  Value fromTimeFirst(Value value);
  Direction getDirection(int64_t index);
  void buildDirection(int64_t index);
  void setJoined(unsigned position, ArrayRef<Value> parts);

  Vjp &vjp;
  RecurrentCell cell;
  bool isBatchFirst = false, startsReverse = false;
  int64_t numDirections = 1;
  /// Formal inputs; cotangents of Y, Y_h and Y_c, time first. Null if absent.
  SmallVector<Value> inputs, given;
  /// By formal input: one value a direction.
  SmallVector<Value> gradients[8];
};

template <typename OpTy>
struct RecurrentRule : Rule<RecurrentRule<OpTy>, OpTy> {
  LogicalResult build(OpTy op, Vjp &vjp) const {
    FailureOr<RecurrentCell> cell = getCell(op);
    if (failed(cell))
      return failure();
    LayerGradient(vjp, *cell).build();
    return success();
  }
};

} // namespace

/// Element `direction` of dimension `axis`, which is dropped.
Value LayerGradient::pick(Value value, int64_t direction, int64_t axis) {
  if (!value)
    return value;
  SmallVector<int64_t> shape(onnx::getStaticShape(value));
  shape.erase(shape.begin() + axis);
  // Also of one direction: decompose-onnx writes it so.
  return vjp.reshape(vjp.slice(value, {direction}, {direction + 1}, {axis}),
                     shape);
}

/// A value of layout 1 in layout 0: (batch, ...) as (time or direction, batch,
/// ...), and Y.
Value LayerGradient::toTimeFirst(Value value) {
  if (!value || !isBatchFirst)
    return value;
  if (onnx::getStaticShape(value).size() == 3)
    return vjp.transpose(value, {1, 0, 2});
  return vjp.transpose(value, {1, 2, 0, 3});
}

/// The inverse for x and states.
Value LayerGradient::fromTimeFirst(Value value) {
  return isBatchFirst ? vjp.transpose(value, {1, 0, 2}) : value;
}

Direction LayerGradient::getDirection(int64_t index) {
  Direction of;
  of.x = toTimeFirst(inputs[0]);
  of.weight = pick(inputs[1], index);
  of.recurrence = pick(inputs[2], index);
  of.bias = pick(inputs[3], index);
  of.sequenceLens = inputs[4];
  of.initialH = pick(toTimeFirst(inputs[5]), index);
  of.initialC = pick(toTimeFirst(inputs[6]), index);
  of.peepholes = pick(inputs[7], index);
  return of;
}

void LayerGradient::buildDirection(int64_t index) {
  OpBuilder &builder = vjp.getBuilder();
  Direction of = getDirection(index);
  Type narrow = onnx::getElementType(of.x);
  Type wide = narrow.isF64() ? narrow : Type(builder.getF32Type());
  ArrayRef<int64_t> weight = onnx::getStaticShape(of.weight),
                    recurrence = onnx::getStaticShape(of.recurrence);
  auto state = RankedTensorType::get(
      {onnx::getStaticShape(of.x)[1], recurrence[1]}, narrow);
  SmallVector<Type> types{of.x.getType(), RankedTensorType::get(weight, wide),
                          RankedTensorType::get(recurrence, wide),
                          RankedTensorType::get({2 * weight[0]}, wide), state};
  if (cell == RecurrentCell::Lstm)
    types.push_back(state);
  if (of.peepholes)
    types.push_back(RankedTensorType::get({3 * recurrence[1]}, wide));
  auto op = RecurrentGradientOp::create(
      builder, vjp.getLoc(), types, cell, of.x, of.weight, of.recurrence,
      of.bias, of.sequenceLens, of.initialH, of.initialC, of.peepholes,
      pick(given[0], index, 1), pick(given[1], index), pick(given[2], index),
      startsReverse || index == 1);
  // Of X, W, R, B, initial_h, initial_c and P.
  static constexpr unsigned positions[] = {0, 1, 2, 3, 5, 6, 7};
  for (auto [position, result] : llvm::zip(positions, op.getResults()))
    gradients[position].push_back(result);
}

/// The gradient of an operand with a dimension of directions.
void LayerGradient::setJoined(unsigned position, ArrayRef<Value> parts) {
  if (parts.empty() || !inputs[position])
    return;
  SmallVector<Value> stacked;
  for (Value part : parts) {
    SmallVector<int64_t> shape(onnx::getStaticShape(part));
    shape.insert(shape.begin(), 1);
    stacked.push_back(vjp.reshape(part, shape));
  }
  Value joined = stacked.size() == 1 ? stacked.front()
                                     : vjp.create("Concat", stacked,
                                                  vjp.attr("axis", int64_t(0)));
  if (position >= 5 && position <= 6)
    joined = fromTimeFirst(joined);
  vjp.setFormal(position, joined);
}

void LayerGradient::build() {
  for (int64_t i = 0; i < numDirections; ++i)
    buildDirection(i);
  // x is shared: both directions add to it, in float32.
  Value dx = gradients[0].front();
  if (gradients[0].size() == 2)
    dx = vjp.cast(vjp.add(vjp.widen(dx), vjp.widen(gradients[0].back())),
                  onnx::getElementType(dx));
  vjp.setFormal(0, fromTimeFirst(dx));
  for (unsigned position = 1; position < 8; ++position)
    setJoined(position, gradients[position]);
}

void amp::train::attachRecurrentRules(MLIRContext *context) {
  onnx::GRUOp::attachInterface<RecurrentRule<onnx::GRUOp>>(*context);
  onnx::LSTMOp::attachInterface<RecurrentRule<onnx::LSTMOp>>(*context);
  onnx::RNNOp::attachInterface<RecurrentRule<onnx::RNNOp>>(*context);
}
