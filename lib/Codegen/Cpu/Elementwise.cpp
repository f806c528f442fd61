//===- Elementwise.cpp - The arithmetic of elementwise operators ----------===//
//
// One table: operator, formula. Half types are computed in f32 and rounded
// once per operator.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

using FPred = arith::CmpFPredicate;
using IPred = arith::CmpIPredicate;

namespace {

/// One operator at one element.
struct Point {
  Emitter &e;
  Operation *op;
  ArrayRef<Value> in;

  Type elementOf(unsigned operand) const {
    return getElementTypeOrSelf(op->getOperand(operand).getType());
  }
  Type element() const { return elementOf(0); }
  Type compute() const { return getComputeType(element()); }
  bool isFloat() const { return isa<FloatType>(element()); }
  bool isUnsigned() const {
    return element().isUnsignedInteger() || element().isInteger(1);
  }
  Value number(double value) const { return e.number(compute(), value); }
  Value integer(int64_t value) const { return e.integer(compute(), value); }
  Value zero() const { return isFloat() ? number(0) : integer(0); }
  int64_t attribute(StringRef name, int64_t otherwise) const {
    auto attr = op->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : otherwise;
  }
};

using Formula = Value (*)(const Point &p);

struct OperatorRow {
  StringLiteral name;
  Formula formula;
  /// The result is one of the numbers that go in, or no float.
  bool isExact;
};

template <typename FloatOp, typename IntOp> Value arithmetic(const Point &p) {
  return p.isFloat() ? p.e.binary<FloatOp>(p.in[0], p.in[1])
                     : p.e.binary<IntOp>(p.in[0], p.in[1]);
}

template <typename IntOp> Value bitwise(const Point &p) {
  return p.e.binary<IntOp>(p.in[0], p.in[1]);
}

template <FPred floatPredicate, IPred signedPredicate, IPred unsignedPredicate>
Value compare(const Point &p) {
  if (p.isFloat())
    return p.e.cmpf(floatPredicate, p.in[0], p.in[1]);
  return p.e.cmpi(p.isUnsigned() ? unsignedPredicate : signedPredicate, p.in[0],
                  p.in[1]);
}

template <typename FloatOp> Value function(const Point &p) {
  return p.isFloat() ? p.e.unary<FloatOp>(p.in[0]) : p.in[0];
}

template <Value (*emit)(Emitter &, Value)> Value approximation(const Point &p) {
  return emit(p.e, p.in[0]);
}

/// Truncating division that never traps: by 0 it gives 0.
Value divideIntegers(const Point &p, Value x, Value y, bool remainder) {
  Emitter &e = p.e;
  Value isZero = e.cmpi(IPred::eq, y, p.integer(0));
  if (p.isUnsigned()) {
    Value divisor = e.select(isZero, p.integer(1), y);
    Value result = remainder ? e.binary<arith::RemUIOp>(x, divisor)
                             : e.binary<arith::DivUIOp>(x, divisor);
    return e.select(isZero, p.integer(0), result);
  }
  // The lowest integer by -1 traps too.
  Value isMinus = e.cmpi(IPred::eq, y, p.integer(-1));
  Value divisor = e.select(e.ori(isZero, isMinus), p.integer(1), y);
  if (remainder)
    return e.select(e.ori(isZero, isMinus), p.integer(0),
                    e.binary<arith::RemSIOp>(x, divisor));
  Value quotient = e.select(isMinus, e.subi(p.integer(0), x),
                            e.binary<arith::DivSIOp>(x, divisor));
  return e.select(isZero, p.integer(0), quotient);
}

Value divide(const Point &p) {
  return p.isFloat() ? p.e.divf(p.in[0], p.in[1])
                     : divideIntegers(p, p.in[0], p.in[1], false);
}

Value modulo(const Point &p) {
  Emitter &e = p.e;
  if (p.isFloat())
    return emitFmod(e, p.in[0], p.in[1]);
  Value rest = divideIntegers(p, p.in[0], p.in[1], true);
  if (p.attribute("fmod", 0) || p.isUnsigned())
    return rest;
  // Python's sign: that of the divisor.
  Value differ = e.cmpi(IPred::slt, e.xori(rest, p.in[1]), p.integer(0));
  Value fix = e.andi(differ, e.cmpi(IPred::ne, rest, p.integer(0)));
  return e.select(fix, e.addi(rest, p.in[1]), rest);
}

/// x^y for exponents that are worth a formula of their own.
Value powConstant(const Point &p, double exponent) {
  Emitter &e = p.e;
  Value x = p.in[0];
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return e.mulf(x, x);
  if (exponent == 3)
    return e.mulf(e.mulf(x, x), x);
  if (exponent == 0.5) // of -infinity: infinity; of -0: 0
    return e.select(e.cmpf(FPred::OEQ, x, p.number(-INFINITY)),
                    p.number(INFINITY),
                    e.unary<math::SqrtOp>(e.addf(x, p.number(0))));
  return Value();
}

std::optional<double> getSplatNumber(Value value) {
  auto splat =
      dyn_cast_or_null<SplatElementsAttr>(onnx::getConstantValue(value));
  if (!splat)
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  APInt integer = splat.getSplatValue<APInt>();
  return splat.getElementType().isUnsignedInteger()
             ? static_cast<double>(integer.getZExtValue())
             : static_cast<double>(integer.getSExtValue());
}

Value power(const Point &p) {
  Emitter &e = p.e;
  if (p.isFloat())
    if (std::optional<double> exponent = getSplatNumber(p.op->getOperand(1)))
      if (Value result = powConstant(p, *exponent))
        return result;
  Type type = p.isFloat() ? p.compute() : Type(e.b().getF64Type());
  Value x = p.isFloat() ? p.in[0] : emitCast(e, p.in[0], p.element(), type);
  Value y = emitCast(e, p.in[1], p.elementOf(1), type);
  Value result = emitPow(e, x, y);
  return p.isFloat() ? result : emitCast(e, result, type, p.element());
}

Value negate(const Point &p) {
  return p.isFloat() ? p.e.unary<arith::NegFOp>(p.in[0])
                     : p.e.subi(p.integer(0), p.in[0]);
}

Value absolute(const Point &p) {
  if (p.isFloat())
    return p.e.unary<math::AbsFOp>(p.in[0]);
  if (p.isUnsigned())
    return p.in[0];
  Value isNegative = p.e.cmpi(IPred::slt, p.in[0], p.integer(0));
  return p.e.select(isNegative, p.e.subi(p.integer(0), p.in[0]), p.in[0]);
}

/// 1, 0 or -1; NaN stays.
Value sign(const Point &p) {
  Emitter &e = p.e;
  Value x = p.in[0];
  if (!p.isFloat()) {
    Value positive =
        e.cmpi(p.isUnsigned() ? IPred::ugt : IPred::sgt, x, p.integer(0));
    Value result = e.select(positive, p.integer(1), p.integer(0));
    if (p.isUnsigned())
      return result;
    return e.select(e.cmpi(IPred::slt, x, p.integer(0)), p.integer(-1), result);
  }
  Value result = e.select(e.cmpf(FPred::OGT, x, p.number(0)), p.number(1), x);
  return e.select(e.cmpf(FPred::OLT, x, p.number(0)), p.number(-1), result);
}

/// NaN and -0 stay.
Value relu(const Point &p) {
  Value isNegative = p.isFloat() ? p.e.cmpf(FPred::OLT, p.in[0], p.number(0))
                                 : p.e.cmpi(IPred::slt, p.in[0], p.integer(0));
  return p.e.select(isNegative, p.zero(), p.in[0]);
}

template <Value (*combine)(Emitter &, Value, Value, bool)>
Value fold(const Point &p) {
  Value result = p.in[0];
  for (Value next : p.in.drop_front())
    result = combine(p.e, result, next, p.isUnsigned());
  return result;
}

/// One after the other, rounded each time.
Value addUp(const Point &p) {
  Value result = p.in[0];
  for (Value next : p.in.drop_front())
    result = p.e.roundTo(p.element(), p.e.addf(result, next));
  return result;
}

Value where(const Point &p) { return p.e.select(p.in[0], p.in[1], p.in[2]); }

Value logicalNot(const Point &p) {
  return p.e.xori(p.in[0], p.e.integer(p.e.b().getI1Type(), 1));
}

Value bitwiseNot(const Point &p) { return p.e.xori(p.in[0], p.integer(-1)); }

Value isNan(const Point &p) { return p.e.cmpf(FPred::UNO, p.in[0], p.in[0]); }

Value isInf(const Point &p) {
  Emitter &e = p.e;
  Value result = e.integer(e.b().getI1Type(), 0);
  if (p.attribute("detect_positive", 1))
    result = e.ori(result, e.cmpf(FPred::OEQ, p.in[0], p.number(INFINITY)));
  if (p.attribute("detect_negative", 1))
    result = e.ori(result, e.cmpf(FPred::OEQ, p.in[0], p.number(-INFINITY)));
  return result;
}

Value reciprocal(const Point &p) { return p.e.divf(p.number(1), p.in[0]); }

/// A shift by the width or more gives 0.
Value bitShift(const Point &p) {
  Emitter &e = p.e;
  int64_t width = p.compute().getIntOrFloatBitWidth();
  Value fits = e.cmpi(IPred::ult, p.in[1], p.integer(width));
  Value by = e.select(fits, p.in[1], p.integer(0));
  bool left = p.op->getAttrOfType<StringAttr>("direction").getValue() == "LEFT";
  return e.select(fits, left ? e.shl(p.in[0], by) : e.shru(p.in[0], by),
                  p.integer(0));
}

/// What `amp.cast clamp` does to a finite value that a half type loses.
Value clampCast(const Point &p, Value rounded, Type half) {
  Emitter &e = p.e;
  const llvm::fltSemantics &semantics =
      cast<FloatType>(half).getFloatSemantics();
  double largest = APFloat::getLargest(semantics).convertToDouble();
  double smallest = APFloat::getSmallest(semantics).convertToDouble();
  Value x = p.in[0];
  Value overflows = e.andi(
      e.cmpf(FPred::OEQ, e.unary<math::AbsFOp>(rounded), e.f32(INFINITY)),
      e.cmpf(FPred::OLT, e.unary<math::AbsFOp>(x), e.f32(INFINITY)));
  Value vanishes = e.andi(e.cmpf(FPred::OEQ, rounded, e.f32(0)),
                          e.cmpf(FPred::ONE, x, e.f32(0)));
  Value negative = e.cmpf(FPred::OLT, x, e.f32(0));
  rounded = e.select(
      overflows, e.select(negative, e.f32(-largest), e.f32(largest)), rounded);
  return e.select(
      vanishes, e.select(negative, e.f32(-smallest), e.f32(smallest)), rounded);
}

Value convert(const Point &p) {
  Type to = getElementTypeOrSelf(p.op->getResult(0).getType());
  Value result = emitCast(p.e, p.in[0], p.element(), to);
  auto ampCast = dyn_cast<amp::CastOp>(p.op);
  if (ampCast && ampCast.getClamp() && (to.isF16() || to.isBF16()))
    return clampCast(p, result, to);
  return result;
}

constexpr OperatorRow rows[] = {
    {"Abs", absolute, true},
    {"Add", arithmetic<arith::AddFOp, arith::AddIOp>, false},
    {"And", bitwise<arith::AndIOp>, true},
    {"BitShift", bitShift, true},
    {"BitwiseAnd", bitwise<arith::AndIOp>, true},
    {"BitwiseNot", bitwiseNot, true},
    {"BitwiseOr", bitwise<arith::OrIOp>, true},
    {"BitwiseXor", bitwise<arith::XOrIOp>, true},
    {"Cast", convert, true},
    {"Ceil", function<math::CeilOp>, false},
    {"Cos", approximation<emitCos>, false},
    {"Div", divide, false},
    {"Equal", compare<FPred::OEQ, IPred::eq, IPred::eq>, true},
    {"Erf", approximation<emitErf>, false},
    {"Exp", approximation<emitExp>, false},
    {"Floor", function<math::FloorOp>, false},
    {"Greater", compare<FPred::OGT, IPred::sgt, IPred::ugt>, true},
    {"GreaterOrEqual", compare<FPred::OGE, IPred::sge, IPred::uge>, true},
    {"IsInf", isInf, true},
    {"IsNaN", isNan, true},
    {"Less", compare<FPred::OLT, IPred::slt, IPred::ult>, true},
    {"LessOrEqual", compare<FPred::OLE, IPred::sle, IPred::ule>, true},
    {"Log", approximation<emitLog>, false},
    {"Max", fold<emitMax>, true},
    {"Min", fold<emitMin>, true},
    {"Mod", modulo, false},
    {"Mul", arithmetic<arith::MulFOp, arith::MulIOp>, false},
    {"Neg", negate, true},
    {"Not", logicalNot, true},
    {"Or", bitwise<arith::OrIOp>, true},
    {"Pow", power, false},
    {"Reciprocal", reciprocal, false},
    {"Relu", relu, true},
    {"Round", function<math::RoundEvenOp>, false},
    {"Sigmoid", approximation<emitSigmoid>, false},
    {"Sign", sign, true},
    {"Sin", approximation<emitSin>, false},
    {"Sqrt", function<math::SqrtOp>, false},
    {"Sub", arithmetic<arith::SubFOp, arith::SubIOp>, false},
    {"Sum", addUp, false},
    {"Tanh", approximation<emitTanh>, false},
    {"Where", where, true},
    {"Xor", bitwise<arith::XOrIOp>, true},
};

const OperatorRow *lookup(Operation *op) {
  // A cast of the tool's is one of the user's here.
  StringRef name = isa<amp::CastOp>(op) ? "Cast" : onnx::getOpType(op);
  if (isa<onnx::NodeOp>(op))
    return nullptr;
  for (const OperatorRow &row : rows)
    if (row.name == name)
      return &row;
  return nullptr;
}

} // namespace

bool amp::cpu::isElementwise(Operation *op) { return lookup(op); }

bool amp::cpu::isExact(Operation *op) {
  const OperatorRow *row = lookup(op);
  return row && row->isExact;
}

Value amp::cpu::emitElementwise(Emitter &e, Operation *op,
                                ArrayRef<Value> operands) {
  const OperatorRow *row = lookup(op);
  Value result = row->formula({e, op, operands});
  if (row->isExact)
    return result;
  return e.roundTo(getElementTypeOrSelf(op->getResult(0).getType()), result);
}

Value amp::cpu::emitMax(Emitter &e, Value x, Value y, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return e.binary<arith::MaximumFOp>(x, y);
  return isUnsigned ? e.binary<arith::MaxUIOp>(x, y)
                    : e.binary<arith::MaxSIOp>(x, y);
}

Value amp::cpu::emitMin(Emitter &e, Value x, Value y, bool isUnsigned) {
  if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
    return e.binary<arith::MinimumFOp>(x, y);
  return isUnsigned ? e.binary<arith::MinUIOp>(x, y)
                    : e.binary<arith::MinSIOp>(x, y);
}
