//===- MicroKernel.cpp - The tile that stays in registers -----------------===//
//
// One broadcast per row and depth, one fused multiply-add (or vdpbf16ps) per
// vector.
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace amp::cpu;

Arithmetic Arithmetic::getWidened(Type source) {
  Type wide = source;
  if (!source.isF64())
    wide = Float32Type::get(source.getContext());
  return {source, wide, wide};
}

Arithmetic Arithmetic::get(Type source, const CpuTarget &target) {
  Arithmetic arithmetic = getWidened(source);
  if (source.isBF16() && target.hasAvx512Bf16()) {
    arithmetic.unit = IntegerType::get(source.getContext(), 32);
    arithmetic.unitDepth = 2;
  }
  return arithmetic;
}

RegisterTile RegisterTile::get(const Arithmetic &arithmetic, int64_t m,
                               int64_t n, const CpuTarget &target) {
  int64_t laneBits = arithmetic.accumulator.getIntOrFloatBitWidth();
  int64_t registers = target.hasAvx512() ? 32 : 16;
  int64_t perVector = lanes * laneBits / (target.hasAvx512() ? 512 : 256);
  // Wide tiles use each broadcast more often; AVX2 has no room for them.
  int64_t vectors =
      std::min<int64_t>(4 / perVector, llvm::divideCeil(n, lanes));
  if (!target.hasAvx512())
    vectors = 1;
  // Besides the sums: one row of b and a broadcast.
  int64_t rows = (registers - 2 - vectors * perVector) / (vectors * perVector);
  rows = std::clamp<int64_t>(rows, 2, vectors == 1 ? 24 : 14);
  return {std::min(rows, m), std::max<int64_t>(vectors, 1)};
}

static Value emitProduct(Code &code, const Arithmetic &arithmetic, Value a,
                         Value b, Value sum) {
  if (!arithmetic.isPair())
    // vector.fma would become a multiply and an add.
    return math::FmaOp::create(code.builder, a, b, sum);
  Type pairs = code.vector(code.builder.getBF16Type(), 2 * lanes);
  auto intrinsic =
      code.builder.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512");
  return LLVM::CallIntrinsicOp::create(
             code.builder, sum.getType(), intrinsic,
             ValueRange{sum, vector::BitCastOp::create(code.builder, pairs, a),
                        vector::BitCastOp::create(code.builder, pairs, b)})
      .getResult(0);
}

SmallVector<Value>
amp::cpu::emitMicroKernel(Code &code, const Arithmetic &arithmetic,
                          RegisterTile tile, Value a, const UnitMatrix &aLayout,
                          Value b, const UnitMatrix &bLayout, int64_t lastCount,
                          Value units, SmallVector<Value> sums) {
  unsigned aAlignment = aLayout.element.getIntOrFloatBitWidth() / 8;
  auto body = [&](Value unit, ValueRange carried) {
    SmallVector<Value> next = llvm::to_vector(carried), vectors;
    Value bRow =
        code.at(b, code.mul(unit, bLayout.unitStride), bLayout.element);
    for (int64_t j = 0; j < tile.vectors; ++j)
      vectors.push_back(code.loadVector(
          code.at(bRow, j * lanes, bLayout.element), arithmetic.unit,
          j + 1 == tile.vectors ? lastCount : lanes));
    Value aColumn =
        code.at(a, code.mul(unit, aLayout.unitStride), aLayout.element);
    for (int64_t i = 0; i < tile.rows; ++i) {
      Value scalar = LLVM::LoadOp::create(
          code.builder, arithmetic.unit,
          code.at(aColumn, i * aLayout.rowStride, aLayout.element), aAlignment);
      Value row = code.splat(scalar);
      for (int64_t j = 0; j < tile.vectors; ++j) {
        Value &sum = next[i * tile.vectors + j];
        sum = emitProduct(code, arithmetic, row, vectors[j], sum);
      }
    }
    return next;
  };
  return code.loop(code.number(0), units, 1, sums, body);
}
