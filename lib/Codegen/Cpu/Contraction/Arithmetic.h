//===- Arithmetic.h - How products are computed, and the register tile ----===//
//
// What is multiplied, what it is added to, and what fits the registers.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_ARITHMETIC_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_ARITHMETIC_H

#include "Code.h"
#include "amp/Codegen/Cpu/Backend/CpuTarget.h"

namespace amp::cpu {

/// The types on the way from operands to a sum. A unit is what one lane of the
/// micro-kernel multiplies: an f32 or f64, or two bf16 that follow each other
/// in k, as an i32.
struct Arithmetic {
  mlir::Type source;
  mlir::Type unit;
  mlir::Type accumulator;
  /// Elements along k in a unit.
  int64_t unitDepth = 1;

  static Arithmetic get(mlir::Type source, const CpuTarget &target);
  /// Without pairs.
  static Arithmetic getWidened(mlir::Type source);

  bool isPair() const { return unitDepth == 2; }
  /// Whether memory of operands can be read as units.
  bool isDirect() const { return isPair() || source == unit; }
  int64_t countUnits(int64_t depth) const {
    return llvm::divideCeil(depth, unitDepth);
  }
  int64_t unitBytes() const { return unit.getIntOrFloatBitWidth() / 8; }
};

/// Rows by vectors of 16 that a micro-kernel keeps in registers.
struct RegisterTile {
  int64_t rows;
  int64_t vectors;

  int64_t columns() const { return vectors * lanes; }
  /// The largest that helps with a result of m by n.
  static RegisterTile get(const Arithmetic &arithmetic, int64_t m, int64_t n,
                          const CpuTarget &target);
};

/// One operand of the micro-kernel: where the unit of row (or vector) r and
/// depth u lies, counted in `element`.
struct UnitMatrix {
  mlir::Type element;
  int64_t rowStride;
  int64_t unitStride;
};

/// Tasks that a thread should take at once, each of so many multiply-adds:
/// waking a thread costs about a microsecond.
inline int64_t getGrain(int64_t productsPerTask) {
  constexpr int64_t worthwhile = 1 << 17;
  return std::max<int64_t>(1,
                           worthwhile / std::max<int64_t>(1, productsPerTask));
}

/// Adds products of `rows` rows of `a` and `vectors` vectors of `b` to `sums`
/// (rows major), over `units` units. `b` has unitStride between depths and 16
/// lanes side by side; the last vector has `lastCount` lanes in memory.
llvm::SmallVector<mlir::Value>
emitMicroKernel(Code &code, const Arithmetic &arithmetic, RegisterTile tile,
                mlir::Value a, const UnitMatrix &aLayout, mlir::Value b,
                const UnitMatrix &bLayout, int64_t lastCount, mlir::Value units,
                llvm::SmallVector<mlir::Value> sums);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_ARITHMETIC_H
