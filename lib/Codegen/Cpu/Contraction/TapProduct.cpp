//===- TapProduct.cpp - Forward and input gradient of convolutions --------===//
//
// Lanes are positions; the depth runs over channels and taps.
//
//===----------------------------------------------------------------------===//

#include "ConvProduct.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

/// Units of depth in a panel: with 64 lanes of f32 half of the second-level
/// cache's quarter. Sums are kept in memory from block to block, exactly.
static constexpr int64_t blockUnits = 384;
/// Rows for which a panel, once gathered, is used.
static constexpr int64_t blockRows = 256;
static constexpr int64_t wantedTasks = 16;

std::string TapProduct::getKey() const {
  std::string key = llvm::formatv(
      "taps {0} {1} {2}; {3}x{4}x{5} {6},{7} {8} {9} from {10} to {11} at ",
      spell(arithmetic.source), spell(arithmetic.unit), spell(result), groups,
      rows, channels, spell(weights.element), weights.rowStride, planeSize,
      resultChannelSize, from.getKey(), to.getKey());
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(offsets, stream);
  return key;
}

namespace {

class TapPrinter {
public:
  TapPrinter(Code &code, const TapProduct &product, RegisterTile tile,
             int64_t blockTiles, ValueRange buffers);

  void emitTask(Value index);

  static int64_t countBlocks(const TapProduct &product, RegisterTile tile,
                             int64_t blockTiles) {
    return llvm::divideCeil(llvm::divideCeil(product.rows, tile.rows),
                            blockTiles);
  }
  static int64_t countPanels(const TapProduct &product, RegisterTile tile) {
    return llvm::divideCeil(product.from.total(), tile.columns());
  }

private:
  /// Rows of the task: numbers of its first tile, and of the one after its last
  /// whole one.
  struct Rows {
    Value group, block, first, end;
  };
  void clearSums();
  void gatherBlock(Value group, Value firstUnit, Value endUnit);
  void gatherUnit(Value group, Value unit, Value panelRow, bool half);
  Value getPlane(Value group, Value k);
  void forEachTile(
      const Rows &rows,
      llvm::function_ref<void(Value row, Value inBlock, int64_t rows)> body);
  void addTile(Value group, Value row, Value inBlock, int64_t rows,
               Value firstUnit, Value units);
  void finishRow(Value group, Value row, Value inBlock, Value runs);
  Value sumPointer(Value row, int64_t vector) {
    return code.at(sums,
                   code.add(code.mul(row, tile.columns()), vector * lanes),
                   product.arithmetic.accumulator);
  }
  int64_t units() const {
    return product.arithmetic.countUnits(product.depth());
  }

  Code &code;
  const TapProduct &product;
  RegisterTile tile;
  int64_t blockTiles;
  Value weights, planes, bias, result;
  /// Memory of the task: tables of runs, a block of the panel (and two of its
  /// rows before they are paired), sums, one finished row.
  Value offsets, fromRuns, toRuns, panel, pair, sums, finished;
};

} // namespace

TapPrinter::TapPrinter(Code &code, const TapProduct &product, RegisterTile tile,
                       int64_t blockTiles, ValueRange buffers)
    : code(code), product(product), tile(tile), blockTiles(blockTiles),
      weights(buffers[0]), planes(buffers[1]), result(buffers.back()) {
  if (buffers.size() == 4)
    bias = buffers[2];
  const Arithmetic &arithmetic = product.arithmetic;
  Type i64 = code.builder.getI64Type();
  offsets = code.table(product.offsets);
  fromRuns = code.allocate(tile.columns(), i64);
  toRuns = code.allocate(tile.columns(), i64);
  panel = code.allocate(std::min(blockUnits, units()) * tile.columns(),
                        arithmetic.unit);
  if (arithmetic.isPair())
    pair = code.allocate(2 * tile.columns(), arithmetic.source);
  sums = code.allocate(blockTiles * tile.rows * tile.columns(),
                       arithmetic.accumulator);
  finished = code.allocate(tile.columns(), product.result);
}

void TapPrinter::clearSums() {
  Type sum = product.arithmetic.accumulator;
  code.loop(code.number(0), code.number(blockTiles * tile.rows), 1,
            [&](Value row) {
              for (int64_t j = 0; j < tile.vectors; ++j)
                code.store(code.zeros(sum), sumPointer(row, j));
            });
}

/// Where the plane of channel k / taps starts for tap k % taps.
Value TapPrinter::getPlane(Value group, Value k) {
  int64_t taps = product.offsets.size();
  Value channel =
      code.add(code.mul(group, product.channels), code.div(k, taps));
  Value offset = code.add(code.mul(channel, product.planeSize),
                          code.lookUp(offsets, code.rem(k, taps)));
  return code.at(planes, offset, product.arithmetic.source);
}

void TapPrinter::gatherUnit(Value group, Value unit, Value panelRow,
                            bool half) {
  const Arithmetic &arithmetic = product.arithmetic;
  int64_t run = product.from.run(), runs = tile.columns() / run;
  auto gather = [&](Value k, Value to, Type type) {
    emitGather(code, run, runs, fromRuns, getPlane(group, k), arithmetic.source,
               to, type);
  };
  if (!arithmetic.isPair())
    return gather(unit, panelRow, arithmetic.unit);
  // Two rows of bf16, then one of pairs.
  Value k = code.mul(unit, 2);
  Type i16 = code.builder.getI16Type();
  Value second = code.at(pair, tile.columns(), i16);
  gather(k, pair, arithmetic.source);
  if (!half)
    gather(code.add(k, 1), second, arithmetic.source);
  for (int64_t j = 0; j < tile.vectors; ++j) {
    Value low = code.loadVector(code.at(pair, j * lanes, i16), i16);
    Value high = half ? code.zeros(i16)
                      : code.loadVector(code.at(second, j * lanes, i16), i16);
    code.store(code.makePairs(low, high),
               code.at(panelRow, j * lanes, arithmetic.unit));
  }
}

void TapPrinter::gatherBlock(Value group, Value firstUnit, Value endUnit) {
  int64_t depth = product.depth(), unitDepth = product.arithmetic.unitDepth;
  int64_t whole = depth / unitDepth;
  auto gather = [&](Value unit, bool half) {
    Value row = code.mul(code.sub(unit, firstUnit), tile.columns());
    gatherUnit(group, unit, code.at(panel, row, product.arithmetic.unit), half);
  };
  code.loop(firstUnit, code.min(endUnit, code.number(whole)), 1,
            [&](Value unit) { gather(unit, false); });
  if (depth % unitDepth != 0)
    code.branch(code.equals(endUnit, whole + 1),
                [&] { gather(code.number(whole), true); });
}

void TapPrinter::addTile(Value group, Value row, Value inBlock, int64_t rows,
                         Value firstUnit, Value units) {
  const UnitMatrix &layout = product.weights;
  Type sum = product.arithmetic.accumulator;
  Value number = code.add(code.mul(group, product.rows), row);
  Value a = code.at(weights,
                    code.add(code.mul(number, layout.rowStride),
                             code.mul(firstUnit, layout.unitStride)),
                    layout.element);
  SmallVector<Value> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < tile.vectors; ++j)
      values.push_back(
          code.loadVector(sumPointer(code.add(inBlock, i), j), sum));
  UnitMatrix panelLayout{product.arithmetic.unit, 1, tile.columns()};
  values = emitMicroKernel(code, product.arithmetic, {rows, tile.vectors}, a,
                           layout, panel, panelLayout, lanes, units, values);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < tile.vectors; ++j)
      code.store(values[i * tile.vectors + j],
                 sumPointer(code.add(inBlock, i), j));
}

void TapPrinter::finishRow(Value group, Value row, Value inBlock, Value runs) {
  Type sum = product.arithmetic.accumulator;
  Value channel = code.add(code.mul(group, product.rows), row);
  Value added;
  if (bias)
    added = code.splat(code.convert(
        code.load(code.at(bias, channel, product.arithmetic.source),
                  product.arithmetic.source),
        sum));
  for (int64_t j = 0; j < tile.vectors; ++j) {
    Value value = code.loadVector(sumPointer(inBlock, j), sum);
    if (bias)
      value = arith::AddFOp::create(code.builder, value, added);
    code.store(code.convert(value, product.result),
               code.at(finished, j * lanes, product.result));
  }
  Value to = code.at(result, code.mul(channel, product.resultChannelSize),
                     product.result);
  emitScatter(code, product.to.run(), runs, toRuns, finished, to,
              product.result);
}

void TapPrinter::forEachTile(
    const Rows &rows, llvm::function_ref<void(Value, Value, int64_t)> body) {
  int64_t whole = product.rows / tile.rows, rest = product.rows % tile.rows;
  auto print = [&](Value number, int64_t count) {
    body(code.mul(number, tile.rows),
         code.mul(code.sub(number, rows.first), tile.rows), count);
  };
  code.loop(rows.first, rows.end, 1,
            [&](Value number) { print(number, tile.rows); });
  if (rest != 0)
    code.branch(
        code.equals(rows.block, countBlocks(product, tile, blockTiles) - 1),
        [&] { print(code.number(whole), rest); });
}

void TapPrinter::emitTask(Value index) {
  int64_t blocks = countBlocks(product, tile, blockTiles);
  int64_t panels = countPanels(product, tile), columns = tile.columns();
  Rows rows;
  rows.block = code.rem(index, blocks);
  index = code.div(index, blocks);
  rows.group = code.div(index, panels);
  rows.first = code.mul(rows.block, blockTiles);
  rows.end = code.min(code.add(rows.first, blockTiles),
                      code.number(product.rows / tile.rows));
  Value position = code.mul(code.rem(index, panels), columns);
  Value valid = code.min(code.sub(code.number(product.to.total()), position),
                         code.number(columns));
  Value toCount = code.div(valid, product.to.run());
  emitOffsets(code, product.from, position,
              code.number(columns / product.from.run()), fromRuns);
  emitOffsets(code, product.to, position, toCount, toRuns);
  clearSums();
  code.loop(
      code.number(0), code.number(units()), blockUnits, [&](Value firstUnit) {
        Value end =
            code.min(code.add(firstUnit, blockUnits), code.number(units()));
        gatherBlock(rows.group, firstUnit, end);
        forEachTile(rows, [&](Value row, Value inBlock, int64_t count) {
          addTile(rows.group, row, inBlock, count, firstUnit,
                  code.sub(end, firstUnit));
        });
      });
  forEachTile(rows, [&](Value row, Value inBlock, int64_t count) {
    code.loop(code.number(0), code.number(count), 1, [&](Value i) {
      finishRow(rows.group, code.add(row, i), code.add(inBlock, i), toCount);
    });
  });
}

void amp::cpu::addTapProduct(KernelCalls &calls, KernelModule &kernels,
                             const TapProduct &product, const CpuTarget &target,
                             KernelOperand weights, KernelOperand planes,
                             const KernelOperand *bias, KernelOperand result) {
  RegisterTile tile = RegisterTile::get(product.arithmetic, product.rows,
                                        product.from.total(), target);
  int64_t blockTiles = std::max<int64_t>(1, blockRows / tile.rows);
  auto countTasks = [&] {
    return product.groups * TapPrinter::countPanels(product, tile) *
           TapPrinter::countBlocks(product, tile, blockTiles);
  };
  while (blockTiles > 1 && countTasks() < wantedTasks)
    blockTiles = llvm::divideCeil(blockTiles, 2);
  SmallVector<KernelOperand> operands{weights, planes};
  if (bias)
    operands.push_back(*bias);
  operands.push_back(result);
  auto kernel = kernels.getOrCreate(
      product.getKey() + (bias ? " bias" : ""), "conv", operands.size(),
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        TapPrinter printer(code, product, tile, blockTiles, buffers);
        code.loop(lo, hi, 1, [&](Value index) { printer.emitTask(index); });
      });
  int64_t products = blockTiles * tile.rows * tile.columns() * product.depth();
  calls.calls.push_back({kernel, operands, countTasks(), getGrain(products)});
}
