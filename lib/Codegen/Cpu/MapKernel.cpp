//===- MapKernel.cpp - Elementwise groups ---------------------------------===//
//
// One pass over the space: load, compute in registers, store.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

/// Elements that one piece of work should have at least, and the length of the
/// pieces that a long row is cut into; a multiple of the lanes.
constexpr int64_t pieceElements = 4096;

class MapPrinter {
public:
  MapPrinter(GroupCode &code) : code(code), n(code.getInnerSize()) {
    chunks = n >= 2 * pieceElements ? llvm::divideCeil(n, pieceElements) : 1;
  }

  int64_t getIterations() const { return code.getOuterCount() * chunks; }
  int64_t getGrain() const {
    return chunks > 1 ? 1 : std::max<int64_t>(1, pieceElements / n);
  }
  void print(ImplicitLocOpBuilder &b, Value lo, Value hi);

private:
  void printPoint(Emitter &e, ArrayRef<Value> outer, Value j);
  void printChunk(Emitter &e, ArrayRef<Value> outer, Value chunk);

  GroupCode &code;
  int64_t n, chunks;
};

} // namespace

void MapPrinter::printPoint(Emitter &e, ArrayRef<Value> outer, Value j) {
  SmallVector<Value> point(outer);
  point.push_back(j);
  PointValues values;
  for (Operation *op : code.getGroup().ops)
    code.emitOp(e, op, point, values);
  // All loads come before all stores: a result may lie in an operand's memory.
  for (Value output : code.getGroup().outputs)
    code.storeOutput(e, output, values.members.lookup(output), point);
}

void MapPrinter::printChunk(Emitter &e, ArrayRef<Value> outer, Value chunk) {
  int64_t whole = n / lanes * lanes;
  Value begin = e.muli(chunk, e.i64(pieceElements));
  Value end = e.binary<arith::MinSIOp>(e.addi(begin, e.i64(pieceElements)),
                                       e.i64(whole));
  emitLoop(e.b(), begin, end, lanes, [&](Value j) { printPoint(e, outer, j); });
  if (whole == n)
    return;
  Value isLast = e.cmpi(arith::CmpIPredicate::eq, chunk, e.i64(chunks - 1));
  auto tail = scf::IfOp::create(e.b(), isLast);
  OpBuilder::InsertionGuard guard(e.b());
  e.b().setInsertionPointToStart(tail.thenBlock());
  e.setMask(n - whole);
  printPoint(e, outer, e.i64(whole));
  e.setMask(lanes);
}

void MapPrinter::print(ImplicitLocOpBuilder &b, Value lo, Value hi) {
  // Masked vectors do not pay for the shortest rows.
  Emitter e(b, /*isVector=*/n >= 4);
  emitLoop(b, lo, hi, 1, [&](Value iteration) {
    Value row = iteration, chunk;
    if (chunks > 1) {
      chunk = arith::RemUIOp::create(b, iteration, e.i64(chunks));
      row = arith::DivUIOp::create(b, iteration, e.i64(chunks));
    }
    SmallVector<Value> outer = delinearize(e, row, code.getSizes().drop_back());
    if (chunks > 1)
      printChunk(e, outer, chunk);
    else
      emitColumns(e, n, [&](Value j) { printPoint(e, outer, j); });
  });
}

KernelCalls amp::cpu::emitMapKernel(const plan::Group &group,
                                    KernelModule &kernels,
                                    StorageOf storageOf) {
  SmallVector<int64_t> kinds(group.space.size(), 0);
  GroupCode code(group, kinds, storageOf);
  MapPrinter printer(code);
  KernelCalls result;
  result.calls.push_back(code.makeCall(
      kernels, "map", printer.getIterations(), printer.getGrain(),
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo, Value hi) {
        code.setBuffers(buffers);
        printer.print(b, lo, hi);
      }));
  return result;
}
