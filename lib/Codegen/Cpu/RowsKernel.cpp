//===- RowsKernel.cpp - Elementwise groups with reductions of rows --------===//
//
// One row at a time, in stages: each stage is a pass over the columns that ends
// in reductions, which the next stage may read. What a later stage needs again
// is kept in a row buffer if it was dear, or computed again.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"
#include "RowStages.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

/// Bytes of a row buffer; longer rows compute everything again.
constexpr int64_t maxBufferBytes = 64 * 1024;
/// Elements that one piece of work should have at least.
constexpr int64_t pieceElements = 4096;

class RowsPrinter {
public:
  RowsPrinter(GroupCode &code, const plan::Group &group)
      : code(code), group(group),
        stages(group, code.getInnerSize(), maxBufferBytes) {}

  void print(ImplicitLocOpBuilder &b, Value lo, Value hi);
  int64_t getGrain() const {
    return std::max<int64_t>(1, pieceElements /
                                    std::max<int64_t>(1, code.getInnerSize()));
  }

private:
  void allocateBuffers(Emitter &e);
  void printRow(Emitter &vector, Emitter &scalar, ArrayRef<Value> outer);
  SmallVector<Value> printColumn(Emitter &e, const RowStage &stage,
                                 ArrayRef<Value> outer, Value j,
                                 const PointValues &row);
  void printRowValues(Emitter &e, unsigned ready, ArrayRef<Value> outer,
                      PointValues &row);

  GroupCode &code;
  const plan::Group &group;
  RowStages stages;
  DenseMap<Operation *, Value> buffers;
};

} // namespace

void RowsPrinter::allocateBuffers(Emitter &e) {
  Type pointer = LLVM::LLVMPointerType::get(e.b().getContext());
  for (Operation *op : stages.getKept()) {
    Type element =
        getComputeType(getElementTypeOrSelf(op->getResult(0).getType()));
    buffers[op] = LLVM::AllocaOp::create(
        e.b(), pointer, getStorageType(element),
        LLVM::ConstantOp::create(e.b(), e.b().getI64Type(),
                                 e.b().getI64IntegerAttr(code.getInnerSize())),
        /*alignment=*/64);
  }
}

SmallVector<Value> RowsPrinter::printColumn(Emitter &e, const RowStage &stage,
                                            ArrayRef<Value> outer, Value j,
                                            const PointValues &row) {
  SmallVector<Value> point(outer);
  point.push_back(j);
  PointValues values;
  values.members = row.members;
  auto typeOf = [](Operation *op) {
    return getComputeType(getElementTypeOrSelf(op->getResult(0).getType()));
  };
  for (Operation *op : stage.reloads)
    values.members[op->getResult(0)] =
        buffers.count(op) ? e.load(buffers[op], j, typeOf(op))
                          : code.loadOutput(e, op->getResult(0), point);
  for (Operation *op : stage.ops)
    code.emitOp(e, op, point, values);
  SmallVector<Value> reduced;
  for (Operation *op : stage.reductions)
    reduced.push_back(code.getOperand(e, op, op->getOperand(0), point, values));
  for (Operation *op : stage.stores) {
    Value value = values.members.lookup(op->getResult(0));
    if (buffers.count(op))
      e.store(value, buffers[op], j, typeOf(op));
    if (stages.isOutput(op))
      code.storeOutput(e, op->getResult(0), value, point);
  }
  return reduced;
}

/// Computes the members with one value a row that are ready for stage `ready`.
void RowsPrinter::printRowValues(Emitter &e, unsigned ready,
                                 ArrayRef<Value> outer, PointValues &row) {
  SmallVector<Value> point(outer);
  point.push_back(e.i64(0));
  for (Operation *op : group.ops) {
    if (!stages.isRowLevel(op) || stages.getStage(op) != ready)
      continue;
    if (!plan::getReduction(op))
      code.emitOp(e, op, point, row);
    if (stages.isOutput(op))
      code.storeOutput(e, op->getResult(0),
                       row.members.lookup(op->getResult(0)), point);
  }
}

void RowsPrinter::printRow(Emitter &vector, Emitter &scalar,
                           ArrayRef<Value> outer) {
  PointValues row;
  printRowValues(scalar, 0, outer, row);
  for (auto [index, stage] : llvm::enumerate(stages.getStages())) {
    SmallVector<Accumulation> reductions(stage.reductions.begin(),
                                         stage.reductions.end());
    ColumnReducer reducer(vector, code.getInnerSize(), reductions);
    SmallVector<Value> results = reducer.finish(
        reducer.run(reducer.getInit(), [&, &stage = stage](Value j) {
          return printColumn(vector, stage, outer, j, row);
        }));
    for (auto [reduction, result] : llvm::zip(reductions, results))
      row.members[reduction.getOp()->getResult(0)] =
          reduction.finish(scalar, result);
    printRowValues(scalar, index + 1, outer, row);
  }
}

void RowsPrinter::print(ImplicitLocOpBuilder &b, Value lo, Value hi) {
  Emitter vector(b, /*isVector=*/code.getInnerSize() >= 4);
  Emitter scalar(b, /*isVector=*/false);
  allocateBuffers(scalar);
  emitLoop(b, lo, hi, 1, [&](Value iteration) {
    SmallVector<Value> outer =
        delinearize(scalar, iteration, code.getSizes().drop_back());
    printRow(vector, scalar, outer);
  });
}

KernelCalls amp::cpu::emitRowsKernel(const plan::Group &group,
                                     KernelModule &kernels,
                                     StorageOf storageOf) {
  SmallVector<int64_t> kinds(group.space.size() - group.numInner, 0);
  kinds.append(group.numInner, innerKind);
  GroupCode code(group, kinds, storageOf);
  RowsPrinter printer(code, group);
  KernelCalls result;
  result.calls.push_back(code.makeCall(
      kernels, "rows", code.getOuterCount(), printer.getGrain(),
      [&](ImplicitLocOpBuilder &b, ValueRange buffers, Value lo, Value hi) {
        code.setBuffers(buffers);
        printer.print(b, lo, hi);
      }));
  return result;
}
