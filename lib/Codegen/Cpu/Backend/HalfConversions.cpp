//===- HalfConversions.cpp - Half conversions the target lacks ------------===//
// Integer code for bf16, and one rounding (not two) from f64 to half types:
// without it LLVM calls helpers of the C compiler's run-time library, and the
// bf16 instructions lose subnormals.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace amp::cpu;

namespace {

/// Builds integer code for values of one shape, scalar or vector.
class Expander {
public:
  Expander(Operation *op) : builder(op->getLoc(), op), op(op) {}

  Value widenBf16(Value value);
  Value narrowToBf16(Value value);
  Value narrowToF32RoundingToOdd(Value value);
  Value extend(Value value, Type element) {
    return arith::ExtFOp::create(builder, like(element), value);
  }
  Value truncate(Value value, Type element) {
    return arith::TruncFOp::create(builder, like(element), value);
  }
  ImplicitLocOpBuilder builder;

private:
  Type like(Type element) {
    if (auto vector = dyn_cast<VectorType>(op->getResult(0).getType()))
      return vector.clone(element);
    return element;
  }
  Type likeInt(unsigned width) { return like(builder.getIntegerType(width)); }
  Value constant(unsigned width, int64_t number) {
    TypedAttr value =
        builder.getIntegerAttr(builder.getIntegerType(width), number);
    if (auto vector = dyn_cast<VectorType>(likeInt(width)))
      value = DenseElementsAttr::get(vector, cast<IntegerAttr>(value));
    return arith::ConstantOp::create(builder, value);
  }
  Value bits(Value value, unsigned width) {
    return arith::BitcastOp::create(builder, likeInt(width), value);
  }

  Operation *op;
};

} // namespace

/// bf16 is the upper half of f32.
Value Expander::widenBf16(Value value) {
  Value wide = arith::ExtUIOp::create(builder, likeInt(32), bits(value, 16));
  wide = arith::ShLIOp::create(builder, wide, constant(32, 16));
  return arith::BitcastOp::create(builder, like(builder.getF32Type()), wide);
}

/// Adds just under half of the last kept place, plus one when the last kept bit
/// is odd. A NaN, which that could carry to infinity, keeps its upper half and
/// becomes quiet.
Value Expander::narrowToBf16(Value value) {
  Value wide = bits(value, 32);
  Value upper = arith::ShRUIOp::create(builder, wide, constant(32, 16));
  Value odd = arith::AndIOp::create(builder, upper, constant(32, 1));
  Value sum = arith::AddIOp::create(builder, wide, constant(32, 0x7fff));
  sum = arith::AddIOp::create(builder, sum, odd);
  Value rounded = arith::ShRUIOp::create(builder, sum, constant(32, 16));
  Value quiet = arith::OrIOp::create(builder, upper, constant(32, 0x40));
  Value isNan =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(builder, isNan, quiet, rounded);
  chosen = arith::TruncIOp::create(builder, likeInt(16), chosen);
  return arith::BitcastOp::create(builder, like(builder.getBF16Type()), chosen);
}

/// Rounding to odd keeps in the last bit that something was cut off, so a
/// second rounding to a type with at least two bits less gives what one
/// rounding would (Boldo and Melquiond, 2008).
Value Expander::narrowToF32RoundingToOdd(Value value) {
  Value nearest = truncate(value, builder.getF32Type());
  Value back = extend(nearest, builder.getF64Type());
  Value magnitudeMask = constant(64, INT64_MAX);
  Value backSize =
      arith::AndIOp::create(builder, bits(back, 64), magnitudeMask);
  Value size = arith::AndIOp::create(builder, bits(value, 64), magnitudeMask);
  Value away =
      arith::CmpIOp::create(builder, arith::CmpIPredicate::ugt, backSize, size);
  Value down =
      arith::SelectOp::create(builder, away, constant(32, 1), constant(32, 0));
  Value cut = arith::SubIOp::create(builder, bits(nearest, 32), down);
  cut = arith::OrIOp::create(builder, cut, constant(32, 1));
  // False for NaN, which stays what the first conversion made of it.
  Value inexact =
      arith::CmpFOp::create(builder, arith::CmpFPredicate::ONE, back, value);
  Value chosen =
      arith::SelectOp::create(builder, inexact, cut, bits(nearest, 32));
  return arith::BitcastOp::create(builder, like(builder.getF32Type()), chosen);
}

static Value expandExtension(arith::ExtFOp op, const CpuTarget &target) {
  Type from = getElementTypeOrSelf(op.getIn());
  Type to = getElementTypeOrSelf(op.getType());
  Expander expander(op);
  bool viaInteger = from.isBF16() && !target.hasAvx512Bf16();
  if (!viaInteger && !(to.isF64() && (from.isF16() || from.isBF16())))
    return {};
  Value wide = viaInteger
                   ? expander.widenBf16(op.getIn())
                   : expander.extend(op.getIn(), expander.builder.getF32Type());
  return to.isF64() ? expander.extend(wide, to) : wide;
}

static Value expandTruncation(arith::TruncFOp op) {
  Type from = getElementTypeOrSelf(op.getIn());
  Type to = getElementTypeOrSelf(op.getType());
  if (!to.isF16() && !to.isBF16())
    return {};
  // vcvtneps2bf16 would make subnormals zero, and targets differ.
  bool viaInteger = to.isBF16();
  if (!viaInteger && !from.isF64())
    return {};
  Expander expander(op);
  Value narrow =
      from.isF64() ? expander.narrowToF32RoundingToOdd(op.getIn()) : op.getIn();
  return viaInteger ? expander.narrowToBf16(narrow)
                    : expander.truncate(narrow, to);
}

void amp::cpu::expandHalfConversions(ModuleOp kernels,
                                     const CpuTarget &target) {
  kernels.walk([&](Operation *op) {
    Value result;
    if (auto extension = dyn_cast<arith::ExtFOp>(op))
      result = expandExtension(extension, target);
    else if (auto truncation = dyn_cast<arith::TruncFOp>(op))
      result = expandTruncation(truncation);
    if (!result)
      return;
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}
