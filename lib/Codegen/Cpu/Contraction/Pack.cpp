//===- Pack.cpp - Operands rearranged for the micro-kernel ----------------===//
//
// Works on squares of 16 rows by 16 units. Both the tensor and the packed form
// have an axis along which elements are neighbours; where these differ the
// square is transposed in registers.
//
//===----------------------------------------------------------------------===//

#include "Pack.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

PackedMatrix PackedMatrix::panels(const Arithmetic &arithmetic,
                                  const MatrixView &view, int64_t panelRows) {
  int64_t units = arithmetic.countUnits(view.depth);
  int64_t panelStride = panelRows * units;
  int64_t batchStride = llvm::divideCeil(view.rows, panelRows) * panelStride;
  return {panelRows, units, /*rowStride=*/1, panelStride, batchStride};
}

PackedMatrix PackedMatrix::paddedRows(const Arithmetic &arithmetic,
                                      const MatrixView &view) {
  int64_t units = arithmetic.countUnits(view.depth);
  int64_t stride = llvm::alignTo(units, lanes);
  // Rows a power of two apart would compete for the same lines of the cache.
  if (stride % 256 == 0)
    stride += lanes;
  return {/*panelRows=*/0, units, stride, /*panelStride=*/0,
          view.rows * stride};
}

static int64_t countPackIterations(const Arithmetic &arithmetic,
                                   const MatrixView &view) {
  return view.batches * llvm::divideCeil(view.rows, lanes) *
         llvm::divideCeil(arithmetic.countUnits(view.depth), packUnits);
}

static std::string getPackKey(const Arithmetic &arithmetic,
                              const MatrixView &view,
                              const PackedMatrix &packed) {
  std::string types;
  llvm::raw_string_ostream(types) << arithmetic.source << arithmetic.unit;
  return llvm::formatv(
      "pack {0} {1}x{2} {3}x{4}+{5},{6} to {7}*{8},{9} {10}:{11},{12}", types,
      view.batches, view.batchStride, view.rows, view.depth, view.rowStride,
      view.depthStride, packed.panelRows, packed.rowStride, packed.panelStride,
      packed.innerBatches, packed.innerBatchStride, packed.batchStride);
}

namespace {

class Packer {
public:
  Packer(Code &code, const Arithmetic &arithmetic, const MatrixView &view,
         const PackedMatrix &packed, Value from, Value to)
      : code(code), arithmetic(arithmetic), view(view), packed(packed),
        from(from), to(to) {}

  void emitIteration(Value index);
  /// Packs up to 16 rows from `row` on.
  void emitGroup(Value row, Value chunk, Value fromBatch, Value toBatch,
                 int64_t rows);

private:
  /// How much of a square there is; `half` says that the last unit is a pair
  /// whose second element lies beyond the matrix.
  struct Extent {
    int64_t rows, units;
    bool half = false;
  };

  void emitSquare(Value row, Value unit, Value fromBatch, Value toBatch,
                  Extent extent);
  Value loadAlongDepth(Value pointer, Extent extent);
  Value loadAlongRows(Value pointer, int64_t rows, bool half);
  void transpose(SmallVectorImpl<Value> &square);
  void storeSquare(ArrayRef<Value> square, Value row, Value unit, Value toBatch,
                   Extent extent);

  Code &code;
  const Arithmetic &arithmetic;
  const MatrixView &view;
  const PackedMatrix &packed;
  Value from, to;
};

} // namespace

/// Units side by side in a row: in memory they are neighbours already.
Value Packer::loadAlongDepth(Value pointer, Extent extent) {
  if (!arithmetic.isPair())
    return code.convert(
        code.loadVector(pointer, arithmetic.source, extent.units),
        arithmetic.unit);
  Value elements = code.loadVector(pointer, code.builder.getI16Type(),
                                   2 * extent.units - extent.half, 2 * lanes);
  return vector::BitCastOp::create(code.builder, code.vector(arithmetic.unit),
                                   elements);
}

/// One unit of several rows; a pair's elements come from two rows of memory.
Value Packer::loadAlongRows(Value pointer, int64_t rows, bool half) {
  if (!arithmetic.isPair())
    return code.convert(code.loadVector(pointer, arithmetic.source, rows),
                        arithmetic.unit);
  Type i16 = code.builder.getI16Type();
  Value second = code.zeros(i16);
  if (!half)
    second = code.loadVector(
        code.at(pointer, view.depthStride, arithmetic.source), i16, rows);
  return code.makePairs(code.loadVector(pointer, i16, rows), second);
}

/// Eklundh's method: exchange blocks of 1, 2, 4 and 8 across the diagonal.
void Packer::transpose(SmallVectorImpl<Value> &square) {
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      bool other = lane & distance;
      low.push_back(other ? lanes + lane - distance : lane);
      high.push_back(other ? lanes + lane : lane + distance);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      if (i & distance)
        continue;
      Value a = square[i], b = square[i + distance];
      square[i] = code.shuffle(a, b, low);
      square[i + distance] = code.shuffle(a, b, high);
    }
  }
}

void Packer::storeSquare(ArrayRef<Value> square, Value row, Value unit,
                         Value toBatch, Extent extent) {
  if (!packed.isPanels()) {
    Value base =
        code.at(toBatch, code.add(code.mul(row, packed.rowStride), unit),
                arithmetic.unit);
    for (int64_t i = 0; i < extent.rows; ++i)
      code.store(square[i],
                 code.at(base, i * packed.rowStride, arithmetic.unit));
    return;
  }
  Value panel = code.div(row, packed.panelRows);
  Value inPanel = code.add(code.mul(unit, packed.panelRows),
                           code.rem(row, packed.panelRows));
  Value base =
      code.at(toBatch, code.add(code.mul(panel, packed.panelStride), inPanel),
              arithmetic.unit);
  for (int64_t i = 0; i < extent.units; ++i)
    code.store(square[i], code.at(base, i * packed.panelRows, arithmetic.unit));
}

void Packer::emitSquare(Value row, Value unit, Value fromBatch, Value toBatch,
                        Extent extent) {
  bool alongDepth = view.isDepthContiguous();
  Value k = code.mul(unit, arithmetic.unitDepth);
  Value base = code.at(
      fromBatch,
      code.add(code.mul(row, view.rowStride), code.mul(k, view.depthStride)),
      arithmetic.source);
  SmallVector<Value> square;
  for (int64_t i = 0; i < (alongDepth ? extent.rows : extent.units); ++i) {
    if (alongDepth)
      square.push_back(loadAlongDepth(
          code.at(base, i * view.rowStride, arithmetic.source), extent));
    else
      square.push_back(loadAlongRows(
          code.at(base, i * arithmetic.unitDepth * view.depthStride,
                  arithmetic.source),
          extent.rows, extent.half && i + 1 == extent.units));
  }
  if (alongDepth == packed.isPanels()) {
    square.resize(lanes, code.zeros(arithmetic.unit));
    transpose(square);
  }
  storeSquare(square, row, unit, toBatch, extent);
}

void Packer::emitGroup(Value row, Value chunk, Value fromBatch, Value toBatch,
                       int64_t rows) {
  // The last square holds what is left of the depth, and a half pair.
  bool half = arithmetic.isPair() && view.depth % 2 != 0;
  int64_t left = packed.units % lanes;
  if (left == 0 && half)
    left = lanes;
  int64_t whole = packed.units - left;
  Value start = code.mul(chunk, packUnits);
  Value end = code.min(code.add(start, packUnits), code.number(whole));
  code.loop(start, end, lanes, [&](Value unit) {
    emitSquare(row, unit, fromBatch, toBatch, {rows, lanes});
  });
  if (left != 0)
    code.branch(code.equals(chunk, whole / packUnits), [&] {
      emitSquare(row, code.number(whole), fromBatch, toBatch,
                 {rows, left, half});
    });
}

void Packer::emitIteration(Value index) {
  int64_t chunks = llvm::divideCeil(packed.units, packUnits);
  int64_t groups = llvm::divideCeil(view.rows, lanes);
  Value chunk = code.rem(index, chunks);
  index = code.div(index, chunks);
  Value group = code.rem(index, groups), batch = code.div(index, groups);
  Value fromBatch =
      code.at(from, code.mul(batch, view.batchStride), arithmetic.source);
  Value toOffset = code.add(
      code.mul(code.div(batch, packed.innerBatches), packed.batchStride),
      code.mul(code.rem(batch, packed.innerBatches), packed.innerBatchStride));
  Value toBatch = code.at(to, toOffset, arithmetic.unit);
  int64_t last = view.rows % lanes;
  code.splitLast(group, groups, last != 0, [&](bool isLast) {
    emitGroup(code.mul(group, lanes), chunk, fromBatch, toBatch,
              isLast ? last : lanes);
  });
}

void amp::cpu::emitPanelChunk(Code &code, const Arithmetic &arithmetic,
                              const MatrixView &view, int64_t panelRows,
                              Value from, Value row, Value chunk, Value to) {
  // All panels share one place, and chunks too: the start moves back instead.
  PackedMatrix packed = PackedMatrix::panels(arithmetic, view, panelRows);
  packed.panelStride = 0;
  Value skipped = code.mul(chunk, packUnits * panelRows);
  Value start = code.at(to, code.sub(code.number(0), skipped), arithmetic.unit);
  Packer packer(code, arithmetic, view, packed, from, to);
  int64_t groups = llvm::divideCeil(view.rows, lanes), last = view.rows % lanes;
  Value first = code.div(row, lanes);
  Value end = code.min(code.add(first, panelRows / lanes), code.number(groups));
  code.loop(first, end, 1, [&](Value group) {
    code.splitLast(group, groups, last != 0, [&](bool isLast) {
      packer.emitGroup(code.mul(group, lanes), chunk, from, start,
                       isLast ? last : lanes);
    });
  });
}

static void emitPack(Code &code, const Arithmetic &arithmetic,
                     const MatrixView &view, const PackedMatrix &packed,
                     Value from, Value to, Value lo, Value hi) {
  Packer packer(code, arithmetic, view, packed, from, to);
  code.loop(lo, hi, 1, [&](Value index) { packer.emitIteration(index); });
}

KernelOperand amp::cpu::addPack(KernelCalls &calls,
                                const Arithmetic &arithmetic,
                                const MatrixView &view,
                                const PackedMatrix &packed, KernelOperand from,
                                KernelModule &kernels) {
  KernelOperand to = KernelOperand::scratch(calls.scratch.size());
  int64_t batchUnits =
      packed.isPanels()
          ? llvm::alignTo(view.rows, packed.panelRows) * packed.units
          : view.rows * packed.rowStride;
  calls.scratch.push_back(view.batches * batchUnits * arithmetic.unitBytes());
  auto kernel =
      kernels.getOrCreate(getPackKey(arithmetic, view, packed), "pack", 2,
                          [&](ImplicitLocOpBuilder &builder, ValueRange buffers,
                              Value lo, Value hi) {
                            Code code(builder);
                            emitPack(code, arithmetic, view, packed, buffers[0],
                                     buffers[1], lo, hi);
                          });
  int64_t iterations = countPackIterations(arithmetic, view);
  if (iterations != 0)
    // An iteration moves up to 4096 elements.
    calls.calls.push_back({kernel, {from, to}, iterations, /*grain=*/4});
  return to;
}
