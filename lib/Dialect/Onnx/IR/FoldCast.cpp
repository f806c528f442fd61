//===- FoldCast.cpp - Folder of Cast --------------------------------------===//
//
// Small constants between integers, bools and f16, bf16, f32, f64, as the
// specification's table of casts says; what it leaves open stays.
//
//===----------------------------------------------------------------------===//

#include "SmallTensor.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

namespace {

/// Types whose values all engines convert alike (8-bit floats saturate or not,
/// as an attribute says).
bool isPlainFloat(Type type) {
  return isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type);
}

bool isUnsignedValue(IntegerType type) {
  return type.isUnsigned() || type.getWidth() == 1;
}

/// Integers keep their low bits when they are too wide.
std::optional<APInt> castInt(const APInt &bits, IntegerType from, Type to) {
  if (to.isInteger(1))
    return APInt(1, !bits.isZero());
  if (auto integer = dyn_cast<IntegerType>(to))
    return isUnsignedValue(from) ? bits.zextOrTrunc(integer.getWidth())
                                 : bits.sextOrTrunc(integer.getWidth());
  APFloat value(cast<FloatType>(to).getFloatSemantics());
  value.convertFromAPInt(bits, !isUnsignedValue(from),
                         APFloat::rmNearestTiesToEven);
  return value.bitcastToAPInt();
}

/// Floats lose their fraction on the way to integers; those out of range and
/// NaN have no defined result.
std::optional<APInt> castFloat(const APInt &bits, FloatType from, Type to) {
  APFloat value(from.getFloatSemantics(), bits);
  if (to.isInteger(1))
    return APInt(1, !value.isZero());
  if (value.isNaN())
    return std::nullopt;
  if (auto integer = dyn_cast<IntegerType>(to)) {
    APSInt result(integer.getWidth(), integer.isUnsigned());
    bool isExact;
    APFloat::opStatus status =
        value.convertToInteger(result, APFloat::rmTowardZero, &isExact);
    return status & APFloat::opInvalidOp ? std::nullopt
                                         : std::optional<APInt>(result);
  }
  bool losesInfo;
  value.convert(cast<FloatType>(to).getFloatSemantics(),
                APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt();
}

} // namespace

/// Cast(x) -> x, if the types are the same
/// Cast(constant) -> constant
OpFoldResult CastOp::fold(FoldAdaptor) {
  auto type = dyn_cast<TensorType>((*this)->getResult(0).getType());
  if (OpFoldResult operand = foldToOperand((*this)->getResult(0), getInput()))
    return operand;
  std::optional<SmallTensor> tensor = SmallTensor::get(getInput());
  if (!tensor || !type)
    return {};
  Type from = tensor->elementType, to = type.getElementType();
  if ((!isa<IntegerType>(from) && !isPlainFloat(from)) ||
      (!isa<IntegerType>(to) && !isPlainFloat(to)))
    return {};
  for (APInt &element : tensor->elements) {
    std::optional<APInt> converted =
        isa<IntegerType>(from) ? castInt(element, cast<IntegerType>(from), to)
                               : castFloat(element, cast<FloatType>(from), to);
    if (!converted)
      return {};
    element = *converted;
  }
  tensor->elementType = to;
  return tensor->getAs(type);
}
