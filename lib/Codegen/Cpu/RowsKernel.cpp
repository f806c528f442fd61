//===- RowsKernel.cpp - Elementwise groups with reductions of rows --------===//
//
// One row at a time, in stages: each stage is a pass over the columns that ends
// in reductions, which the next stage may read. What a later stage needs again
// is kept in a row buffer if it was dear, or computed again.
//
//===----------------------------------------------------------------------===//

#include "GroupCode.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

/// Work of computing a value again, in additions, above which it is kept.
constexpr int64_t recomputeCost = 8;
/// Bytes of a row buffer; longer rows compute everything again.
constexpr int64_t maxBufferBytes = 64 * 1024;
/// Elements that one piece of work should have at least.
constexpr int64_t pieceElements = 4096;

struct Stage {
  /// Members to compute for each column, in order.
  SmallVector<Operation *> ops;
  SmallVector<Operation *> reductions;
  /// Members whose value is stored: outputs, and what later stages load.
  SmallVector<Operation *> stores;
  /// Members that are read from where an earlier stage stored them.
  SmallVector<Operation *> reloads;
};

class RowsPrinter {
public:
  RowsPrinter(GroupCode &code, const plan::Group &group);

  void print(ImplicitLocOpBuilder &b, Value lo, Value hi);
  int64_t getGrain() const {
    return std::max<int64_t>(1, pieceElements /
                                    std::max<int64_t>(1, code.getInnerSize()));
  }

private:
  bool isReduction(Operation *op) const {
    return plan::getReduction(op).has_value();
  }
  bool isOutput(Operation *op) const {
    return llvm::is_contained(group.outputs, op->getResult(0));
  }
  void findStages();
  void fillStage(unsigned index);
  bool isKept(Operation *op) const;
  void allocateBuffers(Emitter &e);
  void printRow(Emitter &vector, Emitter &scalar, ArrayRef<Value> outer);
  SmallVector<Value> printColumn(Emitter &e, const Stage &stage,
                                 ArrayRef<Value> outer, Value j,
                                 const PointValues &row);
  void printRowValues(Emitter &e, unsigned ready, ArrayRef<Value> outer,
                      PointValues &row);

  GroupCode &code;
  const plan::Group &group;
  /// Members with one value a row.
  llvm::SmallPtrSet<Operation *, 16> rowLevel;
  /// The stage a member is computed in; for one with a value a row: the stage
  /// it is ready for.
  DenseMap<Operation *, unsigned> stageOf;
  DenseMap<Operation *, int64_t> costOf;
  SmallVector<Stage> stages;
  llvm::SmallSetVector<Operation *, 8> kept;
  DenseMap<Operation *, Value> buffers;
};

} // namespace

/// Work of one operation, in additions.
static int64_t getCost(Operation *op) {
  return llvm::StringSwitch<int64_t>(onnx::getOpType(op))
      .Cases({"Exp", "Log", "Sigmoid", "Tanh", "Erf", "Sin", "Cos"}, 20)
      .Case("Pow", 40)
      .Cases({"Div", "Sqrt", "Reciprocal", "Mod"}, 5)
      .Default(1);
}

RowsPrinter::RowsPrinter(GroupCode &code, const plan::Group &group)
    : code(code), group(group) {
  int64_t outerDims = group.space.size() - group.numInner;
  for (Operation *op : group.ops) {
    ArrayRef<int> dims = group.dims.find(op)->second;
    bool isFull = !isReduction(op) &&
                  (group.numInner == 0 || llvm::any_of(dims, [&](int dim) {
                     return dim >= outerDims;
                   }));
    if (!isFull)
      rowLevel.insert(op);
  }
  findStages();
}

void RowsPrinter::findStages() {
  unsigned numStages = 1;
  for (Operation *op : group.ops) {
    unsigned stage = 0;
    int64_t cost = getCost(op);
    for (Value operand : plan::getDataOperands(op))
      if (Operation *producer = group.getProducer(operand)) {
        stage = std::max(stage, stageOf[producer]);
        cost += rowLevel.contains(producer) ? 0 : costOf[producer];
      }
    costOf[op] = cost;
    bool isFull = !rowLevel.contains(op);
    stageOf[op] = isReduction(op) ? stage + 1 : stage;
    if (isFull || isReduction(op))
      numStages = std::max(numStages, stage + 1);
  }
  stages.resize(numStages);
  for (Operation *op : group.ops) {
    if (isReduction(op))
      stages[stageOf[op] - 1].reductions.push_back(op);
    else if (!rowLevel.contains(op) && isOutput(op))
      stages[stageOf[op]].stores.push_back(op);
  }
  for (unsigned index = numStages; index-- > 0;)
    fillStage(index);
}

/// Whether a later stage reads what an earlier one stored.
bool RowsPrinter::isKept(Operation *op) const {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  int64_t bytes =
      code.getInnerSize() * getStorageBytes(getComputeType(element));
  return costOf.lookup(op) > recomputeCost && bytes <= maxBufferBytes;
}

/// What the stage must compute for its reductions and stores. What it wants of
/// an earlier stage's dear values becomes a store of that stage.
void RowsPrinter::fillStage(unsigned index) {
  Stage &stage = stages[index];
  llvm::SmallPtrSet<Operation *, 16> needed(stage.stores.begin(),
                                            stage.stores.end());
  auto need = [&](Operation *op) {
    for (Value operand : plan::getDataOperands(op))
      if (Operation *producer = group.getProducer(operand))
        if (!rowLevel.contains(producer))
          needed.insert(producer);
  };
  for (Operation *op : stage.reductions)
    need(op);
  for (Operation *op : llvm::reverse(group.ops)) {
    if (!needed.contains(op))
      continue;
    unsigned own = stageOf[op];
    if (own == index || !isKept(op)) {
      need(op);
      stage.ops.push_back(op);
      continue;
    }
    stage.reloads.push_back(op);
    if (!isOutput(op))
      kept.insert(op);
    if (!llvm::is_contained(stages[own].stores, op))
      stages[own].stores.push_back(op);
  }
  std::reverse(stage.ops.begin(), stage.ops.end());
}

void RowsPrinter::allocateBuffers(Emitter &e) {
  Type pointer = LLVM::LLVMPointerType::get(e.b().getContext());
  for (Operation *op : kept) {
    Type element =
        getComputeType(getElementTypeOrSelf(op->getResult(0).getType()));
    buffers[op] = LLVM::AllocaOp::create(
        e.b(), pointer, getStorageType(element),
        LLVM::ConstantOp::create(e.b(), e.b().getI64Type(),
                                 e.b().getI64IntegerAttr(code.getInnerSize())),
        /*alignment=*/64);
  }
}

SmallVector<Value> RowsPrinter::printColumn(Emitter &e, const Stage &stage,
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
    if (isOutput(op))
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
    if (!rowLevel.contains(op) || stageOf[op] != ready)
      continue;
    if (!isReduction(op))
      code.emitOp(e, op, point, row);
    if (isOutput(op))
      code.storeOutput(e, op->getResult(0),
                       row.members.lookup(op->getResult(0)), point);
  }
}

void RowsPrinter::printRow(Emitter &vector, Emitter &scalar,
                           ArrayRef<Value> outer) {
  PointValues row;
  printRowValues(scalar, 0, outer, row);
  for (auto [index, stage] : llvm::enumerate(stages)) {
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
