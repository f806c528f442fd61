//===- WindowProduct.cpp - Weight gradient of convolutions ----------------===//
//
// Rows are channels of x and taps, lanes are channels of y; the depth runs over
// windows.
//
//===----------------------------------------------------------------------===//

#include "ConvProduct.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

/// Units of depth in a block: rows gathered once serve several panels.
static constexpr int64_t blockUnits = 512;
static constexpr int64_t blockRows = 96;
static constexpr int64_t mostPanels = 4;
static constexpr int64_t wantedTasks = 16;

std::string WindowProduct::getKey() const {
  std::string key = llvm::formatv(
      "windows {0} {1} {2}; {3}x{4}x{5} {6}x{7} from {8} {9} at ",
      spell(arithmetic.source), spell(arithmetic.unit), spell(result), groups,
      columns, channels, tile.rows, tile.vectors, from.getKey(), planeSize);
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(offsets, stream);
  return key;
}

namespace {

/// How the result is cut into tasks.
struct Blocks {
  int64_t tiles;
  int64_t panels;
};

class WindowPrinter {
public:
  WindowPrinter(Code &code, const WindowProduct &product, Blocks blocks,
                ValueRange buffers);
  void emitTask(Value index);

  static int64_t countTiles(const WindowProduct &product) {
    return llvm::divideCeil(product.rows(), product.tile.rows);
  }
  static int64_t countPanels(const WindowProduct &product) {
    return llvm::divideCeil(product.columns, product.tile.columns());
  }

private:
  /// A register tile: its first row, where that lies in the block, its height.
  struct Tile {
    Value row, inBlock;
    int64_t rows;
  };
  /// A task: rows [firstTile, endTile) and the panels of one group.
  struct Place {
    Value group, tileBlock, firstTile, endTile, firstPanel, endPanel;
  };
  void clearSums();
  void gatherRows(const Place &place, Value firstUnit, Value units);
  void forEachTile(const Place &place,
                   llvm::function_ref<void(const Tile &)> body);
  void addTile(const Place &place, const Tile &tile, Value panel,
               Value firstUnit, Value units);
  void storeTile(const Place &place, const Tile &tile, Value panel);
  Value sumIndex(const Place &place, Value panel, Value row) {
    Value inTask = code.sub(panel, place.firstPanel);
    Value number =
        code.add(code.mul(inTask, blocks.tiles * product.tile.rows), row);
    return code.mul(number, product.tile.columns());
  }
  int64_t units() const {
    return product.from.total() / product.arithmetic.unitDepth;
  }
  int64_t tileBlocks() const {
    return llvm::divideCeil(countTiles(product), blocks.tiles);
  }
  int64_t panelBlocks() const {
    return llvm::divideCeil(countPanels(product), blocks.panels);
  }

  Code &code;
  const WindowProduct &product;
  Blocks blocks;
  Value planes, gradient, weights;
  /// Rows as the micro-kernel reads them: pairs are neighbours as they are.
  Type rowElement;
  UnitMatrix rowLayout;
  Value offsets, runs, rowsMemory, sums;
};

} // namespace

WindowPrinter::WindowPrinter(Code &code, const WindowProduct &product,
                             Blocks blocks, ValueRange buffers)
    : code(code), product(product), blocks(blocks), planes(buffers[0]),
      gradient(buffers[1]), weights(buffers[2]) {
  const Arithmetic &arithmetic = product.arithmetic;
  rowElement = arithmetic.isPair() ? arithmetic.source : arithmetic.unit;
  int64_t depth = std::min(blockUnits, units()) * arithmetic.unitDepth;
  // Rows a power of two apart would compete for the same lines of the cache.
  rowLayout = {rowElement, int64_t(llvm::alignTo(depth, lanes)) + lanes,
               arithmetic.unitDepth};
  int64_t rows = blocks.tiles * product.tile.rows;
  offsets = code.table(product.offsets);
  runs = code.allocate(llvm::divideCeil(depth, product.from.run()),
                       code.builder.getI64Type());
  rowsMemory = code.allocate(rows * rowLayout.rowStride, rowElement);
  sums = code.allocate(blocks.panels * rows * product.tile.columns(),
                       arithmetic.accumulator);
}

void WindowPrinter::clearSums() {
  Type sum = product.arithmetic.accumulator;
  int64_t count =
      blocks.panels * blocks.tiles * product.tile.rows * product.tile.vectors;
  code.loop(code.number(0), code.number(count), 1, [&](Value i) {
    code.store(code.zeros(sum), code.at(sums, code.mul(i, lanes), sum));
  });
}

/// x at the windows of the block, for every channel and tap of the task.
void WindowPrinter::gatherRows(const Place &place, Value firstUnit,
                               Value units) {
  const Arithmetic &arithmetic = product.arithmetic;
  int64_t run = product.from.run(), taps = product.offsets.size();
  Value count = code.div(code.mul(units, arithmetic.unitDepth), run);
  emitOffsets(code, product.from, code.mul(firstUnit, arithmetic.unitDepth),
              count, runs);
  Value first = code.mul(place.firstTile, product.tile.rows);
  Value end = code.min(code.add(first, blocks.tiles * product.tile.rows),
                       code.number(product.rows()));
  code.loop(first, end, 1, [&](Value row) {
    Value channel =
        code.add(code.mul(place.group, product.channels), code.div(row, taps));
    Value offset = code.add(code.mul(channel, product.planeSize),
                            code.lookUp(offsets, code.rem(row, taps)));
    Value from = code.at(planes, offset, arithmetic.source);
    Value to =
        code.at(rowsMemory, code.mul(code.sub(row, first), rowLayout.rowStride),
                rowElement);
    emitGather(code, run, count, runs, from, arithmetic.source, to, rowElement);
  });
}

void WindowPrinter::forEachTile(const Place &place,
                                llvm::function_ref<void(const Tile &)> body) {
  int64_t height = product.tile.rows;
  int64_t whole = product.rows() / height, rest = product.rows() % height;
  auto print = [&](Value number, int64_t rows) {
    body({code.mul(number, height),
          code.mul(code.sub(number, place.firstTile), height), rows});
  };
  code.loop(place.firstTile, place.endTile, 1,
            [&](Value number) { print(number, height); });
  if (rest != 0)
    code.branch(code.equals(place.tileBlock, tileBlocks() - 1),
                [&] { print(code.number(whole), rest); });
}

void WindowPrinter::addTile(const Place &place, const Tile &tile, Value panel,
                            Value firstUnit, Value units) {
  const Arithmetic &arithmetic = product.arithmetic;
  int64_t columns = product.tile.columns(), vectors = product.tile.vectors;
  Value number = code.add(code.mul(place.group, countPanels(product)), panel);
  Value depth = code.add(code.mul(number, this->units()), firstUnit);
  Value b = code.at(gradient, code.mul(depth, columns), arithmetic.unit);
  Value a = code.at(rowsMemory, code.mul(tile.inBlock, rowLayout.rowStride),
                    rowElement);
  Value start = code.at(sums, sumIndex(place, panel, tile.inBlock),
                        arithmetic.accumulator);
  SmallVector<Value> values;
  for (int64_t i = 0; i < tile.rows * vectors; ++i)
    values.push_back(
        code.loadVector(code.at(start, i * lanes, arithmetic.accumulator),
                        arithmetic.accumulator));
  values =
      emitMicroKernel(code, arithmetic, {tile.rows, vectors}, a, rowLayout, b,
                      {arithmetic.unit, 1, columns}, lanes, units, values);
  for (int64_t i = 0; i < tile.rows * vectors; ++i)
    code.store(values[i], code.at(start, i * lanes, arithmetic.accumulator));
}

/// Neighbours in the tile are far apart in the weights: one element at a time.
void WindowPrinter::storeTile(const Place &place, const Tile &tile,
                              Value panel) {
  Type sum = product.arithmetic.accumulator;
  int64_t columns = product.tile.columns();
  Value firstColumn = code.mul(panel, columns);
  Value width = code.min(code.sub(code.number(product.columns), firstColumn),
                         code.number(columns));
  Value start = code.at(sums, sumIndex(place, panel, tile.inBlock), sum);
  Value channel = code.add(code.mul(place.group, product.columns), firstColumn);
  Value zero = code.number(0);
  code.loop(zero, width, 1, [&](Value column) {
    Value index =
        code.add(code.mul(code.add(channel, column), product.rows()), tile.row);
    Value to = code.at(weights, index, product.result);
    code.loop(zero, code.number(tile.rows), 1, [&](Value i) {
      Value from = code.add(code.mul(i, columns), column);
      Value value = code.load(code.at(start, from, sum), sum);
      code.store(code.convert(value, product.result),
                 code.at(to, i, product.result));
    });
  });
}

void WindowPrinter::emitTask(Value index) {
  Place place;
  Value panelBlock = code.rem(index, panelBlocks());
  index = code.div(index, panelBlocks());
  place.tileBlock = code.rem(index, tileBlocks());
  place.group = code.div(index, tileBlocks());
  place.firstTile = code.mul(place.tileBlock, blocks.tiles);
  place.endTile = code.min(code.add(place.firstTile, blocks.tiles),
                           code.number(product.rows() / product.tile.rows));
  place.firstPanel = code.mul(panelBlock, blocks.panels);
  place.endPanel = code.min(code.add(place.firstPanel, blocks.panels),
                            code.number(countPanels(product)));
  auto overPanels = [&](llvm::function_ref<void(Value)> body) {
    code.loop(place.firstPanel, place.endPanel, 1, body);
  };
  clearSums();
  code.loop(code.number(0), code.number(units()), blockUnits, [&](Value unit) {
    Value count =
        code.min(code.sub(code.number(units()), unit), code.number(blockUnits));
    gatherRows(place, unit, count);
    overPanels([&](Value panel) {
      forEachTile(place, [&](const Tile &tile) {
        addTile(place, tile, panel, unit, count);
      });
    });
  });
  overPanels([&](Value panel) {
    forEachTile(place,
                [&](const Tile &tile) { storeTile(place, tile, panel); });
  });
}

void amp::cpu::addWindowProduct(KernelCalls &calls, KernelModule &kernels,
                                const WindowProduct &product,
                                KernelOperand planes, KernelOperand gradient,
                                KernelOperand weights) {
  int64_t tiles = WindowPrinter::countTiles(product);
  int64_t panels = WindowPrinter::countPanels(product);
  Blocks blocks{std::max<int64_t>(1, blockRows / product.tile.rows),
                std::min(mostPanels, panels)};
  auto countTasks = [&]() -> int64_t {
    return product.groups * llvm::divideCeil(tiles, blocks.tiles) *
           llvm::divideCeil(panels, blocks.panels);
  };
  while (blocks.tiles > 1 && countTasks() < wantedTasks)
    blocks.tiles = llvm::divideCeil(blocks.tiles, 2);
  auto kernel = kernels.getOrCreate(
      product.getKey(), "conv_weight_gradient", 3,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        WindowPrinter printer(code, product, blocks, buffers);
        code.loop(lo, hi, 1, [&](Value index) { printer.emitTask(index); });
      });
  int64_t products = blocks.tiles * blocks.panels * product.tile.rows *
                     product.tile.columns() * product.from.total();
  calls.calls.push_back(
      {kernel, {planes, gradient, weights}, countTasks(), getGrain(products)});
}
