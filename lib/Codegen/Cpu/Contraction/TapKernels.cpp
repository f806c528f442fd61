//===- TapKernels.cpp - Convolutions as products over taps ----------------===//
//
// Forward and input gradient: lanes are positions. Weight gradient: lanes are
// channels of y, and windows are the depth.
//
//===----------------------------------------------------------------------===//

#include "TapKernels.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

/// Rows that share the planes under a panel while these are in the cache.
static constexpr int64_t blockRows = 96;
static constexpr int64_t wantedTiles = 16;
/// Windows whose panels of gradient stay in the cache.
static constexpr int64_t blockWindows = 768;

static std::string spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// sums += broadcast(scalars) * vectors, tile.rows by tile.vectors.
static SmallVector<Value>
emitOuterProduct(Code &code, RegisterTile tile,
                 llvm::function_ref<Value(int64_t row)> getScalar,
                 ArrayRef<Value> vectors, ValueRange sums) {
  SmallVector<Value> next = llvm::to_vector(sums);
  for (int64_t i = 0; i < tile.rows; ++i) {
    Value row = code.splat(getScalar(i));
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value &sum = next[i * tile.vectors + j];
      sum = math::FmaOp::create(code.builder, row, vectors[j], sum);
    }
  }
  return next;
}

namespace {

/// Prints the kernel of a TapProduct.
class TapPrinter {
public:
  TapPrinter(Code &code, const Arithmetic &arithmetic,
             const TapProduct &product, RegisterTile tile, int64_t blockTiles,
             Value weights, Value planes, Value sums)
      : code(code), arithmetic(arithmetic), product(product), tile(tile),
        blockTiles(blockTiles), weights(weights), planes(planes), sums(sums),
        offsets(code.table(product.offsets)) {}

  void emitTask(Value index);
  static int64_t countBlocks(const TapProduct &product, RegisterTile tile,
                             int64_t blockTiles) {
    return llvm::divideCeil(llvm::divideCeil(product.rows, tile.rows),
                            blockTiles);
  }

private:
  struct Place {
    Value weights, planes, sums;
  };
  /// Register tiles of one task, the last of which may be lower.
  void emitRows(Value block, const Place &place, int64_t width);
  void emitTile(const Place &place, Value row, int64_t rows, int64_t width);

  Code &code;
  const Arithmetic &arithmetic;
  const TapProduct &product;
  RegisterTile tile;
  int64_t blockTiles;
  Value weights, planes, sums, offsets;
};

} // namespace

void TapPrinter::emitTile(const Place &place, Value row, int64_t rows,
                          int64_t width) {
  int64_t vectors = llvm::divideCeil(width, lanes),
          taps = product.offsets.size();
  int64_t lastCount = width - (vectors - 1) * lanes;
  Type unit = arithmetic.unit;
  Value rowWeights =
      code.at(place.weights, code.mul(row, product.weightStride), unit);
  Value zero = code.number(0);
  SmallVector<Value> initial(rows * vectors,
                             code.zeros(arithmetic.accumulator));
  auto overTaps = [&](Value channel, ValueRange outer) {
    Value plane =
        code.at(place.planes, code.mul(channel, product.planeSize), unit);
    Value column = code.at(rowWeights, code.mul(channel, taps), unit);
    return code.loop(
        zero, code.number(taps), 1, outer, [&](Value tap, ValueRange carried) {
          Value from = code.at(plane, code.lookUp(offsets, tap), unit);
          SmallVector<Value> loaded;
          for (int64_t j = 0; j < vectors; ++j)
            loaded.push_back(
                code.loadVector(code.at(from, j * lanes, unit), unit,
                                j + 1 == vectors ? lastCount : lanes));
          Value scalars = code.at(column, tap, unit);
          return emitOuterProduct(
              code, {rows, vectors},
              [&](int64_t i) {
                return code.load(
                    code.at(scalars, i * product.weightStride, unit), unit);
              },
              loaded, carried);
        });
  };
  SmallVector<Value> results =
      code.loop(zero, code.number(product.channels), 1, initial, overTaps);
  Value to =
      code.at(place.sums, code.mul(row, product.positions), product.result);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      code.storeVector(
          code.convert(results[i * vectors + j], product.result),
          code.at(to, i * product.positions + j * lanes, product.result),
          j + 1 == vectors ? lastCount : lanes);
}

void TapPrinter::emitRows(Value block, const Place &place, int64_t width) {
  int64_t whole = product.rows / tile.rows, rest = product.rows % tile.rows;
  Value first = code.mul(block, blockTiles);
  Value end = code.min(code.add(first, blockTiles), code.number(whole));
  code.loop(first, end, 1, [&](Value i) {
    emitTile(place, code.mul(i, tile.rows), tile.rows, width);
  });
  if (rest != 0)
    code.branch(
        code.equals(block, countBlocks(product, tile, blockTiles) - 1),
        [&] { emitTile(place, code.number(whole * tile.rows), rest, width); });
}

void TapPrinter::emitTask(Value index) {
  int64_t columns = tile.columns();
  int64_t panels = llvm::divideCeil(product.positions, columns);
  int64_t blocks = countBlocks(product, tile, blockTiles);
  Value block = code.rem(index, blocks);
  index = code.div(index, blocks);
  Value panel = code.rem(index, panels), batch = code.div(index, panels);
  Value group = code.rem(batch, product.groups);
  Value position = code.mul(panel, columns);
  Place place;
  place.weights =
      code.at(weights, code.mul(group, product.rows * product.weightStride),
              arithmetic.unit);
  Value plane = code.mul(batch, product.channels * product.planeSize);
  place.planes = code.at(planes, code.add(plane, position), arithmetic.unit);
  Value sum = code.mul(batch, product.rows * product.positions);
  place.sums = code.at(sums, code.add(sum, position), product.result);
  int64_t rest = product.positions % columns;
  code.splitLast(panel, panels, rest != 0, [&](bool isLast) {
    emitRows(block, place, isLast ? rest : columns);
  });
}

static std::string getKey(const Arithmetic &arithmetic,
                          const TapProduct &product, int64_t sumsOffset) {
  std::string key = llvm::formatv(
      "taps {0} {1} {2}x{3}x{4}x{5} {6} {7} {8} at {9}:",
      spell(arithmetic.unit), spell(product.result), product.groups,
      product.rows, product.channels, product.images, product.weightStride,
      product.planeSize, product.positions, sumsOffset);
  llvm::raw_string_ostream stream(key);
  llvm::interleaveComma(product.offsets, stream);
  return key;
}

void amp::cpu::addTapProduct(KernelCalls &calls, KernelModule &kernels,
                             const Arithmetic &arithmetic,
                             const TapProduct &product, const CpuTarget &target,
                             KernelOperand weights, KernelOperand planes,
                             KernelOperand sums, int64_t sumsOffset) {
  RegisterTile tile =
      RegisterTile::get(arithmetic, product.rows, product.positions, target);
  int64_t blockTiles = std::max<int64_t>(1, blockRows / tile.rows);
  auto countTasks = [&] {
    return product.images * product.groups *
           llvm::divideCeil(product.positions, tile.columns()) *
           TapPrinter::countBlocks(product, tile, blockTiles);
  };
  while (blockTiles > 1 && countTasks() < uint64_t(wantedTiles))
    blockTiles = llvm::divideCeil(blockTiles, 2);
  auto kernel = kernels.getOrCreate(
      getKey(arithmetic, product, sumsOffset), "conv", 3,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        Value to = code.at(buffers[2], sumsOffset, product.result);
        TapPrinter printer(code, arithmetic, product, tile, blockTiles,
                           buffers[0], buffers[1], to);
        code.loop(lo, hi, 1, [&](Value index) { printer.emitTask(index); });
      });
  calls.calls.push_back(
      {kernel, {weights, planes, sums}, int64_t(countTasks()), /*grain=*/1});
}

RegisterTile amp::cpu::getWeightTile(const Arithmetic &arithmetic,
                                     const ConvShape &shape,
                                     const CpuTarget &target) {
  RegisterTile tile = RegisterTile::get(
      arithmetic, shape.xChannels * shape.taps(), shape.yChannels, target);
  // Every row of the tile needs a pointer of its own.
  tile.rows = std::min<int64_t>(tile.rows, 8);
  return tile;
}

namespace {

/// Prints the kernel of the weight gradient. Rows are channels of x and taps.
class WeightPrinter {
public:
  WeightPrinter(Code &code, const Arithmetic &arithmetic,
                const ConvShape &shape, const PhasedPlanes &phased,
                RegisterTile tile, int64_t blockTiles, Type result,
                Value planes, Value gradient, Value weights)
      : code(code), arithmetic(arithmetic), shape(shape), phased(phased),
        tile(tile), blockTiles(blockTiles), result(result), planes(planes),
        gradient(gradient), weights(weights) {
    SmallVector<int64_t> numbers;
    for (int64_t d = 0; d < shape.kernel[0]; ++d)
      for (int64_t h = 0; h < shape.kernel[1]; ++h)
        for (int64_t w = 0; w < shape.kernel[2]; ++w)
          numbers.push_back(
              phased.offset({d * shape.dilations[0], h * shape.dilations[1],
                             w * shape.dilations[2]}));
    offsets = code.table(numbers);
    sums = code.allocate(blockTiles * tile.rows * tile.columns(),
                         arithmetic.accumulator);
  }
  void emitTask(Value index);
  int64_t rows() const { return shape.xChannels * shape.taps(); }
  int64_t countBlocks() const {
    return llvm::divideCeil(llvm::divideCeil(rows(), tile.rows), blockTiles);
  }
  int64_t panels() const {
    return llvm::divideCeil(shape.yChannels, tile.columns());
  }

private:
  /// A part of the depth: images and rows of windows.
  struct Windows {
    Value firstImage, endImage, firstRow, endRow;
  };
  struct Place {
    Value group, block, panel;
    /// Channels of y in the panel.
    int64_t width;
  };
  void emitColumns(const Place &place);
  void forEachTile(
      const Place &place,
      llvm::function_ref<void(Value row, Value inBlock, int64_t rows)> body);
  void addToSums(const Place &place, const Windows &windows, Value row,
                 Value inBlock, int64_t rows);
  SmallVector<Value> emitWindowRow(const Place &place, ArrayRef<Value> starts,
                                   Value image, Value windowRow,
                                   ValueRange sums);
  void storeSums(const Place &place, Value row, Value inBlock, int64_t rows);
  Value sumPointer(Value row, int64_t column) {
    return code.at(sums, code.add(code.mul(row, tile.columns()), column),
                   arithmetic.accumulator);
  }

  Code &code;
  const Arithmetic &arithmetic;
  const ConvShape &shape;
  const PhasedPlanes &phased;
  RegisterTile tile;
  int64_t blockTiles;
  Type result;
  Value planes, gradient, weights, offsets, sums;
};

} // namespace

/// Adds the windows of one row: their planes and panels are contiguous.
SmallVector<Value> WeightPrinter::emitWindowRow(const Place &place,
                                                ArrayRef<Value> starts,
                                                Value image, Value windowRow,
                                                ValueRange sums) {
  int64_t vectors = llvm::divideCeil(place.width, lanes);
  Type unit = arithmetic.unit;
  Value d = code.div(windowRow, shape.y[1]),
        h = code.rem(windowRow, shape.y[1]);
  Value inPlane =
      code.mul(code.add(code.mul(d, phased.extents[1]), h), phased.extents[2]);
  int64_t channels = shape.groups * shape.xChannels;
  Value offset =
      code.add(code.mul(image, channels * phased.planeSize()), inPlane);
  SmallVector<Value> rows;
  for (Value start : starts)
    rows.push_back(code.at(start, offset, unit));
  Value batch = code.add(code.mul(image, shape.groups), place.group);
  Value panel = code.add(code.mul(batch, panels()), place.panel);
  Value firstWindow = code.add(code.mul(panel, volume(shape.y)),
                               code.mul(windowRow, shape.y[2]));
  Value vectorRow =
      code.at(gradient, code.mul(firstWindow, tile.columns()), unit);
  return code.loop(
      code.number(0), code.number(shape.y[2]), 1, sums,
      [&](Value window, ValueRange carried) {
        Value from = code.at(vectorRow, code.mul(window, tile.columns()), unit);
        SmallVector<Value> loaded;
        for (int64_t j = 0; j < vectors; ++j)
          loaded.push_back(
              code.loadVector(code.at(from, j * lanes, unit), unit));
        return emitOuterProduct(
            code, {int64_t(rows.size()), vectors},
            [&](int64_t i) {
              return code.load(code.at(rows[i], window, unit), unit);
            },
            loaded, carried);
      });
}

void WeightPrinter::addToSums(const Place &place, const Windows &windows,
                              Value row, Value inBlock, int64_t rows) {
  int64_t vectors = llvm::divideCeil(place.width, lanes);
  Type sumType = arithmetic.accumulator;
  SmallVector<Value> starts, values;
  for (int64_t i = 0; i < rows; ++i) {
    Value number = code.add(row, i);
    Value channel = code.add(code.mul(place.group, shape.xChannels),
                             code.div(number, shape.taps()));
    Value tap = code.rem(number, shape.taps());
    Value start = code.add(code.mul(channel, phased.planeSize()),
                           code.lookUp(offsets, tap));
    starts.push_back(code.at(planes, start, arithmetic.unit));
    for (int64_t j = 0; j < vectors; ++j)
      values.push_back(code.loadVector(
          sumPointer(code.add(inBlock, i), j * lanes), sumType));
  }
  values =
      code.loop(windows.firstImage, windows.endImage, 1, values,
                [&](Value image, ValueRange outer) {
                  return code.loop(windows.firstRow, windows.endRow, 1, outer,
                                   [&](Value windowRow, ValueRange carried) {
                                     return emitWindowRow(place, starts, image,
                                                          windowRow, carried);
                                   });
                });
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      code.store(values[i * vectors + j],
                 sumPointer(code.add(inBlock, i), j * lanes));
}

/// Neighbours in the tile are far apart in the weights: one element at a time.
void WeightPrinter::storeSums(const Place &place, Value row, Value inBlock,
                              int64_t rows) {
  Type sumType = arithmetic.accumulator;
  Value firstChannel = code.add(code.mul(place.group, shape.yChannels),
                                code.mul(place.panel, tile.columns()));
  Value zero = code.number(0);
  code.loop(zero, code.number(place.width), 1, [&](Value column) {
    Value channel = code.add(firstChannel, column);
    Value to = code.at(weights, code.add(code.mul(channel, this->rows()), row),
                       result);
    code.loop(zero, code.number(rows), 1, [&](Value i) {
      Value index =
          code.add(code.mul(code.add(inBlock, i), tile.columns()), column);
      Value sum = code.load(code.at(sums, index, sumType), sumType);
      code.store(code.convert(sum, result), code.at(to, i, result));
    });
  });
}

void WeightPrinter::forEachTile(
    const Place &place, llvm::function_ref<void(Value, Value, int64_t)> body) {
  int64_t whole = rows() / tile.rows, rest = rows() % tile.rows;
  Value first = code.mul(place.block, blockTiles);
  Value end = code.min(code.add(first, blockTiles), code.number(whole));
  auto inBlock = [&](Value number) {
    return code.mul(code.sub(number, first), tile.rows);
  };
  code.loop(first, end, 1, [&](Value number) {
    body(code.mul(number, tile.rows), inBlock(number), tile.rows);
  });
  if (rest != 0)
    code.branch(code.equals(place.block, countBlocks() - 1), [&] {
      Value number = code.number(whole);
      body(code.mul(number, tile.rows), inBlock(number), rest);
    });
}

void WeightPrinter::emitColumns(const Place &place) {
  Value zero = code.number(0);
  int64_t vectors = llvm::divideCeil(place.width, lanes);
  code.loop(zero, code.number(blockTiles * tile.rows), 1, [&](Value row) {
    for (int64_t j = 0; j < vectors; ++j)
      code.store(code.zeros(arithmetic.accumulator),
                 sumPointer(row, j * lanes));
  });
  int64_t windowRows = shape.y[0] * shape.y[1];
  int64_t rowStep = std::max<int64_t>(1, blockWindows / shape.y[2]);
  int64_t imageStep = std::max<int64_t>(1, blockWindows / volume(shape.y));
  Value images = code.number(shape.images), rowCount = code.number(windowRows);
  code.loop(zero, images, imageStep, [&](Value image) {
    code.loop(zero, rowCount, rowStep, [&](Value windowRow) {
      Windows windows{image, code.min(code.add(image, imageStep), images),
                      windowRow,
                      code.min(code.add(windowRow, rowStep), rowCount)};
      forEachTile(place, [&](Value row, Value inBlock, int64_t rows) {
        addToSums(place, windows, row, inBlock, rows);
      });
    });
  });
  forEachTile(place, [&](Value row, Value inBlock, int64_t rows) {
    storeSums(place, row, inBlock, rows);
  });
}

void WeightPrinter::emitTask(Value index) {
  Place place;
  place.block = code.rem(index, countBlocks());
  index = code.div(index, countBlocks());
  place.panel = code.rem(index, panels());
  place.group = code.div(index, panels());
  int64_t rest = shape.yChannels % tile.columns();
  code.splitLast(place.panel, panels(), rest != 0, [&](bool isLast) {
    place.width = isLast ? rest : tile.columns();
    emitColumns(place);
  });
}

void amp::cpu::addWeightProduct(KernelCalls &calls, KernelModule &kernels,
                                const Arithmetic &arithmetic,
                                const ConvShape &shape,
                                const PhasedPlanes &phased, RegisterTile tile,
                                Type result, KernelOperand planes,
                                KernelOperand gradient, KernelOperand weights) {
  int64_t tiles = llvm::divideCeil(shape.xChannels * shape.taps(), tile.rows);
  int64_t panels = llvm::divideCeil(shape.yChannels, tile.columns());
  int64_t blockTiles = std::max<int64_t>(1, blockRows / tile.rows);
  auto countTasks = [&]() -> int64_t {
    return shape.groups * panels * llvm::divideCeil(tiles, blockTiles);
  };
  while (blockTiles > 1 && countTasks() < wantedTiles)
    blockTiles = llvm::divideCeil(blockTiles, 2);
  std::string key =
      llvm::formatv("weight gradient {0} {1} {2}", spell(arithmetic.unit),
                    spell(result), shape.getKey());
  auto kernel = kernels.getOrCreate(
      key, "conv_weight_gradient", 3,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        WeightPrinter printer(code, arithmetic, shape, phased, tile, blockTiles,
                              result, buffers[0], buffers[1], buffers[2]);
        code.loop(lo, hi, 1, [&](Value index) { printer.emitTask(index); });
      });
  calls.calls.push_back(
      {kernel, {planes, gradient, weights}, countTasks(), /*grain=*/1});
}
