//===- TensorCoreKernel.cpp - Products of half types ----------------------===//
//
// A ring of tiles in shared memory, filled by asynchronous copies, read as
// fragments without bank conflicts, multiplied by mma.sync, sums in f32.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp::cuda;

/// Bytes of an f16 or bf16.
static constexpr int64_t halfBytes = 2;
/// Elements of a chunk.
static constexpr int64_t chunkElements = chunkBytes / halfBytes;
/// Rows, and columns, of a fragment pair; depth of one instruction.
static constexpr int64_t fragment = 16;

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

/// Brings tiles of one operand into shared memory.
class TensorCoreKernel::Copier {
public:
  virtual ~Copier() = default;
  /// Prints what stays the same. `x`, `k`: where the first tile begins.
  virtual void begin(KernelBuilder &b, Value base, Value x, Value k) = 0;
  /// Value that the main loop carries; null for none.
  virtual Value getState() const { return Value(); }
  virtual Value advance(KernelBuilder &b, Value state) { return state; }
  /// Starts copies into the tile at `shared`; or reads into registers what
  /// `finish` puts there.
  virtual SmallVector<Value> start(KernelBuilder &b, Value shared, Value k,
                                   Value state) = 0;
  virtual void finish(KernelBuilder &b, Value shared, ArrayRef<Value> values) {}
  virtual bool isAsync() const = 0;
};

/// Rows of memory that are aligned to 4 bytes or more.
class TensorCoreKernel::AsyncCopier final : public Copier {
public:
  AsyncCopier(const Operand &operand, const SharedTile &tile, int64_t tileX,
              int64_t tileK, int64_t threads, bool checkDepth, bool checkEdge)
      : operand(operand), tile(tile), tileK(tileK),
        unit(std::min(chunkBytes, operand.getAlignment(halfBytes))),
        unitsPerRow(tile.rowBytes / unit), rowStep(threads / unitsPerRow),
        count(llvm::divideCeil(tile.rows, rowStep)), checkDepth(checkDepth),
        checkX(checkEdge && operand.extent % tileX != 0) {}

  bool isAsync() const override { return true; }
  Value getState() const override { return source; }

  void begin(KernelBuilder &b, Value base, Value x, Value k) override {
    Value thread = b.thread();
    Value number = b.rem(thread, unitsPerRow);
    row = b.div(thread, unitsPerRow);
    position = b.mul(number, unit / halfBytes);
    int64_t length = operand.rowLength() * halfBytes;
    Value line = operand.depthFirst ? k : x, along = operand.depthFirst ? x : k;
    Value origin = b.address(line, length, b.address(along, halfBytes));
    Value own = b.add(b.mul(row, length), b.mul(position, halfBytes));
    source = b.at(b.at(base, origin), own);
    for (int64_t i = 0; i < count; ++i) {
      Value at = b.add(row, i * rowStep);
      Value chunk = b.div(number, chunkBytes / unit);
      Value inChunk = b.mul(b.rem(number, chunkBytes / unit), unit);
      // Beyond a period of the swizzle only the row changes.
      bool repeats = i > 0 && rowStep % tile.period() == 0;
      targets.push_back(
          repeats ? b.add(targets.front(), i * rowStep * tile.rowBytes)
                  : b.add(b.swizzle(tile, at, chunk), inChunk));
      if (checkX && (i == 0 || !operand.depthFirst))
        inside.push_back(b.less(b.add(x, operand.depthFirst ? position : at),
                                operand.extent));
    }
  }

  Value advance(KernelBuilder &b, Value state) override {
    int64_t length = operand.rowLength() * halfBytes;
    return b.at(state, tileK * (operand.depthFirst ? length : halfBytes));
  }

  SmallVector<Value> start(KernelBuilder &b, Value shared, Value k,
                           Value state) override {
    for (int64_t i = 0; i < count; ++i) {
      Value at = b.add(row, i * rowStep);
      Value ok;
      if (checkX)
        ok = inside[operand.depthFirst ? 0 : i];
      if (checkDepth)
        ok = b.both(ok, b.less(b.add(k, operand.depthFirst ? at : position),
                               operand.depth));
      bool isRagged = (i + 1) * rowStep > tile.rows;
      b.onlyIf(isRagged ? b.less(at, tile.rows) : Value(), [&] {
        Value from = b.at(state, i * rowStep * operand.rowLength() * halfBytes);
        b.copyAsync(b.at(shared, targets[i]), from, unit, ok);
      });
    }
    return {};
  }

private:
  const Operand &operand;
  const SharedTile &tile;
  int64_t tileK, unit, unitsPerRow, rowStep, count;
  bool checkDepth, checkX;
  Value row, position, source;
  SmallVector<Value> targets, inside;
};

/// Anything else, through registers.
class TensorCoreKernel::RegisterCopier final : public Copier {
public:
  RegisterCopier(const Operand &operand, const SharedTile &tile, Type element,
                 int64_t tileX, int64_t tileK, int64_t threads)
      : reader(operand, element, tileX, tileK, chunkElements, threads),
        tile(tile), element(element) {}

  bool isAsync() const override { return false; }
  void begin(KernelBuilder &b, Value base, Value x, Value k) override {
    reader.begin(b, base, x);
  }
  SmallVector<Value> start(KernelBuilder &b, Value, Value k, Value) override {
    return reader.read(b, k);
  }
  void finish(KernelBuilder &b, Value shared, ArrayRef<Value> values) override {
    auto type = VectorType::get({chunkElements}, element);
    for (int64_t i = 0; i < reader.getCount(); ++i) {
      Value chunk = LLVM::PoisonOp::create(b, type);
      for (int64_t e = 0; e < chunkElements; ++e)
        chunk = LLVM::InsertElementOp::create(
            b, chunk, values[i * chunkElements + e], b.i32(e));
      Value row = reader.getRow(b, i);
      b.onlyIf(reader.isRagged() ? b.less(row, tile.rows) : Value(), [&] {
        Value where = b.swizzle(tile, row, reader.getUnit());
        b.store(chunk, b.at(shared, where), chunkBytes);
      });
    }
  }

private:
  UnitReader reader;
  const SharedTile &tile;
  Type element;
};

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static SharedTile makeTile(const Operand &operand, int64_t tileX,
                           int64_t tileK) {
  return operand.depthFirst ? SharedTile{tileK, tileX * halfBytes}
                            : SharedTile{tileX, tileK * halfBytes};
}

TensorCoreKernel::TensorCoreKernel(const Product &product, const Tiling &tiling,
                                   Sabotage sabotage)
    : ProductKernel(product, tiling), sabotage(sabotage),
      aTile(makeTile(product.a, tiling.blockM, tiling.blockK)),
      bTile(makeTile(product.b, tiling.blockN, tiling.blockK)) {
  aTile.isSwizzled = bTile.isSwizzled = sabotage != Sabotage::Swizzle;
}

int64_t TensorCoreKernel::getThreads() const {
  return tiling.getUnits() * warpSize;
}

int64_t TensorCoreKernel::getSharedBytes() const {
  int64_t ring = tiling.stages * stageBytes();
  return isStaged() ? std::max(ring, tiling.blockM * tiling.blockN * halfBytes)
                    : ring;
}

std::unique_ptr<TensorCoreKernel::Copier>
TensorCoreKernel::makeCopier(const Operand &operand, const SharedTile &tile,
                             int64_t tileX) {
  if (operand.isDense() && operand.getAlignment(halfBytes) >= 4)
    return std::make_unique<AsyncCopier>(operand, tile, tileX, tiling.blockK,
                                         getThreads(), isRaggedK(),
                                         sabotage != Sabotage::Edge);
  return std::make_unique<RegisterCopier>(operand, tile, product.element, tileX,
                                          tiling.blockK, getThreads());
}

/// Offset in the stage of the row that this lane names for the 16 x 16 block at
/// (`inner`, `depth`) of the warp's part. Of a (rows of the result) the low
/// lanes walk along x, of b along k, where the operand lies as the instruction
/// wants it.
Value TensorCoreKernel::getFragmentOffset(KernelBuilder &b, bool isA,
                                          int64_t inner, int64_t depth) {
  const Operand &operand = isA ? product.a : product.b;
  const SharedTile &tile = isA ? aTile : bTile;
  Value x = b.add(
      isA ? b.mul(warpM, tiling.innerM) : b.mul(warpN, tiling.innerN), inner);
  bool isPlain = isA != operand.depthFirst;
  Value high = b.div(lane, 16);
  Value row = isPlain ? b.rem(lane, 16) : b.add(b.rem(lane, 8), b.mul(high, 8));
  Value chunk = isPlain ? high : b.rem(b.div(lane, 8), 2);
  row = operand.depthFirst ? b.add(row, depth) : b.add(row, x);
  chunk = operand.depthFirst ? b.add(chunk, b.div(x, chunkElements))
                             : b.add(chunk, depth / chunkElements);
  return b.add(b.swizzle(tile, row, chunk), isA ? 0 : aTile.bytes());
}

/// Adds the products of the tiles at offset `stage` to the sums.
void TensorCoreKernel::printTile(KernelBuilder &b, Value stage,
                                 MutableArrayRef<Value> sums) {
  int64_t tilesM = tiling.innerM / fragment, pairsN = tiling.innerN / fragment;
  using Fragment = std::array<Value, 4>;
  for (int64_t depth = 0; depth < tiling.blockK; depth += fragment) {
    auto load = [&](bool isA, int64_t index) {
      Value offset = getFragmentOffset(b, isA, index * fragment, depth);
      const Operand &operand = isA ? product.a : product.b;
      return b.loadMatrices(b.at(shared, b.add(stage, offset)),
                            operand.depthFirst);
    };
    SmallVector<Fragment> as, bs;
    for (int64_t i = 0; i < tilesM; ++i)
      as.push_back(load(true, i));
    for (int64_t i = 0; i < pairsN; ++i)
      bs.push_back(load(false, i));
    for (int64_t i = 0; i < tilesM; ++i)
      for (int64_t j = 0; j < 2 * pairsN; ++j)
        b.multiplyAdd(sums.slice((i * 2 * pairsN + j) * 4, 4), as[i],
                      ArrayRef(bs[j / 2]).slice(j % 2 * 2, 2), product.element);
  }
}

SmallVector<Value> TensorCoreKernel::printMainLoop(KernelBuilder &b) {
  int64_t steps = countSteps(), stages = tiling.stages;
  std::unique_ptr<Copier> copiers[2] = {
      makeCopier(product.a, aTile, tiling.blockM),
      makeCopier(product.b, bTile, tiling.blockN)};
  copiers[0]->begin(b, a, row0, depth0);
  copiers[1]->begin(b, this->b, column0, depth0);
  auto tileAt = [&](int64_t which, Value stage) {
    return b.at(shared, b.add(stage, which ? aTile.bytes() : 0));
  };
  // State of copiers, read and write offset, sums.
  SmallVector<Value> carried;
  for (auto &copier : copiers)
    carried.push_back(copier->getState());
  auto advance = [&](MutableArrayRef<Value> states) {
    for (int64_t which = 0; which < 2; ++which)
      if (states[which])
        states[which] = copiers[which]->advance(b, states[which]);
  };
  for (int64_t s = 0; s < stages - 1; ++s) {
    Value stage = b.i32(s * stageBytes());
    Value k = b.add(depth0, s * tiling.blockK);
    for (int64_t which = 0; which < 2 && s < steps; ++which) {
      Value tile = tileAt(which, stage);
      copiers[which]->finish(b, tile,
                             copiers[which]->start(b, tile, k, carried[which]));
    }
    b.commitCopies();
    advance(carried);
  }
  // Loops carry no null values: those without state carry an index.
  bool hasState[2] = {bool(carried[0]), bool(carried[1])};
  for (int64_t which = 0; which < 2; ++which)
    if (!hasState[which])
      carried[which] = b.i32(0);
  carried.push_back(b.i32(0));
  carried.push_back(b.i32((stages - 1) * stageBytes()));
  carried.append(tiling.innerM * tiling.innerN / warpSize, b.f32(0));
  SmallVector<Value> results = b.loop(
      b.i32(0), b.i32(steps), 1, carried,
      [&](Value step, ArrayRef<Value> current) {
        SmallVector<Value> next(current);
        int64_t pending = stages - (sabotage == Sabotage::Wait ? 1 : 2);
        b.waitForCopies(pending);
        if (sabotage != Sabotage::Barrier)
          b.barrier();
        Value read = current[2], write = current[3];
        Value ahead = b.add(step, stages - 1);
        Value k = b.add(depth0, b.mul(ahead, tiling.blockK));
        SmallVector<Value> registers[2];
        for (int64_t which = 0; which < 2; ++which) {
          auto start = [&] {
            registers[which] = copiers[which]->start(b, tileAt(which, write), k,
                                                     current[which]);
          };
          // Registers are read from valid memory always.
          if (copiers[which]->isAsync())
            b.onlyIf(b.less(ahead, steps), start);
          else
            start();
        }
        b.commitCopies();
        printTile(b, read, MutableArrayRef(next).drop_front(4));
        for (int64_t which = 0; which < 2; ++which) {
          copiers[which]->finish(b, tileAt(which, write), registers[which]);
          if (hasState[which])
            next[which] = copiers[which]->advance(b, current[which]);
        }
        for (int64_t i = 2; i < 4; ++i) {
          Value moved = b.add(current[i], stageBytes());
          next[i] =
              b.select(b.less(moved, stages * stageBytes()), moved, b.i32(0));
        }
        return next;
      });
  return SmallVector<Value>(ArrayRef(results).drop_front(4));
}

void TensorCoreKernel::print(KernelBuilder &b, ValueRange buffers) {
  locate(b, buffers);
  shared = b.shared();
  lane = b.lane();
  Value warp = b.div(b.thread(), warpSize);
  warpM = b.rem(warp, tiling.blockM / tiling.innerM);
  warpN = b.div(warp, tiling.blockM / tiling.innerM);
  SmallVector<Value> sums = printMainLoop(b);
  isStaged() ? writeStaged(b, sums) : writeDirectly(b, sums);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Whether rows of results pass through shared memory so that every thread
/// writes a whole chunk: of narrow results in aligned rows.
bool TensorCoreKernel::isStaged() const {
  return !isSplit() && product.result.getIntOrFloatBitWidth() == 16 &&
         product.to.getVector(chunkElements) == chunkElements &&
         product.n % chunkElements == 0;
}

/// A lane has two neighbouring columns of rows `lane / 4` and 8 further down.
void TensorCoreKernel::writeDirectly(KernelBuilder &b, ArrayRef<Value> sums) {
  int64_t tilesM = tiling.innerM / fragment, tilesN = tiling.innerN / 8;
  int64_t vector = to.getVector(2);
  Value row = b.add(b.add(row0, b.mul(warpM, tiling.innerM)), b.div(lane, 4));
  Value column = b.add(b.add(column0, b.mul(warpN, tiling.innerN)),
                       b.mul(b.rem(lane, 4), 2));
  for (int64_t i = 0; i < tilesM; ++i)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t j = 0; j < tilesN; ++j)
        for (int64_t first = 0; first < 2; first += vector) {
          Value r = b.add(row, i * fragment + half * 8);
          Value c = b.add(column, j * 8 + first);
          writeSums(b,
                    sums.slice((i * tilesN + j) * 4 + half * 2 + first, vector),
                    r, c, isInside(b, r, c));
        }
}

void TensorCoreKernel::writeStaged(KernelBuilder &b, ArrayRef<Value> sums) {
  int64_t tilesM = tiling.innerM / fragment, tilesN = tiling.innerN / 8;
  SharedTile tile{tiling.innerM, tiling.innerN * halfBytes};
  // The ring is read and written to its end.
  b.waitForCopies(0);
  b.barrier();
  Value warp = b.div(b.thread(), warpSize);
  Value own = b.at(shared, b.mul(warp, tile.bytes()));
  Value row = b.div(lane, 4), word = b.mul(b.rem(lane, 4), 2 * halfBytes);
  Value firstRow = b.add(row0, b.mul(warpM, tiling.innerM));
  Value firstColumn = b.add(column0, b.mul(warpN, tiling.innerN));
  auto pair = VectorType::get({2}, product.result);
  for (int64_t i = 0; i < tilesM; ++i)
    for (int64_t half = 0; half < 2; ++half) {
      Value r = b.add(row, i * fragment + half * 8);
      Value bias = loadBias(b, b.add(firstRow, r));
      for (int64_t j = 0; j < tilesN; ++j) {
        ArrayRef<Value> two = sums.slice((i * tilesN + j) * 4 + half * 2, 2);
        Value numbers = LLVM::PoisonOp::create(b, pair);
        for (int64_t e = 0; e < 2; ++e)
          numbers = LLVM::InsertElementOp::create(
              b, numbers, finish(b, two[e], bias), b.i32(e));
        Value where = b.add(b.swizzle(tile, r, b.i32(j)), word);
        b.store(numbers, b.at(own, where), 2 * halfBytes);
      }
    }
  b.warpBarrier();
  int64_t chunks = tile.chunksPerRow();
  auto type = VectorType::get({chunkElements}, product.result);
  for (int64_t i = 0; i < tile.rows * chunks / warpSize; ++i) {
    Value number = b.add(lane, i * warpSize);
    Value r = b.div(number, chunks), chunk = b.rem(number, chunks);
    Value numbers =
        b.load(b.at(own, b.swizzle(tile, r, chunk)), type, chunkBytes);
    r = b.add(firstRow, r);
    Value c = b.add(firstColumn, b.mul(chunk, chunkElements));
    b.onlyIf(isInside(b, r, c), [&] {
      Value offset = to.getOffset(b, r, c);
      b.store(numbers, b.at(result, b.address(offset, halfBytes)), chunkBytes);
    });
  }
}
