//===- RowStages.cpp - The passes over a row of a fused group -------------===//
//
// What is computed in which stage, and what is kept for later ones.
//
//===----------------------------------------------------------------------===//

#include "RowStages.h"
#include "Emitter.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

/// Work of computing a value again, in additions, above which it is kept.
static constexpr int64_t recomputeCost = 8;

/// Work of one operation, in additions.
static int64_t getCost(Operation *op) {
  return llvm::StringSwitch<int64_t>(onnx::getOpType(op))
      .Cases({"Exp", "Log", "Sigmoid", "Tanh", "Erf", "Sin", "Cos"}, 20)
      .Case("Pow", 40)
      .Cases({"Div", "Sqrt", "Reciprocal", "Mod"}, 5)
      .Default(1);
}

static bool isReduction(Operation *op) {
  return plan::getReduction(op).has_value();
}

RowStages::RowStages(const plan::Group &group, int64_t columns,
                     int64_t maxBytes)
    : group(group), columns(columns), maxBytes(maxBytes) {
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

void RowStages::findStages() {
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
bool RowStages::isKept(Operation *op) const {
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  int64_t bytes = columns * getStorageBytes(getComputeType(element));
  return costOf.lookup(op) > recomputeCost && bytes <= maxBytes;
}

/// What the stage must compute for its reductions and stores. What it wants of
/// an earlier stage's dear values becomes a store of that stage.
void RowStages::fillStage(unsigned index) {
  RowStage &stage = stages[index];
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
