//===- FoldMath.cpp - Folders of integer arithmetic -----------------------===//
//
// Add, Sub, Mul, Div, Mod, Neg, Min, Max, Equal, Less, Not on small constants.
// Floats are left alone: engines may differ in the last bit.
//
//===----------------------------------------------------------------------===//

#include "Broadcast.h"
#include "SmallTensor.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.AB.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/STLFunctionalExtras.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;

//===----------------------------------------------------------------------===//
// Broadcasting
//===----------------------------------------------------------------------===//

std::optional<Broadcast>
Broadcast::get(ArrayRef<const SmallTensor *> operands) {
  Broadcast result;
  size_t rank = 0;
  for (const SmallTensor *operand : operands)
    rank = std::max(rank, operand->shape.size());
  result.shape.assign(rank, 1);
  for (const SmallTensor *operand : operands) {
    SmallVector<int64_t> strides(rank, 0);
    int64_t stride = 1;
    size_t lead = rank - operand->shape.size();
    for (size_t i = operand->shape.size(); i-- > 0;) {
      int64_t size = operand->shape[i], &known = result.shape[lead + i];
      if (size != 1 && known != 1 && size != known)
        return std::nullopt;
      if (size != 1) {
        known = size;
        strides[lead + i] = stride;
      }
      stride *= size;
    }
    result.strides.push_back(std::move(strides));
  }
  std::optional<int64_t> count = countSmall(result.shape);
  if (!count)
    return std::nullopt;
  result.count = *count;
  return result;
}

SmallVector<size_t, 3> Broadcast::getSources(int64_t index) const {
  SmallVector<size_t, 3> sources(strides.size(), 0);
  for (size_t dim = shape.size(); dim-- > 0; index /= shape[dim])
    for (auto [source, stride] : llvm::zip_equal(sources, strides))
      source += index % shape[dim] * stride[dim];
  return sources;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

namespace {

/// One element from two; sets `overflow` where ONNX leaves the result open.
using BinaryFn = llvm::function_ref<APInt(const APInt &, const APInt &,
                                          bool isSigned, bool &overflow)>;

/// Applies `compute` element by element to integers; std::nullopt on overflow
/// and for other types.
std::optional<SmallTensor> computeInts(const SmallTensor &lhs,
                                       const SmallTensor &rhs,
                                       Type resultElement, BinaryFn compute) {
  auto type = dyn_cast<IntegerType>(lhs.elementType);
  std::optional<Broadcast> broadcast = Broadcast::get({&lhs, &rhs});
  if (!type || lhs.elementType != rhs.elementType || !broadcast)
    return std::nullopt;
  SmallTensor result{resultElement, broadcast->shape, {}};
  bool overflow = false;
  for (int64_t i = 0; i < broadcast->count && !overflow; ++i) {
    SmallVector<size_t, 3> from = broadcast->getSources(i);
    result.elements.push_back(compute(lhs.elements[from[0]],
                                      rhs.elements[from[1]], !type.isUnsigned(),
                                      overflow));
  }
  return overflow ? std::nullopt : std::optional(std::move(result));
}

/// Folds a chain of operands (two, or as many as Min and Max take).
OpFoldResult foldInts(OperandRange operands, Type type, BinaryFn compute) {
  if (operands.empty())
    return {};
  std::optional<SmallTensor> result = SmallTensor::get(operands.front());
  for (Value operand : operands.drop_front()) {
    std::optional<SmallTensor> next = SmallTensor::get(operand);
    if (!result || !next)
      return {};
    result = computeInts(*result, *next, result->elementType, compute);
  }
  bool isInt = result && isa<IntegerType>(result->elementType);
  return isInt ? result->getAs(type) : OpFoldResult();
}

APInt divide(const APInt &lhs, const APInt &rhs, bool isSigned,
             bool &overflow) {
  if (rhs.isZero()) {
    overflow = true;
    return lhs;
  }
  return isSigned ? lhs.sdiv_ov(rhs, overflow) : lhs.udiv(rhs);
}

/// The rest has the divisor's sign, as Python's; with `fmod` the dividend's.
APInt takeRest(const APInt &lhs, const APInt &rhs, bool isSigned, bool fmod,
               bool &overflow) {
  overflow |= rhs.isZero();
  if (overflow)
    return lhs;
  if (!isSigned)
    return lhs.urem(rhs);
  APInt rest = lhs.srem(rhs);
  bool otherSign = !rest.isZero() && rest.isNegative() != rhs.isNegative();
  return otherSign && !fmod ? rest + rhs : rest;
}

/// Folds a comparison of two operands to bools.
OpFoldResult foldComparison(Operation *op, BinaryFn compute) {
  std::optional<SmallTensor> lhs = SmallTensor::get(op->getOperand(0));
  std::optional<SmallTensor> rhs = SmallTensor::get(op->getOperand(1));
  if (!lhs || !rhs)
    return {};
  std::optional<SmallTensor> result =
      computeInts(*lhs, *rhs, IntegerType::get(op->getContext(), 1), compute);
  return result ? result->getAs(op->getResult(0).getType()) : OpFoldResult();
}

} // namespace

/// Add(constants) -> constant
OpFoldResult AddOp::fold(FoldAdaptor) {
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &overflow) {
        return isSigned ? lhs.sadd_ov(rhs, overflow)
                        : lhs.uadd_ov(rhs, overflow);
      });
}

/// Sub(constants) -> constant
OpFoldResult SubOp::fold(FoldAdaptor) {
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &overflow) {
        return isSigned ? lhs.ssub_ov(rhs, overflow)
                        : lhs.usub_ov(rhs, overflow);
      });
}

/// Mul(constants) -> constant
OpFoldResult MulOp::fold(FoldAdaptor) {
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &overflow) {
        return isSigned ? lhs.smul_ov(rhs, overflow)
                        : lhs.umul_ov(rhs, overflow);
      });
}

/// Div(constants) -> constant, toward zero; by zero stays
OpFoldResult DivOp::fold(FoldAdaptor) {
  return foldInts((*this)->getOperands(), (*this)->getResult(0).getType(),
                  divide);
}

/// Min(constants) -> constant
OpFoldResult MinOp::fold(FoldAdaptor) {
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &) {
        bool less = isSigned ? lhs.slt(rhs) : lhs.ult(rhs);
        return less ? lhs : rhs;
      });
}

/// Max(constants) -> constant
OpFoldResult MaxOp::fold(FoldAdaptor) {
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &) {
        bool less = isSigned ? lhs.slt(rhs) : lhs.ult(rhs);
        return less ? rhs : lhs;
      });
}

/// Mod(constants) -> constant; by zero stays
OpFoldResult ModOp::fold(FoldAdaptor) {
  bool fmod = getFmod() != 0;
  return foldInts(
      (*this)->getOperands(), (*this)->getResult(0).getType(),
      [&](const APInt &lhs, const APInt &rhs, bool isSigned, bool &overflow) {
        return takeRest(lhs, rhs, isSigned, fmod, overflow);
      });
}

/// Neg(constant) -> constant
OpFoldResult NegOp::fold(FoldAdaptor) {
  std::optional<SmallTensor> tensor = SmallTensor::get(getX());
  if (!tensor || !isa<IntegerType>(tensor->elementType))
    return {};
  for (APInt &element : tensor->elements) {
    if (element.isMinSignedValue())
      return {};
    element.negate();
  }
  return tensor->getAs((*this)->getResult(0).getType());
}

/// Equal(constants) -> constant
OpFoldResult EqualOp::fold(FoldAdaptor) {
  return foldComparison(*this, [](const APInt &lhs, const APInt &rhs, bool,
                                  bool &) { return APInt(1, lhs == rhs); });
}

/// Less(constants) -> constant
OpFoldResult LessOp::fold(FoldAdaptor) {
  return foldComparison(
      *this, [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &) {
        return APInt(1, isSigned ? lhs.slt(rhs) : lhs.ult(rhs));
      });
}

/// LessOrEqual(constants) -> constant
OpFoldResult LessOrEqualOp::fold(FoldAdaptor) {
  return foldComparison(
      *this, [](const APInt &lhs, const APInt &rhs, bool isSigned, bool &) {
        return APInt(1, isSigned ? lhs.sle(rhs) : lhs.ule(rhs));
      });
}

/// Not(constant) -> constant
OpFoldResult NotOp::fold(FoldAdaptor) {
  std::optional<SmallTensor> tensor = SmallTensor::get(getX());
  if (!tensor)
    return {};
  for (APInt &element : tensor->elements)
    element.flipAllBits();
  return tensor->getAs((*this)->getResult(0).getType());
}
