//===- Gemm.cpp - Matrix products: packs, blocks and tiles ----------------===//
//
// Parallel over tiles of the result only, so that no bit depends on threads.
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp::cpu;

/// Depth (in units) of the panels that should stay in the second-level cache.
/// Deeper products go block by block through sums in memory, which changes no
/// bit: an f32 stored and loaded is the same f32.
static constexpr int64_t blockUnits = 1024;
/// Rows that share a panel of b while it is in the cache.
static constexpr int64_t blockRows = 96;
/// With at most so many rows a panel of b serves one task only, which then
/// packs it for itself, into memory that stays in the cache.
static constexpr int64_t rowsOfOneTask = 192;
/// Tiles wanted at least, so that threads have something to share.
static constexpr int64_t wantedTiles = 16;
/// With fewer rows than this, b is read as it lies: packing reads it once, too.
static constexpr int64_t rowsWorthPacking = 13;

int64_t GemmProblem::countBatches() const {
  return llvm::product_of(batchShape);
}

namespace {

/// How the operands reach the micro-kernel, and how the result is cut.
struct GemmPlan {
  GemmProblem problem;
  Arithmetic arithmetic;
  RegisterTile tile;
  bool packA, packB;
  /// Whether panels of b are packed by the task that uses them.
  bool packInTask;
  PackedMatrix aPacked, bPacked;
  int64_t m, n, units;
  /// Register tiles below each other that one task computes.
  int64_t blockTiles;

  static GemmPlan get(const GemmProblem &problem, const CpuTarget &target);

  int64_t rowTiles() const { return llvm::divideCeil(m, tile.rows); }
  int64_t rowBlocks() const { return llvm::divideCeil(rowTiles(), blockTiles); }
  int64_t panels() const { return llvm::divideCeil(n, tile.columns()); }
  int64_t countTasks() const {
    return problem.countBatches() * panels() * rowBlocks();
  }
  int64_t unitsPerBlock() const { return packInTask ? packUnits : blockUnits; }
  bool isBlocked() const { return units > unitsPerBlock(); }
  UnitMatrix aLayout() const;
  UnitMatrix bLayout() const;
  std::string getKey() const;
};

/// Prints the kernel that computes tiles.
class TilePrinter {
public:
  TilePrinter(const GemmPlan &plan, Code &code, Value a, Value b, Value c)
      : plan(plan), code(code), a(a), b(b), c(c) {
    if (plan.packInTask)
      panel =
          code.allocate(std::min(plan.units, packUnits) * plan.tile.columns(),
                        plan.arithmetic.unit);
    if (plan.isBlocked())
      sums =
          code.allocate(plan.blockTiles * plan.tile.rows * plan.tile.columns(),
                        plan.arithmetic.accumulator);
  }
  void emitTask(Value index);

private:
  /// Columns of the task at hand: all of a panel, or the last one's rest.
  struct Columns {
    RegisterTile tile;
    int64_t lastCount;
  };
  /// Where a task reads and writes.
  struct Place {
    Value a, b, c, rowBlock;
    /// The first column: a row of b, which is packed in the task.
    Value column;
  };

  void packPanel(const Place &place, Value chunk);
  void emitColumns(const Place &place, const Columns &columns);
  void emitBlocked(const Place &place, const Columns &columns);
  void forEachTile(const Place &place,
                   llvm::function_ref<void(Value row, int64_t rows)> body);
  void emitTile(const Place &place, const Columns &columns, Value row,
                int64_t rows);
  void addToSums(const Place &place, const Columns &columns, Value row,
                 int64_t rows, Value unit, Value units);
  void storeSums(const Place &place, const Columns &columns, Value row,
                 int64_t rows);
  void storeRow(const Place &place, const Columns &columns, Value row,
                int64_t i, ArrayRef<Value> vectors);
  Value getBatch(Value index, ArrayRef<int64_t> strides);
  Value getPanelStart(Value batch, Value panel);
  Value sumPointer(Value row, int64_t i, int64_t vector);

  const GemmPlan &plan;
  Code &code;
  Value a, b, c, sums, panel;
};

} // namespace

/// Rows of a tensor that are read without a copy need units in memory: no type
/// to widen, no half pair at the end.
static bool canReadRows(const Arithmetic &arithmetic, const MatrixView &view) {
  return view.isDepthContiguous() && arithmetic.isDirect() &&
         view.depth % arithmetic.unitDepth == 0;
}

static bool canReadColumns(const Arithmetic &arithmetic,
                           const MatrixView &view) {
  return view.rowStride == 1 && arithmetic.isDirect() && !arithmetic.isPair();
}

GemmPlan GemmPlan::get(const GemmProblem &problem, const CpuTarget &target) {
  GemmPlan plan;
  plan.problem = problem;
  plan.arithmetic = Arithmetic::get(problem.source, target);
  plan.m = problem.a.rows;
  plan.n = problem.b.rows;
  plan.units = plan.arithmetic.countUnits(problem.a.depth);
  plan.tile = RegisterTile::get(plan.arithmetic, plan.m, plan.n, target);
  plan.packA = !canReadRows(plan.arithmetic, problem.a);
  plan.packB =
      plan.m >= rowsWorthPacking || !canReadColumns(plan.arithmetic, problem.b);
  plan.packInTask = false;
  plan.aPacked = PackedMatrix::paddedRows(plan.arithmetic, problem.a);
  plan.bPacked =
      PackedMatrix::panels(plan.arithmetic, problem.b, plan.tile.columns());
  plan.blockTiles = std::max<int64_t>(1, blockRows / plan.tile.rows);
  int64_t panelTasks = problem.countBatches() * plan.panels();
  if (plan.packB && plan.m <= rowsOfOneTask &&
      problem.b.batches == problem.countBatches() &&
      panelTasks >= wantedTiles / 2) {
    plan.packInTask = true;
    plan.blockTiles = plan.rowTiles();
    return plan;
  }
  while (plan.blockTiles > 1 && plan.countTasks() < wantedTiles)
    plan.blockTiles = llvm::divideCeil(plan.blockTiles, 2);
  return plan;
}

UnitMatrix GemmPlan::aLayout() const {
  if (packA)
    return {arithmetic.unit, aPacked.rowStride, 1};
  return {arithmetic.source, problem.a.rowStride, arithmetic.unitDepth};
}

UnitMatrix GemmPlan::bLayout() const {
  if (packB)
    return {arithmetic.unit, 1, bPacked.panelRows};
  return {arithmetic.source, 1, problem.b.depthStride};
}

std::string GemmPlan::getKey() const {
  std::string key;
  llvm::raw_string_ostream stream(key);
  stream << "gemm " << problem.source << " " << problem.result << " "
         << arithmetic.unit << " " << m << "x" << n << "x" << units << " "
         << tile.rows << "," << tile.vectors << "," << blockTiles << " a"
         << packA << "," << aLayout().rowStride << "," << problem.a.batchStride
         << " b" << packB << packInTask << "," << problem.b.rowStride << ","
         << bLayout().unitStride << "," << problem.b.batchStride << " ";
  llvm::interleaveComma(problem.batchShape, stream);
  stream << ";";
  llvm::interleaveComma(problem.aBatchStrides, stream);
  stream << ";";
  llvm::interleaveComma(problem.bBatchStrides, stream);
  return key;
}

/// The number of an operand's matrix for batch `index` of the result.
Value TilePrinter::getBatch(Value index, ArrayRef<int64_t> strides) {
  ArrayRef<int64_t> shape = plan.problem.batchShape;
  Value batch = code.number(0);
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    Value position = i == 0 ? index : code.rem(index, shape[i]);
    index = code.div(index, shape[i]);
    if (strides[i] != 0)
      batch = code.add(batch, code.mul(position, strides[i]));
  }
  return batch;
}

/// Where the panel starts; for one that is packed in the task, its matrix.
Value TilePrinter::getPanelStart(Value batch, Value panel) {
  const MatrixView &view = plan.problem.b;
  Value matrix = getBatch(batch, plan.problem.bBatchStrides);
  if (plan.packInTask)
    return code.at(b, code.mul(matrix, view.batchStride), plan.problem.source);
  int64_t columns = plan.tile.columns();
  int64_t stride = plan.packB ? plan.bPacked.batchStride : view.batchStride;
  int64_t panelStride = plan.packB ? columns * plan.units : columns;
  Value offset =
      code.add(code.mul(matrix, stride), code.mul(panel, panelStride));
  return code.at(b, offset, plan.bLayout().element);
}

void TilePrinter::emitTask(Value index) {
  const GemmProblem &problem = plan.problem;
  int64_t columns = plan.tile.columns();
  Place place;
  place.rowBlock = code.rem(index, plan.rowBlocks());
  index = code.div(index, plan.rowBlocks());
  Value panel = code.rem(index, plan.panels());
  Value batch = code.div(index, plan.panels());
  Value firstRow = code.mul(place.rowBlock, plan.blockTiles * plan.tile.rows);

  int64_t aBatch =
      plan.packA ? plan.aPacked.batchStride : problem.a.batchStride;
  Value aOffset =
      code.add(code.mul(getBatch(batch, problem.aBatchStrides), aBatch),
               code.mul(firstRow, plan.aLayout().rowStride));
  place.a = code.at(a, aOffset, plan.aLayout().element);
  place.column = code.mul(panel, columns);
  place.b = getPanelStart(batch, panel);
  Value row = code.add(code.mul(batch, plan.m), firstRow);
  place.c =
      code.at(c, code.add(code.mul(row, plan.n), code.mul(panel, columns)),
              problem.result);

  int64_t rest = plan.n % columns;
  code.splitLast(panel, plan.panels(), rest != 0, [&](bool isLast) {
    int64_t width = isLast ? rest : columns;
    int64_t vectors = llvm::divideCeil(width, lanes);
    Columns shape{{plan.tile.rows, vectors}, width - (vectors - 1) * lanes};
    if (plan.isBlocked())
      emitBlocked(place, shape);
    else
      emitColumns(place, shape);
  });
}

/// `body` for each register tile of the task; the rows left over at the bottom
/// of the matrix make one lower tile.
void TilePrinter::forEachTile(const Place &place,
                              llvm::function_ref<void(Value, int64_t)> body) {
  int64_t rows = plan.tile.rows, whole = plan.m / rows, rest = plan.m % rows;
  Value first = code.mul(place.rowBlock, plan.blockTiles);
  Value count = code.min(code.sub(code.number(whole), first),
                         code.number(plan.blockTiles));
  code.loop(code.number(0), count, 1,
            [&](Value tile) { body(code.mul(tile, rows), rows); });
  if (rest != 0)
    code.branch(code.equals(place.rowBlock, plan.rowBlocks() - 1),
                [&] { body(code.mul(count, rows), rest); });
}

void TilePrinter::storeRow(const Place &place, const Columns &columns,
                           Value row, int64_t i, ArrayRef<Value> vectors) {
  Value pointer =
      code.at(place.c, code.mul(code.add(row, i), plan.n), plan.problem.result);
  for (auto [j, vector] : llvm::enumerate(vectors)) {
    bool isLast = j + 1 == vectors.size();
    code.storeVector(code.convert(vector, plan.problem.result),
                     code.at(pointer, j * lanes, plan.problem.result),
                     isLast ? columns.lastCount : lanes);
  }
}

/// A packed panel is padded with zeros; rows of a tensor end where they end.
static int64_t lanesInMemory(bool packed, int64_t lastCount) {
  return packed ? lanes : lastCount;
}

void TilePrinter::emitTile(const Place &place, const Columns &columns,
                           Value row, int64_t rows) {
  int64_t vectors = columns.tile.vectors;
  Value aTile = code.at(place.a, code.mul(row, plan.aLayout().rowStride),
                        plan.aLayout().element);
  SmallVector<Value> zeros(rows * vectors,
                           code.zeros(plan.arithmetic.accumulator));
  SmallVector<Value> results = emitMicroKernel(
      code, plan.arithmetic, {rows, vectors}, aTile, plan.aLayout(),
      plan.packInTask ? panel : place.b, plan.bLayout(),
      lanesInMemory(plan.packB, columns.lastCount), code.number(plan.units),
      zeros);
  for (int64_t i = 0; i < rows; ++i)
    storeRow(place, columns, row, i,
             ArrayRef(results).slice(i * vectors, vectors));
}

void TilePrinter::packPanel(const Place &place, Value chunk) {
  emitPanelChunk(code, plan.arithmetic, plan.problem.b, plan.tile.columns(),
                 place.b, place.column, chunk, panel);
}

void TilePrinter::emitColumns(const Place &place, const Columns &columns) {
  if (plan.packInTask && plan.units != 0)
    packPanel(place, code.number(0));
  forEachTile(place, [&](Value row, int64_t rows) {
    emitTile(place, columns, row, rows);
  });
}

Value TilePrinter::sumPointer(Value row, int64_t i, int64_t vector) {
  Value index = code.mul(code.add(row, i), plan.tile.columns());
  return code.at(sums, code.add(index, vector * lanes),
                 plan.arithmetic.accumulator);
}

void TilePrinter::addToSums(const Place &place, const Columns &columns,
                            Value row, int64_t rows, Value unit, Value units) {
  int64_t vectors = columns.tile.vectors;
  UnitMatrix aLayout = plan.aLayout(), bLayout = plan.bLayout();
  Value aTile = code.at(place.a,
                        code.add(code.mul(row, aLayout.rowStride),
                                 code.mul(unit, aLayout.unitStride)),
                        aLayout.element);
  Value bBlock = panel;
  if (!plan.packInTask)
    bBlock =
        code.at(place.b, code.mul(unit, bLayout.unitStride), bLayout.element);
  SmallVector<Value> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      values.push_back(
          code.loadVector(sumPointer(row, i, j), plan.arithmetic.accumulator));
  values = emitMicroKernel(
      code, plan.arithmetic, {rows, vectors}, aTile, aLayout, bBlock, bLayout,
      lanesInMemory(plan.packB, columns.lastCount), units, values);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < vectors; ++j)
      code.store(values[i * vectors + j], sumPointer(row, i, j));
}

void TilePrinter::storeSums(const Place &place, const Columns &columns,
                            Value row, int64_t rows) {
  code.loop(code.number(0), code.number(rows), 1, [&](Value i) {
    Value sumRow = code.add(row, i);
    SmallVector<Value> vectors;
    for (int64_t j = 0; j < columns.tile.vectors; ++j)
      vectors.push_back(code.loadVector(sumPointer(sumRow, 0, j),
                                        plan.arithmetic.accumulator));
    storeRow(place, columns, sumRow, 0, vectors);
  });
}

void TilePrinter::emitBlocked(const Place &place, const Columns &columns) {
  Value zero = code.number(0);
  int64_t vectors = columns.tile.vectors;
  code.loop(zero, code.number(plan.blockTiles * plan.tile.rows), 1,
            [&](Value row) {
              for (int64_t j = 0; j < vectors; ++j)
                code.store(code.zeros(plan.arithmetic.accumulator),
                           sumPointer(row, 0, j));
            });
  code.loop(zero, code.number(plan.units), plan.unitsPerBlock(),
            [&](Value unit) {
              if (plan.packInTask)
                packPanel(place, code.div(unit, packUnits));
              Value units = code.min(code.sub(code.number(plan.units), unit),
                                     code.number(plan.unitsPerBlock()));
              forEachTile(place, [&](Value row, int64_t rows) {
                addToSums(place, columns, row, rows, unit, units);
              });
            });
  forEachTile(place, [&](Value row, int64_t rows) {
    storeSums(place, columns, row, rows);
  });
}

/// A batch of products with one common b is one product with more rows.
static void foldBatches(GemmProblem &problem) {
  bool dense = problem.a.rowStride == problem.a.depth || problem.a.rows == 1;
  if (problem.b.batches != 1 || !problem.a.isDepthContiguous() || !dense ||
      problem.a.batches != problem.countBatches())
    return;
  problem.a.rows *= problem.a.batches;
  problem.a.rowStride = problem.a.depth;
  problem.a.batches = 1;
  problem.batchShape.clear();
  problem.aBatchStrides.clear();
  problem.bBatchStrides.clear();
}

/// The result of a product with one column lies as that of one with one row
/// does; the many rows then fill the lanes.
static void preferRow(GemmProblem &problem, KernelOperand &a,
                      KernelOperand &b) {
  if (problem.b.rows != 1 || problem.a.rows == 1)
    return;
  std::swap(problem.a, problem.b);
  std::swap(problem.aBatchStrides, problem.bBatchStrides);
  std::swap(a, b);
}

KernelCalls amp::cpu::emitGemm(GemmProblem problem, KernelOperand a,
                               KernelOperand b, KernelOperand c,
                               const CpuTarget &target, KernelModule &kernels) {
  KernelCalls calls;
  if (problem.countBatches() == 0 || problem.a.rows == 0 || problem.b.rows == 0)
    return calls;
  foldBatches(problem);
  preferRow(problem, a, b);
  GemmPlan plan = GemmPlan::get(problem, target);
  if (plan.packA)
    a = addPack(calls, plan.arithmetic, problem.a, plan.aPacked, a, kernels);
  if (plan.packB && !plan.packInTask)
    b = addPack(calls, plan.arithmetic, problem.b, plan.bPacked, b, kernels);
  auto kernel = kernels.getOrCreate(
      plan.getKey(), "gemm", 3,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers, Value lo,
          Value hi) {
        Code code(builder);
        TilePrinter printer(plan, code, buffers[0], buffers[1], buffers[2]);
        code.loop(lo, hi, 1, [&](Value index) { printer.emitTask(index); });
      });
  int64_t products =
      plan.blockTiles * plan.tile.rows * plan.tile.columns() * plan.units;
  calls.calls.push_back(
      {kernel, {a, b, c}, plan.countTasks(), getGrain(products)});
  return calls;
}
