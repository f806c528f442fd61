//===- Emitter.h - Arithmetic on scalars and on vectors of lanes ----------===//
//
// One body of code serves single elements, vectors, masked tails: what prints
// arithmetic does not know which of them it prints.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_EMITTER_H
#define AMP_CODEGEN_CPU_EMITTER_H

#include "amp/Codegen/Cpu/KernelModule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace amp::cpu {

/// How elements of a tensor are held in registers: half types widened to f32,
/// integers without sign, everything else as it is.
mlir::Type getComputeType(mlir::Type elementType);
/// How elements lie in memory: i1 as a byte, the rest as they are.
mlir::Type getStorageType(mlir::Type elementType);
int64_t getStorageBytes(mlir::Type elementType);

/// What code for another machine than a CPU asks of an emitter.
struct EmitterStyle {
  /// Elements of a vector.
  int64_t width = lanes;
  /// Bytes that buffers are aligned to; vectors begin at multiples of the width
  /// in them. 0: vectors are aligned like an element.
  int64_t bufferAlignment = 0;
  /// The machine rounds to bf16; a NaN may become another one.
  bool convertsBF16 = false;
};

/// Prints operations on single values or on vectors of `lanes` values. Where
/// one operand is a vector, single values among the others are broadcast.
class Emitter {
public:
  Emitter(mlir::ImplicitLocOpBuilder &builder, bool isVector,
          const EmitterStyle &style = {})
      : builder(builder), isVector(isVector), style(style) {}

  mlir::ImplicitLocOpBuilder &b() { return builder; }
  bool vector() const { return isVector; }
  /// Elements of a vector.
  int64_t getWidth() const { return style.width; }
  /// Bytes that a vector of elements is aligned to, `elements` being a number
  /// that its address is a multiple of; 0: no more than an element.
  int64_t getVectorAlignment(mlir::Type elementType, int64_t elements) const;
  /// `element`, or the vector of it.
  mlir::Type like(mlir::Type element) const;
  mlir::Value broadcast(mlir::Value value);

  // Constants, as single values.
  mlir::Value index(int64_t value);
  mlir::Value number(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value f32(double value) { return number(builder.getF32Type(), value); }
  mlir::Value f64(double value) { return number(builder.getF64Type(), value); }
  mlir::Value i32(int64_t value) {
    return integer(builder.getI32Type(), value);
  }
  mlir::Value i64(int64_t value) {
    return integer(builder.getI64Type(), value);
  }

  // Arithmetic of float (f) and integer (i) values.
  template <typename Op> mlir::Value binary(mlir::Value x, mlir::Value y) {
    unify(x, y);
    return Op::create(builder, x, y);
  }
  template <typename Op> mlir::Value unary(mlir::Value x) {
    return Op::create(builder, x);
  }
  template <typename Op>
  mlir::Value convert(mlir::Type element, mlir::Value x) {
    return Op::create(builder, typeLike(element, x), x);
  }
  mlir::Value addf(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::AddFOp>(x, y);
  }
  mlir::Value subf(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::SubFOp>(x, y);
  }
  mlir::Value mulf(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::MulFOp>(x, y);
  }
  mlir::Value divf(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::DivFOp>(x, y);
  }
  mlir::Value addi(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::AddIOp>(x, y);
  }
  mlir::Value subi(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::SubIOp>(x, y);
  }
  mlir::Value muli(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::MulIOp>(x, y);
  }
  mlir::Value andi(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::AndIOp>(x, y);
  }
  mlir::Value ori(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::OrIOp>(x, y);
  }
  mlir::Value xori(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::XOrIOp>(x, y);
  }
  mlir::Value shl(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::ShLIOp>(x, y);
  }
  mlir::Value shru(mlir::Value x, mlir::Value y) {
    return binary<mlir::arith::ShRUIOp>(x, y);
  }
  /// x * y + z in one rounding.
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value cmpf(mlir::arith::CmpFPredicate predicate, mlir::Value x,
                   mlir::Value y);
  mlir::Value cmpi(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                   mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value bitcast(mlir::Type element, mlir::Value x) {
    return convert<mlir::arith::BitcastOp>(element, x);
  }
  /// Coefficients from the highest power down, by Horner's rule with fma.
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<double> coefficients);

  // Half types: values are f32 that the half type can hold.
  /// `x` (f32) rounded to nearest even to `half` and widened again; any other
  /// type than a half type leaves it alone.
  mlir::Value roundTo(mlir::Type elementType, mlir::Value x);

  // Memory. `address` counts elements.
  /// Elements of `elementType` at `address`, in compute type: consecutive lanes
  /// for a vector, except those that the mask leaves out. A vector without mask
  /// is aligned to `alignment` bytes, or like an element if that is 0.
  mlir::Value load(mlir::Value pointer, mlir::Value address,
                   mlir::Type elementType, int64_t alignment = 0);
  /// The single element at `address`, whatever the width.
  mlir::Value loadScalar(mlir::Value pointer, mlir::Value address,
                         mlir::Type elementType);
  /// The elements at `addresses`, one for each lane or a single one.
  mlir::Value gatherAt(mlir::Value pointer, mlir::Value addresses,
                       mlir::Type elementType);
  /// Lanes `stride` elements apart (vector only).
  mlir::Value gather(mlir::Value pointer, mlir::Value address, int64_t stride,
                     mlir::Type elementType);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value address,
             mlir::Type elementType, int64_t alignment = 0);
  /// `x`, single, for the first lane, the next numbers for those after it.
  mlir::Value countUp(mlir::Value x) { return isVector ? addi(x, iota(1)) : x; }
  /// 0, stride, 2 * stride, ... as i64 lanes (vector only).
  mlir::Value iota(int64_t stride);

  /// Lanes that count; null: all. Constant, as tails are known.
  mlir::Value mask;
  /// Sets the mask to the first `count` lanes; all of them: none.
  void setMask(int64_t count);

private:
  /// Whether only the first lane counts. A masked store of it after a
  /// truncation is miscompiled by LLVM 22 (it stores the wide element), so that
  /// one lane is moved as a single value.
  bool isOneLane() const { return isVector && mask && maskCount == 1; }
  void unify(mlir::Value &x, mlir::Value &y);
  mlir::Type typeLike(mlir::Type element, mlir::Value x) const;
  mlir::Value addressOf(mlir::Value pointer, mlir::Value address,
                        mlir::Type storage);
  mlir::Value allLanes();
  mlir::Value fromStorage(mlir::Value value, mlir::Type elementType);
  mlir::Value toStorage(mlir::Value value, mlir::Type elementType);
  mlir::Value roundBits(mlir::Value x);

  mlir::ImplicitLocOpBuilder &builder;
  bool isVector;
  EmitterStyle style;
  int64_t maskCount = 0;
};

// Functions of f32 and f64 values (MathFunctions.cpp). Errors in units in the
// last place of f32, over all finite arguments; f64 goes through libm, lane by
// lane.
mlir::Value emitExp(Emitter &e, mlir::Value x);                 ///< at most 1
mlir::Value emitLog(Emitter &e, mlir::Value x);                 ///< at most 1
mlir::Value emitTanh(Emitter &e, mlir::Value x);                ///< at most 2
mlir::Value emitErf(Emitter &e, mlir::Value x);                 ///< at most 2
mlir::Value emitSigmoid(Emitter &e, mlir::Value x);             ///< at most 3
mlir::Value emitSin(Emitter &e, mlir::Value x);                 ///< at most 2
mlir::Value emitCos(Emitter &e, mlir::Value x);                 ///< at most 2
mlir::Value emitPow(Emitter &e, mlir::Value x, mlir::Value y);  ///< at most 1
mlir::Value emitFmod(Emitter &e, mlir::Value x, mlir::Value y); ///< exact

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_EMITTER_H
