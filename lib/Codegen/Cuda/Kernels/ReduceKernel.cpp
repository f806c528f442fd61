//===- ReduceKernel.cpp - Reductions over any dimensions ------------------===//
//
// Along the innermost dimension: a warp or a block for each result. Over other
// dimensions: a block for a strip of columns. Results that are too few to keep
// the machine busy are added up in parts, which a second kernel combines in
// order.
//
//===----------------------------------------------------------------------===//

#include "GroupKernels.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

/// Blocks that keep the machine busy.
static constexpr int64_t enoughBlocks = 264;
static constexpr int64_t blockThreads = 256;
/// Vectors that a thread has under way.
static constexpr int64_t unroll = 4;
/// Up to so many vectors are a warp's work.
static constexpr int64_t warpVectors = 8 * warpSize;

namespace {

class ReducePrinter {
public:
  ReducePrinter(cpu::GroupCode &code);

  bool isInnerReduced() const {
    return code.getKinds().back() == cpu::innerKind;
  }
  int64_t getSplits() const { return splits; }
  int64_t getKeptCount() const { return keptCount; }
  int64_t getThreads() const { return threadsX * threadsY * resultsPerBlock; }
  int64_t getGrid() const {
    return llvm::divideCeil(keptCount / keptWidth(), columnsPerBlock()) *
           splits;
  }
  int64_t getSharedBytes() const;
  const cpu::Accumulation &getReduction() const { return reduction; }
  SmallVector<int64_t> getDetail() const {
    return {width, threadsX, threadsY, resultsPerBlock, splits};
  }
  void print(KernelBuilder &b, ValueRange buffers);

private:
  using Values = SmallVector<Value>;

  /// Results that are neighbours in a vector.
  int64_t keptWidth() const { return isInnerReduced() ? 1 : width; }
  /// Results, or vectors of them, of one block.
  int64_t columnsPerBlock() const {
    return isInnerReduced() ? resultsPerBlock : threadsX;
  }
  Type sumType() const {
    return cpu::getComputeType(
        getElementTypeOrSelf(reduction.getOp()->getOperand(0).getType()));
  }
  void chooseInner();
  void chooseColumns();
  Value evaluate(KernelBuilder &b, ArrayRef<Value> kept, Value number);
  Value accumulate(KernelBuilder &b, ArrayRef<Value> kept, Value first,
                   Value end, int64_t step);
  void printInner(KernelBuilder &b, Value kept, Value split);
  void printColumns(KernelBuilder &b, Value kept, Value split, Value inside);
  void write(KernelBuilder &b, cpu::Emitter &e, Value value, Value kept,
             Value split);
  SmallVector<Value> getKeptPoint(KernelBuilder &b, Value kept);

  cpu::GroupCode &code;
  cpu::Accumulation reduction;
  /// Loops that are kept and that are reduced; the innermost counts vectors.
  SmallVector<size_t> keptLoops, reducedLoops;
  SmallVector<int64_t> keptSizes, reducedSizes;
  int64_t width, keptCount = 1, reducedCount = 1;
  int64_t threadsX = warpSize, threadsY = 1, resultsPerBlock = 1;
  int64_t splits = 1, perSplit = 0;

  std::optional<cpu::Emitter> vector, single;
  Value shared, partials;
};

} // namespace

ReducePrinter::ReducePrinter(cpu::GroupCode &code)
    : code(code), reduction(code.getGroup().ops.back()),
      width(chooseWidth(code)) {
  size_t count = code.getSizes().size();
  for (size_t d = 0; d < count; ++d) {
    int64_t size = code.getSizes()[d] / (d + 1 == count ? width : 1);
    bool isReduced = code.getKinds()[d] == cpu::innerKind;
    (isReduced ? reducedLoops : keptLoops).push_back(d);
    (isReduced ? reducedSizes : keptSizes).push_back(size);
    if (!isReduced)
      keptCount *= code.getSizes()[d];
    else
      reducedCount *= size;
  }
  isInnerReduced() ? chooseInner() : chooseColumns();
  perSplit = llvm::divideCeil(reducedCount, splits);
  splits = llvm::divideCeil(reducedCount, perSplit);
}

/// A warp for each of many short sums, a block for each of few long ones.
void ReducePrinter::chooseInner() {
  if (reducedCount <= warpVectors && keptCount > 1) {
    resultsPerBlock = std::min<int64_t>(4, keptCount);
    return;
  }
  threadsX = blockThreads;
  int64_t most = reducedCount / (blockThreads * unroll);
  splits = std::clamp<int64_t>(enoughBlocks / keptCount, 1,
                               std::max<int64_t>(1, most));
}

/// Up to a warp of vectors beside each other, and as many rows below them as
/// make a block.
void ReducePrinter::chooseColumns() {
  int64_t columns = keptSizes.back();
  threadsX = std::min<int64_t>(warpSize, llvm::PowerOf2Ceil(columns));
  threadsY = blockThreads / threadsX;
  while (threadsY > 1 && threadsY / 2 >= reducedCount)
    threadsY /= 2;
  int64_t blocks = llvm::divideCeil(keptCount / width, threadsX);
  int64_t most = reducedCount / (threadsY * unroll);
  splits =
      std::clamp<int64_t>(enoughBlocks / blocks, 1, std::max<int64_t>(1, most));
}

int64_t ReducePrinter::getSharedBytes() const {
  if (isInnerReduced())
    return getCellBytes(threadsX);
  if (threadsY == 1)
    return 0;
  return threadsX * threadsY * width *
         llvm::divideCeil(sumType().getIntOrFloatBitWidth(), 8);
}

/// i64 indices of all loops at result (or vector of results) `kept`; of the
/// reduced ones 0.
SmallVector<Value> ReducePrinter::getKeptPoint(KernelBuilder &b, Value kept) {
  SmallVector<Value> point(code.getSizes().size(), b.i64(0));
  SmallVector<Value> indices = keptLoops.empty()
                                   ? SmallVector<Value>()
                                   : findPoint(b, kept, keptSizes, keptWidth());
  for (auto [loop, index] : llvm::zip(keptLoops, indices))
    point[loop] = index;
  return point;
}

/// The reduction's operand for vector `number` of the reduced loops.
Value ReducePrinter::evaluate(KernelBuilder &b, ArrayRef<Value> kept,
                              Value number) {
  SmallVector<Value> point(kept);
  SmallVector<Value> indices =
      findPoint(b, number, reducedSizes, isInnerReduced() ? width : 1);
  for (auto [loop, index] : llvm::zip(reducedLoops, indices))
    point[loop] = index;
  cpu::PointValues values;
  for (Operation *op : ArrayRef(code.getGroup().ops).drop_back())
    code.emitOp(*vector, op, point, values);
  Operation *op = reduction.getOp();
  return vector->broadcast(
      code.getOperand(*vector, op, op->getOperand(0), point, values));
}

/// Combines the vectors first, first + step, ... below `end`: several at a time
/// in sums of their own, the rest one by one.
Value ReducePrinter::accumulate(KernelBuilder &b, ArrayRef<Value> kept,
                                Value first, Value end, int64_t step) {
  cpu::Emitter &e = *vector;
  Value init = e.broadcast(reduction.getInit(e));
  int64_t ahead = step * (unroll - 1);
  Values carried(unroll, init);
  // Not below zero: then there is no whole round.
  Value whole =
      b.select(b.less(b.i32(ahead), end), b.sub(end, b.i32(ahead)), b.i32(0));
  carried.push_back(first);
  carried =
      b.loop(first, whole, step * unroll, carried,
             [&](Value number, ArrayRef<Value> current) {
               Values next, values;
               for (int64_t u = 0; u < unroll; ++u)
                 values.push_back(evaluate(b, kept, b.add(number, u * step)));
               for (int64_t u = 0; u < unroll; ++u)
                 next.push_back(reduction.combine(e, current[u], values[u]));
               next.push_back(b.add(number, step * unroll));
               return next;
             });
  Value rest = carried.pop_back_val();
  for (int64_t size = unroll / 2; size > 0; size /= 2)
    for (int64_t u = 0; u < size; ++u)
      carried[u] = reduction.combine(e, carried[u], carried[u + size]);
  return b
      .loop(rest, end, step, {carried[0]},
            [&](Value number, ArrayRef<Value> current) -> Values {
              return {
                  reduction.combine(e, current[0], evaluate(b, kept, number))};
            })
      .front();
}

/// Stores results `kept` from `value`: rounded, or as the part of a split.
void ReducePrinter::write(KernelBuilder &b, cpu::Emitter &e, Value value,
                          Value kept, Value split) {
  Operation *op = reduction.getOp();
  if (!partials)
    return code.storeOutput(e, op->getResult(0), reduction.finish(e, value),
                            getKeptPoint(b, kept));
  Value index = b.add(b.mul(split, keptCount), b.mul(kept, keptWidth()));
  e.store(value, partials, b.widen(index), sumType(),
          e.getVectorAlignment(sumType(), keptCount));
}

void ReducePrinter::printInner(KernelBuilder &b, Value kept, Value split) {
  SmallVector<Value> point = getKeptPoint(b, kept);
  Value lane = b.rem(b.thread(), threadsX);
  Value begin = b.mul(split, perSplit);
  Value end = b.min(b.add(begin, perSplit), reducedCount);
  Value sum = accumulate(b, point, b.add(begin, lane), end, threadsX);
  sum = reduction.acrossLanes(*vector, sum);
  sum = combineThreads(b, *single, reduction, sum, threadsX, shared);
  b.onlyIf(b.equals(lane, 0), [&] { write(b, *single, sum, kept, split); });
}

/// Sums of one strip of rows after the other: the order is that of the rows'
/// threads.
void ReducePrinter::printColumns(KernelBuilder &b, Value kept, Value split,
                                 Value inside) {
  cpu::Emitter &e = *vector;
  Value x = b.rem(b.thread(), threadsX), y = b.div(b.thread(), threadsX);
  // Threads beyond the last column repeat it.
  if (inside)
    kept = b.min(kept, keptCount / width - 1);
  SmallVector<Value> point = getKeptPoint(b, kept);
  Value begin = b.mul(split, perSplit);
  Value end = b.min(b.add(begin, perSplit), reducedCount);
  Value sum = accumulate(b, point, b.add(begin, y), end, threadsY);
  Value isFirst = threadsY > 1 ? b.equals(y, 0) : Value();
  if (threadsY > 1) {
    int64_t bytes = getSharedBytes() / (threadsX * threadsY);
    int64_t alignment = std::min(bytes, chunkBytes);
    auto cell = [&](Value row) {
      return b.at(shared, b.mul(b.add(b.mul(row, threadsX), x), bytes));
    };
    b.store(sum, cell(y), alignment);
    b.barrier();
    b.onlyIf(isFirst, [&] {
      Value total = sum;
      for (int64_t row = 1; row < threadsY; ++row)
        total = reduction.combine(
            e, total, b.load(cell(b.i32(row)), sum.getType(), alignment));
      b.onlyIf(inside, [&] { write(b, e, total, kept, split); });
    });
    return;
  }
  b.onlyIf(inside, [&] { write(b, e, sum, kept, split); });
}

void ReducePrinter::print(KernelBuilder &b, ValueRange buffers) {
  if (splits > 1) {
    partials = buffers.back();
    buffers = buffers.drop_back();
  }
  code.setBuffers(buffers);
  vector.emplace(makeEmitter(b, width));
  single.emplace(makeEmitter(b, 1));
  if (getSharedBytes())
    shared = b.shared();
  Value split = b.rem(b.block(), splits), strip = b.div(b.block(), splits);
  Value column = isInnerReduced() ? b.div(b.thread(), threadsX)
                                  : b.rem(b.thread(), threadsX);
  Value kept = b.add(b.mul(strip, columnsPerBlock()), column);
  int64_t total = keptCount / keptWidth();
  Value inside = total % columnsPerBlock() ? b.less(kept, total) : Value();
  if (!isInnerReduced())
    return printColumns(b, kept, split, inside);
  // Warps as a whole, or the whole block.
  b.onlyIf(inside, [&] { printInner(b, kept, split); });
}

static constexpr int64_t combineThreadsOfBlock = 256;

/// Combines the parts of all splits, in their order.
static Launch combineSplits(const ReducePrinter &printer,
                            KernelModule &kernels) {
  const cpu::Accumulation &reduction = printer.getReduction();
  Operation *op = reduction.getOp();
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  Type resultType = getElementTypeOrSelf(op->getResult(0).getType());
  int64_t kept = printer.getKeptCount(), splits = printer.getSplits();
  int64_t threads =
      std::min<int64_t>(combineThreadsOfBlock, llvm::alignTo(kept, warpSize));
  std::string key;
  llvm::raw_string_ostream(key)
      << "cuda combine " << op->getName() << ' ' << kept << ' ' << splits << ' '
      << type << ' ' << resultType << ' '
      << plan::getNumElements(plan::getShape(op->getOperand(0)));
  Launch launch;
  launch.block = {threads, 1, 1};
  launch.grid = {int64_t(llvm::divideCeil(kept, threads)), 1, 1};
  launch.operands = {KernelOperand::scratch(0), op->getResult(0)};
  launch.kernel = kernels.getOrCreate(
      key, "combine_splits", 2, launch.block,
      [&](ImplicitLocOpBuilder &builder, ValueRange buffers) {
        KernelBuilder b(builder, kernels);
        cpu::Emitter e = makeEmitter(b, 1);
        Value number = b.add(b.mul(b.block(), threads), b.thread());
        b.onlyIf(kept % threads ? b.less(number, kept) : Value(), [&] {
          Value sum = reduction.getInit(e);
          SmallVector<Value> sums = b.loop(
              b.i32(0), b.i32(splits), 1, {sum},
              [&](Value split, ArrayRef<Value> current) -> SmallVector<Value> {
                Value index = b.add(b.mul(split, kept), number);
                Value part = e.load(buffers[0], b.widen(index),
                                    cpu::getComputeType(type));
                return {reduction.combine(e, current[0], part)};
              });
          e.store(reduction.finish(e, sums[0]), buffers[1], b.widen(number),
                  resultType);
        });
      });
  return launch;
}

KernelLaunches amp::cuda::emitReduceKernels(const plan::Group &group,
                                            KernelModule &kernels,
                                            StorageOf storageOf) {
  Operation *op = group.ops.back();
  SmallVector<int64_t> kinds(group.space.size(), cpu::innerKind);
  for (int dim : group.dims.find(op)->second)
    if (dim >= 0)
      kinds[dim] = 0;
  cpu::GroupCode code(group, kinds, storageOf);
  ReducePrinter printer(code);
  SmallVector<KernelOperand> operands = code.getOperands();
  bool isSplit = printer.getSplits() > 1;
  // The result is written by the second kernel then.
  if (isSplit)
    operands.push_back(KernelOperand::scratch(0));
  KernelLaunches result;
  result.launches.push_back(
      makeGroupLaunch(code, "reduce", printer.getDetail(), printer.getGrid(),
                      printer.getThreads(), printer.getSharedBytes(), operands,
                      kernels, [&](KernelBuilder &b, ValueRange buffers) {
                        printer.print(b, buffers);
                      }));
  if (!isSplit)
    return result;
  Type type =
      cpu::getComputeType(getElementTypeOrSelf(op->getOperand(0).getType()));
  result.scratch.push_back(printer.getKeptCount() * printer.getSplits() *
                           cpu::getStorageBytes(type));
  result.launches.push_back(combineSplits(printer, kernels));
  return result;
}
