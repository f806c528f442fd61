//===- ReduceKernel.cpp - Reductions over any dimensions ------------------===//
//
// Lanes run along the innermost dimension, whether it is kept or reduced. A
// result of few elements is added up in blocks of fixed size, whose partial
// results a second kernel combines in order.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

/// Elements that a block combines, about.
constexpr int64_t blockElements = 16384;
/// With this many independent pieces no blocks are needed.
constexpr int64_t enoughPieces = 16;
/// Vectors of kept columns that are walked together.
constexpr int64_t columnVectors = 4;

class ReducePrinter {
public:
  ReducePrinter(GroupCode &code);

  int64_t getIterations() const { return getKeptPieces() * blocks; }
  int64_t getGrain() const;
  int64_t getBlocks() const { return blocks; }
  int64_t getKeptCount() const { return keptCount; }
  const Accumulation &getReduction() const { return reduction; }
  void print(ImplicitLocOpBuilder &b, ValueRange buffers, Value lo, Value hi);

private:
  using Point = SmallVector<Value>;
  using Values = SmallVector<Value>;
  using Nest = function_ref<Values(Point &, Values)>;

  bool isInnerReduced() const { return code.getKinds().back() == innerKind; }
  int64_t getKeptPieces() const {
    return isInnerReduced() ? keptCount : keptCount / n * columnPieces;
  }
  void chooseBlocks();
  void printReducedInner(Emitter &e, Point &point, Value kept, Value block);
  void printKeptInner(Emitter &e, Point &point, Value piece, Value block,
                      Value keptOuter, int64_t width);
  Values nest(Emitter &e, Point &point, size_t which, Value block,
              Values carried, Nest body);
  Value evaluate(Emitter &e, const Point &point);
  void finish(Emitter &e, Value value, const Point &point, Value block,
              Value keptIndex);

  GroupCode &code;
  Accumulation reduction;
  /// Loops of the space that are kept, and reduced, without a kept innermost.
  SmallVector<size_t> keptLoops, reducedLoops;
  int64_t n, keptCount = 1, columnPieces = 1;
  /// The first reduced loop is cut into `blocks` of `blockSize`.
  int64_t blocks = 1, blockSize = 0;
  Value partials;
};

} // namespace

ReducePrinter::ReducePrinter(GroupCode &code)
    : code(code), reduction(code.getGroup().ops.back()),
      n(code.getInnerSize()) {
  size_t count = code.getSizes().size();
  for (size_t d = 0; d < count; ++d) {
    if (code.getKinds()[d] == innerKind)
      reducedLoops.push_back(d);
    else if (d + 1 < count)
      keptLoops.push_back(d);
    if (code.getKinds()[d] != innerKind)
      keptCount *= code.getSizes()[d];
  }
  if (!isInnerReduced())
    columnPieces = llvm::divideCeil(n, columnVectors * lanes);
  chooseBlocks();
}

void ReducePrinter::chooseBlocks() {
  if (reducedLoops.empty() || keptCount == 0)
    return;
  int64_t total = 1;
  for (size_t d : reducedLoops)
    total *= code.getSizes()[d];
  int64_t size = code.getSizes()[reducedLoops.front()];
  int64_t perPiece =
      isInnerReduced() ? total : total * std::min(n, columnVectors * lanes);
  if (getKeptPieces() >= enoughPieces || perPiece < 2 * blockElements ||
      size < 2)
    return;
  blockSize = std::max<int64_t>(1, blockElements / (perPiece / size));
  // Whole vectors in every block but the last.
  if (reducedLoops.size() == 1 && isInnerReduced())
    blockSize = llvm::alignTo(blockSize, 4 * lanes);
  if (blockSize < size)
    blocks = llvm::divideCeil(size, blockSize);
}

int64_t ReducePrinter::getGrain() const {
  int64_t work = 1;
  for (size_t d : reducedLoops)
    work *= code.getSizes()[d];
  work = work * (isInnerReduced() ? 1 : columnVectors * lanes) / blocks;
  return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, work));
}

/// The reduction's operand at a point.
Value ReducePrinter::evaluate(Emitter &e, const Point &point) {
  PointValues values;
  for (Operation *op : ArrayRef(code.getGroup().ops).drop_back())
    code.emitOp(e, op, point, values);
  Operation *op = reduction.getOp();
  return code.getOperand(e, op, op->getOperand(0), point, values);
}

/// Walks the reduced loops from number `which` on, except an innermost one
/// that lanes run along; the first of them over `block` only.
ReducePrinter::Values ReducePrinter::nest(Emitter &e, Point &point,
                                          size_t which, Value block,
                                          Values carried, Nest body) {
  size_t count = reducedLoops.size() - (isInnerReduced() ? 1 : 0);
  if (which == count)
    return body(point, carried);
  size_t loop = reducedLoops[which];
  Value lo = e.i64(0), hi = e.i64(code.getSizes()[loop]);
  if (which == 0 && blocks > 1) {
    lo = e.muli(block, e.i64(blockSize));
    hi = e.binary<arith::MinSIOp>(e.addi(lo, e.i64(blockSize)), hi);
  }
  return emitCarryingLoop(
      e.b(), lo, hi, 1, carried, [&](Value index, Values inner) {
        point[loop] = index;
        return nest(e, point, which + 1, block, inner, body);
      });
}

void ReducePrinter::finish(Emitter &e, Value value, const Point &point,
                           Value block, Value keptIndex) {
  Operation *op = reduction.getOp();
  if (blocks == 1) {
    code.storeOutput(e, op->getResult(0), reduction.finish(e, value), point);
    return;
  }
  Type element =
      getComputeType(getElementTypeOrSelf(op->getOperand(0).getType()));
  Value address = e.addi(e.muli(block, e.i64(keptCount)), keptIndex);
  e.store(value, partials, address, element);
}

void ReducePrinter::printReducedInner(Emitter &e, Point &point, Value kept,
                                      Value block) {
  size_t inner = code.getSizes().size() - 1;
  bool isCut = blocks > 1 && reducedLoops.size() == 1;
  auto printRange = [&](Value base, int64_t length) {
    ColumnReducer reducer(e, length, reduction);
    Values sums = nest(e, point, 0, block, reducer.getInit(),
                       [&](Point &at, Values carried) {
                         return reducer.run(carried, [&](Value j) {
                           at[inner] = base ? e.addi(base, j) : j;
                           return Values{evaluate(e, at)};
                         });
                       });
    // Reduced loops do not move the result.
    for (size_t d : reducedLoops)
      point[d] = e.i64(0);
    Emitter scalar(e.b(), /*isVector=*/false);
    finish(scalar, reducer.finish(sums).front(), point, block, kept);
  };
  if (!isCut)
    return printRange(Value(), n);
  Value base = e.muli(block, e.i64(blockSize));
  int64_t last = n - (blocks - 1) * blockSize;
  if (last == blockSize)
    return printRange(base, blockSize);
  Value isLast = e.cmpi(arith::CmpIPredicate::eq, block, e.i64(blocks - 1));
  auto branch = scf::IfOp::create(e.b(), isLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(e.b());
  e.b().setInsertionPointToStart(branch.thenBlock());
  printRange(base, last);
  e.b().setInsertionPointToStart(branch.elseBlock());
  printRange(base, blockSize);
}

/// `width` columns from those of `piece` on.
void ReducePrinter::printKeptInner(Emitter &e, Point &point, Value piece,
                                   Value block, Value keptOuter,
                                   int64_t width) {
  size_t inner = code.getSizes().size() - 1;
  int64_t step = e.vector() ? lanes : 1;
  int64_t vectors = llvm::divideCeil(width, step);
  Value base = e.muli(piece, e.i64(columnVectors * lanes));
  auto atVector = [&](int64_t v) {
    e.setMask(e.vector() ? std::min(lanes, width - v * step) : lanes);
    return v ? e.addi(base, e.i64(v * step)) : base;
  };
  Values sums(vectors, e.broadcast(reduction.getInit(e)));
  sums = nest(e, point, 0, block, sums, [&](Point &at, Values carried) {
    for (int64_t v = 0; v < vectors; ++v) {
      at[inner] = atVector(v);
      carried[v] =
          reduction.combine(e, carried[v], e.broadcast(evaluate(e, at)));
    }
    return carried;
  });
  for (size_t d : reducedLoops)
    point[d] = e.i64(0);
  for (int64_t v = 0; v < vectors; ++v) {
    point[inner] = atVector(v);
    Value index = e.addi(e.muli(keptOuter, e.i64(n)), point[inner]);
    finish(e, sums[v], point, block, index);
  }
  e.setMask(lanes);
}

void ReducePrinter::print(ImplicitLocOpBuilder &b, ValueRange buffers, Value lo,
                          Value hi) {
  if (blocks > 1) {
    partials = buffers.back();
    buffers = buffers.drop_back();
  }
  code.setBuffers(buffers);
  Emitter e(b, /*isVector=*/n >= 4);
  SmallVector<int64_t> sizes;
  for (size_t d : keptLoops)
    sizes.push_back(code.getSizes()[d]);
  emitLoop(b, lo, hi, 1, [&](Value iteration) {
    Value block = arith::RemUIOp::create(b, iteration, e.i64(blocks));
    Value rest = arith::DivUIOp::create(b, iteration, e.i64(blocks));
    Value piece = arith::RemUIOp::create(b, rest, e.i64(columnPieces));
    Value kept = arith::DivUIOp::create(b, rest, e.i64(columnPieces));
    Point point(code.getSizes().size(), e.i64(0));
    for (auto [d, index] : llvm::zip(keptLoops, delinearize(e, kept, sizes)))
      point[d] = index;
    if (isInnerReduced())
      return printReducedInner(e, point, kept, block);
    int64_t full = columnVectors * lanes;
    int64_t last = n - (columnPieces - 1) * full;
    if (last == full || columnPieces == 1)
      return printKeptInner(e, point, piece, block, kept, last);
    Value isLast =
        e.cmpi(arith::CmpIPredicate::eq, piece, e.i64(columnPieces - 1));
    auto branch = scf::IfOp::create(b, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    Point other = point;
    b.setInsertionPointToStart(branch.thenBlock());
    printKeptInner(e, point, piece, block, kept, last);
    b.setInsertionPointToStart(branch.elseBlock());
    printKeptInner(e, other, piece, block, kept, full);
  });
}

/// Adds up the partial results of all blocks, in their order.
static KernelCall combineBlocks(const ReducePrinter &printer,
                                KernelModule &kernels) {
  Operation *op = printer.getReduction().getOp();
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  Type resultType = getElementTypeOrSelf(op->getResult(0).getType());
  int64_t kept = printer.getKeptCount(), blocks = printer.getBlocks();
  std::string key;
  llvm::raw_string_ostream(key)
      << "combine " << op->getName() << ' ' << kept << ' ' << blocks << ' '
      << type << ' ' << resultType << ' '
      << plan::getNumElements(plan::getShape(op->getOperand(0)));
  auto print = [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value, Value) {
    const Accumulation &reduction = printer.getReduction();
    Emitter e(b, /*isVector=*/kept >= 4);
    emitColumns(e, kept, [&](Value j) {
      auto sums = emitCarryingLoop(
          b, e.i64(0), e.i64(blocks), 1, {e.broadcast(reduction.getInit(e))},
          [&](Value block, SmallVector<Value> carried) -> SmallVector<Value> {
            Value address = e.addi(e.muli(block, e.i64(kept)), j);
            Value part = e.load(buffers[0], address, getComputeType(type));
            return {reduction.combine(e, carried.front(), part)};
          });
      e.store(reduction.finish(e, sums.front()), buffers[1], j, resultType);
    });
  };
  func::FuncOp kernel = kernels.getOrCreate(key, "combine_blocks", 2, print);
  return {kernel, {KernelOperand::scratch(0), op->getResult(0)}, 1, 1};
}

KernelCalls amp::cpu::emitReduceKernel(const plan::Group &group,
                                       KernelModule &kernels,
                                       StorageOf storageOf) {
  Operation *op = group.ops.back();
  SmallVector<int64_t> kinds(group.space.size(), innerKind);
  for (int dim : group.dims.find(op)->second)
    if (dim >= 0)
      kinds[dim] = 0;
  GroupCode code(group, kinds, storageOf);
  ReducePrinter printer(code);
  KernelCall call;
  SmallVector<KernelOperand> operands = code.getOperands();
  bool isCut = printer.getBlocks() > 1;
  // The result is written by the second kernel then.
  if (isCut)
    operands.push_back(KernelOperand::scratch(0));
  call.kernel = kernels.getOrCreate(
      code.getKey("reduce"), code.getName(), operands.size(),
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo, Value hi) {
        printer.print(b, buffers, lo, hi);
      });
  call.operands = operands;
  call.iterations = printer.getIterations();
  call.grain = printer.getGrain();
  KernelCalls result;
  result.calls.push_back(call);
  if (isCut) {
    Type type =
        getComputeType(getElementTypeOrSelf(op->getOperand(0).getType()));
    result.scratch.push_back(printer.getKeptCount() * printer.getBlocks() *
                             getStorageBytes(type));
    result.calls.push_back(combineBlocks(printer, kernels));
  }
  return result;
}
