//===- Decomposition.cpp - What a decomposition rule works with -----------===//
//
// Operands by position, replacement of results, and formulas that families
// share.
//
//===----------------------------------------------------------------------===//

#include "Decomposition.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx;

Decomposition::Decomposition(OpBuilder &builder, Operation *op)
    : OnnxBuilder(builder, op->getLoc()), op(op),
      inputs(getPositionalInputs(op)), outputs(getPositionalOutputs(op)),
      values(outputs.size()), isSetFlags(outputs.size(), false) {}

Value Decomposition::widen(Value value) {
  return isHalf(getElementType(value)) ? cast(value, getBuilder().getF32Type())
                                       : value;
}

InFlightDiagnostic Decomposition::emitError() {
  InFlightDiagnostic diagnostic = op->emitError();
  diagnostic << getOpType(op) << ' ';
  if (StringRef name = getNodeName(op); !name.empty())
    diagnostic << '\'' << name << "' ";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool Decomposition::wants(unsigned position) const {
  return position < outputs.size() && outputs[position] &&
         !outputs[position].use_empty();
}

ArrayRef<int64_t> Decomposition::resultShape(unsigned position) const {
  return getStaticShape(outputs[position]);
}

void Decomposition::set(unsigned position, Value value) {
  if (!wants(position))
    return;
  values[position] = cast(value, getElementType(outputs[position]));
  isSetFlags[position] = true;
}

LogicalResult Decomposition::replace() {
  for (auto [position, output] : llvm::enumerate(outputs)) {
    if (!wants(position))
      continue;
    if (!values[position])
      return emitError() << "has no decomposition that gives its output "
                         << lookupSpec(getOpType(op))->outputs[position].name;
    if (getStaticShape(values[position]) != getStaticShape(output))
      return emitError() << "is declared to give " << output.getType()
                         << ", but computes " << values[position].getType();
  }
  for (auto [position, output] : llvm::enumerate(outputs)) {
    if (!wants(position))
      continue;
    Value value = values[position];
    StringRef name = getValueName(output);
    // A value that has a name of its own keeps it.
    if (!name.empty() &&
        (isa<BlockArgument>(value) || llvm::is_contained(inputs, value) ||
         !getValueName(value).empty()))
      value = create("Identity", {value});
    if (!name.empty())
      setValueName(mlir::cast<OpResult>(value), name);
    output.replaceAllUsesWith(value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<int64_t>> Decomposition::constantInts(unsigned position) {
  if (std::optional<SmallVector<int64_t>> ints =
          getConstantInts(input(position)))
    return *ints;
  const OpSpec &spec = *lookupSpec(getOpType(op));
  emitError() << "needs a constant for its input '"
              << spec.inputs[getFormalOfPosition(spec.inputs, position)].name
              << "'";
  return failure();
}

std::optional<double> Decomposition::constantScalar(unsigned position) {
  if (!input(position))
    return std::nullopt;
  auto elements =
      dyn_cast_or_null<DenseElementsAttr>(getConstantValue(input(position)));
  if (!elements || elements.getNumElements() != 1)
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType())) {
    APFloat value = *elements.value_begin<APFloat>();
    bool loses;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (auto integer = dyn_cast<IntegerType>(elements.getElementType())) {
    APInt value = *elements.value_begin<APInt>();
    return integer.getWidth() == 1 || integer.isUnsigned()
               ? double(value.getZExtValue())
               : double(value.getSExtValue());
  }
  return std::nullopt;
}

FailureOr<int64_t> Decomposition::axisOf(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank)
    return axis < 0 ? axis + rank : axis;
  emitError() << "has the axis " << axis << " of an operand with " << rank
              << " dimensions";
  return failure();
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

Value Decomposition::clamp(Value value, double low, double high) {
  Value bounded = create("Max", {value, scalarLike(low, value)});
  return create("Min", {bounded, scalarLike(high, value)});
}

Value Decomposition::expMinusOne(Value x) {
  return mul(unary("Tanh", scale(x, 0.5)), addScalar(unary("Exp", x), 1));
}

Value Decomposition::logOnePlus(Value u) {
  // With w = 1 + u rounded, u / (w - 1) repairs what rounding took.
  Value w = addScalar(u, 1), one = scalarLike(1, u);
  Value isTiny = create("Equal", {w, one});
  Value rest = where(isTiny, one, sub(w, one));
  return where(isTiny, u, mul(unary("Log", w), div(u, rest)));
}

Value Decomposition::softplus(Value x) {
  Value tail = logOnePlus(unary("Exp", neg(unary("Abs", x))));
  return add(unary("Relu", x), tail);
}

Value Decomposition::inverseRoot(Value value, double epsilon) {
  return unary("Reciprocal", unary("Sqrt", addScalar(value, epsilon)));
}

Value Decomposition::softmax(Value value, int64_t axis) {
  Value shifted = sub(value, reduce("ReduceMax", value, {axis}));
  Value exponential = unary("Exp", shifted);
  return div(exponential, reduceSum(exponential, {axis}));
}

Value Decomposition::alongAxis(Value value, int64_t axis, int64_t rank) {
  SmallVector<int64_t> shape(rank, 1);
  shape[axis] = mlir::cast<ShapedType>(value.getType()).getNumElements();
  return reshape(value, shape);
}

Value Decomposition::product(Value a, Value b, bool transA, bool transB,
                             bool wideResult) {
  ArrayRef<int64_t> as = getStaticShape(a), bs = getStaticShape(b);
  Type element = getElementType(a);
  if (wideResult && isHalf(element))
    element = getBuilder().getF32Type();
  SmallVector<int64_t> shape;
  OpTrait::util::getBroadcastedShape(as.drop_back(2), bs.drop_back(2), shape);
  shape.push_back(as[as.size() - (transA ? 1 : 2)]);
  shape.push_back(bs[bs.size() - (transB ? 2 : 1)]);
  return train::MatMulOp::create(getBuilder(), getLoc(),
                                 RankedTensorType::get(shape, element), a, b,
                                 transA, transB);
}
