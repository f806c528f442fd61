//===- Cast.cpp - Conversions between element types -----------------------===//
//
// Values are in compute type: half types come and go as the f32 they equal.
//
//===----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace amp::cpu;

using FPred = arith::CmpFPredicate;

/// f64 to f32 so that one more rounding to a half type gives what rounding the
/// f64 at once gives: an inexact result has its last bit set.
static Value narrowToOdd(Emitter &e, Value x) {
  Type i32 = e.b().getI32Type(), f32 = e.b().getF32Type(),
       f64 = e.b().getF64Type();
  Value narrow = e.convert<arith::TruncFOp>(f32, x);
  Value back = e.convert<arith::ExtFOp>(f64, narrow);
  Value bits = e.bitcast(i32, narrow);
  Value isEven =
      e.cmpi(arith::CmpIPredicate::eq, e.andi(bits, e.i32(1)), e.i32(0));
  Value grew =
      e.cmpf(FPred::OGT, e.unary<math::AbsFOp>(back), e.unary<math::AbsFOp>(x));
  Value neighbour = e.addi(bits, e.select(grew, e.i32(-1), e.i32(1)));
  Value adjust = e.andi(isEven, e.cmpf(FPred::ONE, back, x));
  return e.bitcast(f32, e.select(adjust, neighbour, bits));
}

static Value castToFloat(Emitter &e, Value x, Type from, Type to) {
  Type target = getComputeType(to);
  bool toHalf = to.isF16() || to.isBF16();
  if (isa<IntegerType>(from)) {
    bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
    // Exact on the way, or at least beyond every half type.
    Type via = toHalf ? Type(e.b().getF64Type()) : target;
    Value wide = isUnsigned ? e.convert<arith::UIToFPOp>(via, x)
                            : e.convert<arith::SIToFPOp>(via, x);
    return toHalf ? e.roundTo(to, narrowToOdd(e, wide)) : wide;
  }
  if (from.isF64())
    return toHalf           ? e.roundTo(to, narrowToOdd(e, x))
           : target.isF64() ? x
                            : e.convert<arith::TruncFOp>(target, x);
  if (target.isF64())
    return e.convert<arith::ExtFOp>(target, x);
  return from == to ? x : e.roundTo(to, x);
}

static Value castToInteger(Emitter &e, Value x, Type from, Type to) {
  Type target = getComputeType(to);
  unsigned width = target.getIntOrFloatBitWidth();
  if (isa<FloatType>(from)) {
    StringRef name =
        to.isUnsignedInteger() ? "llvm.fptoui.sat" : "llvm.fptosi.sat";
    Type result = isa<VectorType>(x.getType()) ? e.like(target) : target;
    return LLVM::CallIntrinsicOp::create(
               e.b(), result, e.b().getStringAttr(name), ValueRange{x})
        .getResult(0);
  }
  unsigned fromWidth = getComputeType(from).getIntOrFloatBitWidth();
  if (width == fromWidth)
    return x;
  if (width < fromWidth)
    return e.convert<arith::TruncIOp>(target, x);
  if (from.isUnsignedInteger() || from.isInteger(1))
    return e.convert<arith::ExtUIOp>(target, x);
  return e.convert<arith::ExtSIOp>(target, x);
}

Value amp::cpu::emitCast(Emitter &e, Value x, Type from, Type to) {
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Type type = getComputeType(from);
    if (isa<FloatType>(type))
      return e.cmpf(FPred::UNE, x, e.number(type, 0));
    return e.cmpi(arith::CmpIPredicate::ne, x, e.integer(type, 0));
  }
  return isa<FloatType>(to) ? castToFloat(e, x, from, to)
                            : castToInteger(e, x, from, to);
}
