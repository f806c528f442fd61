//===- RowsKernel.cpp - Elementwise groups with reductions of rows --------===//
//
// A warp or a block for each row. Short rows stay in registers from the first
// stage to the last; of long ones each stage reads again, and what was dear to
// compute lies in shared memory, where every thread finds its own columns.
//
//===----------------------------------------------------------------------===//

#include "Codegen/Cpu/RowStages.h"
#include "GroupKernels.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

/// Vectors of a row that one thread keeps in registers, at most.
static constexpr int64_t maxPieces = 4;
/// Elements that one thread keeps in registers, of all operands.
static constexpr int64_t maxElements = 96;
static constexpr int64_t warpsOfRows = 4;
static constexpr int64_t minThreads = 128, maxThreads = 512;
/// Shared memory for values of a row that are needed again.
static constexpr int64_t maxKeptBytes = 96 * 1024;

namespace {

class RowsPrinter {
public:
  RowsPrinter(cpu::GroupCode &code);

  int64_t getRows() const { return code.getOuterCount(); }
  int64_t getGrid() const { return llvm::divideCeil(getRows(), rowsPerBlock); }
  int64_t getThreads() const { return threads * rowsPerBlock; }
  int64_t getSharedBytes() const { return cellsBytes() + keptBytes(); }
  void print(KernelBuilder &b, ValueRange buffers);
  SmallVector<int64_t> getDetail() const {
    return {width, threads, rowsPerBlock, inRegisters};
  }

private:
  using Values = SmallVector<Value>;

  static Type typeOf(Operation *op) {
    return cpu::getComputeType(
        getElementTypeOrSelf(op->getResult(0).getType()));
  }
  int64_t cellsBytes() const {
    return llvm::alignTo(numReductions * getCellBytes(threads), chunkBytes);
  }
  int64_t keptBytes() const;
  void chooseThreads();
  void printRow(KernelBuilder &b);
  Values printStage(KernelBuilder &b, const cpu::RowStage &stage,
                    ArrayRef<cpu::Accumulation> reductions);
  Values printPieces(KernelBuilder &b, const cpu::RowStage &stage,
                     ArrayRef<cpu::Accumulation> reductions);
  Values printLoop(KernelBuilder &b, const cpu::RowStage &stage,
                   ArrayRef<cpu::Accumulation> reductions);
  Values printColumns(KernelBuilder &b, const cpu::RowStage &stage,
                      cpu::PointValues &values, Value column, Value exists);
  void printRowValues(KernelBuilder &b, unsigned ready);
  void storeRowOutputs(KernelBuilder &b);
  int64_t getPieceBytes(Operation *op) const;
  Value getKeptCell(KernelBuilder &b, Operation *op, Value column,
                    int64_t piece);
  Value loadKept(KernelBuilder &b, Operation *op, Value column);
  void storeKept(KernelBuilder &b, Operation *op, Value column, Value value);

  cpu::GroupCode &code;
  const plan::Group &group;
  int64_t n, width, vectors, numReductions = 0;
  /// Threads of a row.
  int64_t threads = warpSize, rowsPerBlock = 1, pieces = 1;
  bool inRegisters = true;
  std::optional<cpu::RowStages> stages;

  // While a row is printed.
  std::optional<cpu::Emitter> vector, single;
  Value lane, shared, cells;
  SmallVector<Value> outer;
  cpu::PointValues row;
  /// Of each piece.
  SmallVector<cpu::PointValues> known;
  /// Numbers with one value a row that were stored in outputs.
  int64_t printedReductions = 0;
};

} // namespace

RowsPrinter::RowsPrinter(cpu::GroupCode &code)
    : code(code), group(code.getGroup()), n(code.getInnerSize()),
      width(chooseWidth(code)), vectors(n / width) {
  for (Operation *op : group.ops)
    numReductions += plan::getReduction(op).has_value();
  chooseThreads();
  stages.emplace(group, n, inRegisters ? INT64_MAX : maxKeptBytes);
  // All that is kept must fit.
  if (!inRegisters && keptBytes() > maxKeptBytes)
    stages.emplace(group, n, /*maxBytes=*/0);
}

void RowsPrinter::chooseThreads() {
  int64_t perThread = maxElements / std::max<int64_t>(1, code.countSequences());
  int64_t most = std::clamp<int64_t>(perThread / width, 1, maxPieces);
  if (vectors <= most * warpSize) {
    rowsPerBlock = std::min<int64_t>(warpsOfRows, getRows());
    pieces = llvm::divideCeil(vectors, warpSize);
    return;
  }
  threads = minThreads;
  while (threads < maxThreads && vectors > most * threads)
    threads *= 2;
  pieces = llvm::divideCeil(vectors, threads);
  inRegisters = pieces <= most;
}

int64_t RowsPrinter::keptBytes() const {
  if (inRegisters)
    return 0;
  int64_t bytes = 0;
  for (Operation *op : stages->getKept())
    bytes += llvm::alignTo(n * cpu::getStorageBytes(typeOf(op)), chunkBytes);
  return bytes;
}

/// Where shared memory holds piece `piece` of what `op` gave for the vector at
/// `column` (i64). Pieces of a chunk lie beside those of the neighbours, so
/// that no bank is met twice.
Value RowsPrinter::getKeptCell(KernelBuilder &b, Operation *op, Value column,
                               int64_t piece) {
  int64_t offset = cellsBytes();
  for (Operation *other : stages->getKept()) {
    if (other == op)
      break;
    offset +=
        llvm::alignTo(n * cpu::getStorageBytes(typeOf(other)), chunkBytes);
  }
  Value index = arith::TruncIOp::create(b, b.getI32Type(), column);
  int64_t bytes = getPieceBytes(op);
  Value where = b.mul(b.div(index, width), bytes);
  return b.at(shared, b.add(where, offset + piece * vectors * bytes));
}

int64_t RowsPrinter::getPieceBytes(Operation *op) const {
  return std::min(width * cpu::getStorageBytes(typeOf(op)), chunkBytes);
}

Value RowsPrinter::loadKept(KernelBuilder &b, Operation *op, Value column) {
  int64_t size = getPieceBytes(op) / cpu::getStorageBytes(typeOf(op));
  auto load = [&](int64_t piece) {
    cpu::Emitter e = makeEmitter(b, size);
    return e.load(getKeptCell(b, op, column, piece), e.i64(0), typeOf(op),
                  getPieceBytes(op));
  };
  Value whole = load(0);
  for (int64_t piece = 1; piece < width / size; ++piece)
    whole = vector::ShuffleOp::create(
        b, whole, load(piece),
        llvm::to_vector(llvm::seq<int64_t>((piece + 1) * size)));
  return whole;
}

void RowsPrinter::storeKept(KernelBuilder &b, Operation *op, Value column,
                            Value value) {
  int64_t size = getPieceBytes(op) / cpu::getStorageBytes(typeOf(op));
  value = vector->broadcast(value);
  for (int64_t piece = 0; piece < width / size; ++piece) {
    cpu::Emitter e = makeEmitter(b, size);
    Value part = value;
    if (size < width)
      part = vector::ShuffleOp::create(
          b, value, value,
          llvm::to_vector(llvm::seq(piece * size, (piece + 1) * size)));
    e.store(part, getKeptCell(b, op, column, piece), e.i64(0), typeOf(op),
            getPieceBytes(op));
  }
}

/// The operands of the stage's reductions at `column`; stores where `exists`.
RowsPrinter::Values RowsPrinter::printColumns(KernelBuilder &b,
                                              const cpu::RowStage &stage,
                                              cpu::PointValues &values,
                                              Value column, Value exists) {
  cpu::Emitter &e = *vector;
  SmallVector<Value> point(outer);
  point.push_back(column);
  for (auto [value, number] : row.members)
    values.members[value] = number;
  auto isInShared = [&](Operation *op) {
    return !inRegisters && llvm::is_contained(stages->getKept(), op);
  };
  if (!inRegisters)
    for (Operation *op : stage.reloads)
      values.members[op->getResult(0)] =
          isInShared(op) ? loadKept(b, op, column)
                         : code.loadOutput(e, op->getResult(0), point);
  for (Operation *op : stage.ops)
    if (!values.members.count(op->getResult(0)))
      code.emitOp(e, op, point, values);
  Values reduced;
  for (Operation *op : stage.reductions)
    reduced.push_back(
        e.broadcast(code.getOperand(e, op, op->getOperand(0), point, values)));
  b.onlyIf(exists, [&] {
    for (Operation *op : stage.stores) {
      Value value = values.members.lookup(op->getResult(0));
      if (isInShared(op))
        storeKept(b, op, column, value);
      if (stages->isOutput(op))
        code.storeOutput(e, op->getResult(0), value, point);
    }
  });
  return reduced;
}

/// Every piece of the row, one after the other; what was read and computed
/// before is still there.
RowsPrinter::Values
RowsPrinter::printPieces(KernelBuilder &b, const cpu::RowStage &stage,
                         ArrayRef<cpu::Accumulation> reductions) {
  cpu::Emitter &e = *vector;
  Values sums;
  for (const cpu::Accumulation &reduction : reductions)
    sums.push_back(e.broadcast(reduction.getInit(e)));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    Value number = b.add(lane, piece * threads), exists;
    if ((piece + 1) * threads > vectors) {
      exists = b.less(number, vectors);
      // What does not exist is read at the row's end, and not counted.
      number = b.min(number, vectors - 1);
    }
    Value column = b.widen(b.mul(number, width));
    Values reduced = printColumns(b, stage, known[piece], column, exists);
    for (auto [i, reduction] : llvm::enumerate(reductions)) {
      Value next = reduction.combine(e, sums[i], reduced[i]);
      sums[i] = exists ? b.select(exists, next, sums[i]) : next;
    }
  }
  return sums;
}

RowsPrinter::Values
RowsPrinter::printLoop(KernelBuilder &b, const cpu::RowStage &stage,
                       ArrayRef<cpu::Accumulation> reductions) {
  cpu::Emitter &e = *vector;
  Values sums;
  for (const cpu::Accumulation &reduction : reductions)
    sums.push_back(e.broadcast(reduction.getInit(e)));
  return b.loop(lane, b.i32(vectors), threads, sums,
                [&](Value number, ArrayRef<Value> current) {
                  cpu::PointValues values;
                  Value column = b.widen(b.mul(number, width));
                  Values next = printColumns(b, stage, values, column, Value());
                  for (auto [i, reduction] : llvm::enumerate(reductions))
                    next[i] = reduction.combine(e, current[i], next[i]);
                  return next;
                });
}

/// One value for each reduction, in every thread.
RowsPrinter::Values
RowsPrinter::printStage(KernelBuilder &b, const cpu::RowStage &stage,
                        ArrayRef<cpu::Accumulation> reductions) {
  Values sums = inRegisters ? printPieces(b, stage, reductions)
                            : printLoop(b, stage, reductions);
  for (auto [i, reduction] : llvm::enumerate(reductions)) {
    Value sum = reduction.acrossLanes(*vector, sums[i]);
    // Every reduction has cells of its own, so that one barrier is enough.
    Value own;
    if (int64_t bytes = getCellBytes(threads))
      own = b.at(cells, printedReductions++ * bytes);
    sums[i] = combineThreads(b, *single, reduction, sum, threads, own);
  }
  return sums;
}

/// Computes the members with one value a row that are ready for stage `ready`.
void RowsPrinter::printRowValues(KernelBuilder &b, unsigned ready) {
  SmallVector<Value> point(outer);
  point.push_back(b.i64(0));
  for (Operation *op : group.ops)
    if (stages->isRowLevel(op) && stages->getStage(op) == ready &&
        !plan::getReduction(op))
      code.emitOp(*single, op, point, row);
}

/// One thread stores what a row has one of, after all threads have read what it
/// may overwrite.
void RowsPrinter::storeRowOutputs(KernelBuilder &b) {
  SmallVector<Operation *> outputs;
  for (Operation *op : group.ops)
    if (stages->isRowLevel(op) && stages->isOutput(op))
      outputs.push_back(op);
  if (outputs.empty())
    return;
  threads > warpSize ? b.barrier() : b.warpBarrier();
  SmallVector<Value> point(outer);
  point.push_back(b.i64(0));
  b.onlyIf(b.equals(lane, 0), [&] {
    for (Operation *op : outputs)
      code.storeOutput(*single, op->getResult(0),
                       row.members.lookup(op->getResult(0)), point);
  });
}

void RowsPrinter::printRow(KernelBuilder &b) {
  known.resize(pieces);
  printRowValues(b, 0);
  for (auto [index, stage] : llvm::enumerate(stages->getStages())) {
    SmallVector<cpu::Accumulation> reductions(stage.reductions.begin(),
                                              stage.reductions.end());
    Values results = printStage(b, stage, reductions);
    for (auto [reduction, result] : llvm::zip(reductions, results))
      row.members[reduction.getOp()->getResult(0)] =
          reduction.finish(*single, result);
    printRowValues(b, index + 1);
  }
  storeRowOutputs(b);
}

void RowsPrinter::print(KernelBuilder &b, ValueRange buffers) {
  code.setBuffers(buffers);
  vector.emplace(makeEmitter(b, width));
  single.emplace(makeEmitter(b, 1));
  if (getSharedBytes())
    cells = shared = b.shared();
  lane = b.rem(b.thread(), threads);
  Value number =
      b.add(b.mul(b.block(), rowsPerBlock), b.div(b.thread(), threads));
  bool isRagged = getRows() % rowsPerBlock != 0;
  b.onlyIf(isRagged ? b.less(number, getRows()) : Value(), [&] {
    outer = b.delinearize(number, code.getSizes().drop_back());
    for (Value &index : outer)
      index = b.widen(index);
    printRow(b);
  });
}

KernelLaunches amp::cuda::emitRowsKernel(const plan::Group &group,
                                         KernelModule &kernels,
                                         StorageOf storageOf) {
  SmallVector<int64_t> kinds(group.space.size() - group.numInner, 0);
  kinds.append(group.numInner, cpu::innerKind);
  cpu::GroupCode code(group, kinds, storageOf);
  // Columns are one loop.
  if (llvm::count(code.getKinds(), cpu::innerKind) != 1)
    return {};
  RowsPrinter printer(code);
  KernelLaunches result;
  result.launches.push_back(makeGroupLaunch(
      code, "rows", printer.getDetail(), printer.getGrid(),
      printer.getThreads(), printer.getSharedBytes(), code.getOperands(),
      kernels, [&](KernelBuilder &b, ValueRange buffers) {
        printer.print(b, buffers);
      }));
  return result;
}
