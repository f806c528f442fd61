//===- Storage.cpp - The memory of a step's values ------------------------===//
//
// A result that is written over an argument is so at once when nothing reads
// the argument afterwards; else it is copied at the end.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Storage.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace amp;
using namespace amp::plan;

std::optional<unsigned> plan::getAliasedArgument(func::FuncOp function,
                                                 unsigned index) {
  auto alias = function.getResultAttrOfType<IntegerAttr>(
      index, train::TrainDialect::getAliasAttrName());
  if (!alias)
    return std::nullopt;
  return static_cast<unsigned>(alias.getInt());
}

StorageMap::StorageMap(func::FuncOp function, ArrayRef<Group> groups,
                       function_ref<int64_t(Type)> getBytes)
    : function(function), groups(groups), getBytes(getBytes) {
  for (auto [index, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      groupOf[op] = index;
  addValues();
  llvm::DenseSet<Value> taken;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    placeResult(i, taken);
  shareDyingInputs();
  std::stable_partition(copies.begin(), copies.end(),
                        [](const Copy &copy) { return copy.isFirst; });
}

unsigned StorageMap::add(Place place, unsigned index, Value value) {
  int64_t bytes = getNumElements(getShape(value)) *
                  getBytes(getElementTypeOrSelf(value.getType()));
  storages.push_back({place, index, value, bytes});
  return storages.size() - 1;
}

unsigned StorageMap::addSlot(int64_t bytes) {
  storages.push_back({Place::Arena, 0, Value(), bytes});
  return storages.size() - 1;
}

void StorageMap::addValues() {
  for (BlockArgument argument : function.getArguments())
    storageOf[argument] =
        add(Place::Argument, argument.getArgNumber(), argument);
  for (Operation &op : function.front().without_terminator()) {
    if (isConstant(&op))
      storageOf[op.getResult(0)] = add(Place::Constant, 0, op.getResult(0));
  }
  for (const Group &group : groups)
    for (Value output : group.outputs)
      storageOf[output] = add(Place::Arena, 0, output);
}

/// Whether every read of `input` in the group comes before the write of the
/// same element of `output`.
bool StorageMap::readsInPlace(const Group &group, Value output,
                              Value input) const {
  if (group.kind != GroupKind::Map)
    return false;
  Access write = getAccess(group, output.getDefiningOp(), output);
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (getStorage(operand) == getStorage(input) &&
          !group.getProducer(operand) &&
          !(getAccess(group, op, operand) == write))
        return false;
  return true;
}

/// Whether group number `writer` may write over `argument`: all reads of it
/// are over by then.
bool StorageMap::mayOverwrite(Value argument, unsigned writer) const {
  bool may = true;
  forEachUse(argument, [&](OpOperand &use) {
    auto reader = groupOf.find(use.getOwner());
    if (reader == groupOf.end() || reader->second > writer)
      may = false;
  });
  return may;
}

void StorageMap::placeResult(unsigned index, llvm::DenseSet<Value> &taken) {
  Value returned = function.front().getTerminator()->getOperand(index);
  Value value = stripViews(returned);
  std::optional<unsigned> alias = getAliasedArgument(function, index);
  Value argument = alias ? Value(function.getArgument(*alias)) : Value();
  if (argument && value == argument)
    return;
  Operation *op = value.getDefiningOp();
  auto writer = groupOf.find(op);
  // A value that a kernel computes for this result alone lies there at once.
  if (writer != groupOf.end() && taken.insert(value).second) {
    Storage &storage = storages[storageOf[value]];
    if (!argument) {
      storage.place = Place::Result;
      storage.index = index;
      return;
    }
    const Group &group = groups[writer->second];
    bool readsHere = false;
    forEachUse(argument, [&](OpOperand &use) {
      readsHere |= group.contains(use.getOwner());
    });
    if (mayOverwrite(argument, writer->second) &&
        (!readsHere || readsInPlace(group, value, argument))) {
      storageOf[value] = storageOf[argument];
      return;
    }
  }
  unsigned from = storageOf[value];
  unsigned to =
      argument ? storageOf[argument] : add(Place::Result, index, returned);
  // What another copy may overwrite is moved out of its way first.
  if (argument && storages[from].place == Place::Argument) {
    unsigned aside = addSlot(storages[from].bytes);
    copies.push_back({from, aside, /*isFirst=*/true});
    from = aside;
  }
  bool isFirst = !argument;
  copies.push_back({from, to, isFirst});
}

/// Lets an elementwise result lie where an operand of its size lay that nothing
/// reads any more: the cache holds it already.
void StorageMap::shareDyingInputs() {
  SmallVector<int64_t> lastUse(storages.size(), -1);
  SmallVector<bool> fixed(storages.size(), false);
  for (auto [index, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        if (unsigned storage = getStorage(operand); storage != none)
          lastUse[storage] = index;
  for (const Copy &copy : copies)
    fixed[copy.from] = true;
  for (auto [index, group] : llvm::enumerate(groups)) {
    if (group.kind != GroupKind::Map)
      continue;
    for (Value output : group.outputs) {
      unsigned own = storageOf[output];
      if (storages[own].place != Place::Arena)
        continue;
      for (Operation *op : group.ops)
        for (Value operand : op->getOperands()) {
          if (group.getProducer(operand) || storageOf[output] != own)
            continue;
          unsigned other = getStorage(operand);
          if (other == none || storages[other].place != Place::Arena ||
              fixed[other] || lastUse[other] != static_cast<int64_t>(index) ||
              storages[other].bytes != storages[own].bytes ||
              getElementTypeOrSelf(operand.getType()) !=
                  getElementTypeOrSelf(output.getType()) ||
              !readsInPlace(group, output, operand))
            continue;
          storageOf[output] = other;
          for (Copy &copy : copies)
            if (copy.from == own)
              copy.from = other;
          lastUse[other] = lastUse[own];
          fixed[other] = fixed[other] || fixed[own];
        }
    }
  }
}
