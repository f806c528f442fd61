//===- Codegen.cpp - From a step of primitives to CPU kernels -------------===//
//
// Fusion, storage, kernels, arena, entry: one after the other.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Codegen.h"
#include "ConstantData.h"
#include "EntryFunction.h"
#include "GroupCode.h"
#include "MovementKernels.h"
#include "PrintPlan.h"
#include "amp/Codegen/Plan/Storage.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

class EntryCompiler {
public:
  EntryCompiler(func::FuncOp function, KernelModule &kernels,
                const CpuOptions &options)
      : function(function), kernels(kernels), options(options) {
    addMovementKernels(builtin);
  }

  FailureOr<CompiledEntry> run();

private:
  /// Calls of one group, and the storages of its scratch buffers.
  struct Step {
    KernelCalls calls;
    SmallVector<unsigned> scratch;
  };

  LogicalResult checkTypes();
  FailureOr<KernelCalls> emitGroup(const plan::Group &group);
  LogicalResult emitKernels();
  void emitCopies();
  void layOutArena();
  void describeTensors(CompiledEntry &entry);
  FailureOr<BufferPlace> locate(unsigned storage, CompiledEntry &entry);
  LogicalResult locateCalls(CompiledEntry &entry,
                            SmallVectorImpl<LocatedCall> &located);
  unsigned getStorage(const Step &step, const KernelOperand &operand) const;

  func::FuncOp function;
  KernelModule &kernels;
  const CpuOptions &options;
  KernelRegistry builtin;
  SmallVector<plan::Group> groups;
  std::optional<plan::StorageMap> storages;
  std::vector<Step> steps;
  /// Offset of each storage that lies in the arena.
  DenseMap<unsigned, int64_t> offsets;
  DenseMap<unsigned, plan::Lifetime> lifetimes;
  plan::ArenaLayout layout;
  DenseMap<unsigned, unsigned> tensorOfConstant;
};

} // namespace

/// How an operation is called in a diagnostic.
static std::string describe(Operation *op) {
  StringRef name = onnx::getNodeName(op);
  return name.empty()
             ? op->getName().getStringRef().str()
             : (op->getName().getStringRef() + " '" + name + "'").str();
}

LogicalResult EntryCompiler::checkTypes() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("a step to compile has one block");
  auto check = [&](Operation *op, Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.hasStaticShape() &&
        isa<FloatType, IntegerType>(type.getElementType()))
      return success();
    return op->emitError() << "cannot compile " << describe(op)
                           << ": it has a value of type " << value.getType()
                           << "; bind symbolic dimensions to sizes first";
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(check(function, argument)))
      return failure();
  for (Operation &op : function.front().without_terminator())
    for (Value result : op.getResults())
      if (failed(check(&op, result)))
        return failure();
  return success();
}

FailureOr<KernelCalls> EntryCompiler::emitGroup(const plan::Group &group) {
  auto storageOf = [&](Value value) { return storages->getStorage(value); };
  switch (group.kind) {
  case plan::GroupKind::Map:
    return emitMapKernel(group, kernels, storageOf);
  case plan::GroupKind::Rows:
    return emitRowsKernel(group, kernels, storageOf);
  case plan::GroupKind::Reduce:
    return emitReduceKernel(group, kernels, storageOf);
  case plan::GroupKind::Custom:
    break;
  }
  Operation *op = group.ops.front();
  const KernelEmitter *emitter =
      options.registry ? options.registry->lookup(op) : nullptr;
  if (!emitter)
    emitter = builtin.lookup(op);
  if (!emitter)
    return op->emitError() << "cannot compile " << describe(op)
                           << " for the CPU: it has no kernel";
  return (*emitter)(op, kernels);
}

LogicalResult EntryCompiler::emitKernels() {
  for (const plan::Group &group : groups) {
    // Nothing to compute.
    bool isEmpty = llvm::all_of(group.ops, [](Operation *op) {
      return llvm::all_of(op->getResults(), [](Value result) {
        return plan::getNumElements(plan::getShape(result)) == 0;
      });
    });
    Step step;
    if (!isEmpty) {
      FailureOr<KernelCalls> calls = emitGroup(group);
      if (failed(calls))
        return failure();
      step.calls = std::move(*calls);
    }
    for (int64_t bytes : step.calls.scratch)
      step.scratch.push_back(storages->addSlot(bytes));
    steps.push_back(std::move(step));
  }
  return success();
}

/// Appends the copies that end the step, each as a step of its own.
void EntryCompiler::emitCopies() {
  for (const plan::Copy &copy : storages->getCopies()) {
    int64_t bytes = (*storages)[copy.from].bytes;
    if (bytes == 0)
      continue;
    KernelCall call = makeByteCopy(kernels, bytes);
    Step step;
    step.scratch = {copy.from, copy.to};
    call.operands = {KernelOperand::scratch(0), KernelOperand::scratch(1)};
    step.calls.calls.push_back(std::move(call));
    steps.push_back(std::move(step));
  }
}

unsigned EntryCompiler::getStorage(const Step &step,
                                   const KernelOperand &operand) const {
  return operand.value ? storages->getStorage(operand.value)
                       : step.scratch[operand.scratchIndex];
}

void EntryCompiler::layOutArena() {
  SmallVector<unsigned> order;
  for (auto [index, step] : llvm::enumerate(steps))
    for (const KernelCall &call : step.calls.calls)
      for (const KernelOperand &operand : call.operands) {
        unsigned storage = getStorage(step, operand);
        if ((*storages)[storage].place != plan::Place::Arena)
          continue;
        int64_t now = index;
        auto [entry, isNew] =
            lifetimes.insert({storage, {(*storages)[storage].bytes, now, now}});
        entry->second.last = now;
        if (isNew)
          order.push_back(storage);
      }
  SmallVector<plan::Lifetime> buffers;
  for (unsigned storage : order)
    buffers.push_back(lifetimes[storage]);
  layout = plan::layOut(buffers);
  for (auto [storage, offset] : llvm::zip(order, layout.offsets))
    offsets[storage] = offset;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

static std::string getString(DictionaryAttr attributes, StringRef name) {
  auto attr = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return attr ? attr.str() : "";
}

static TensorInfo describeTensor(RankedTensorType type,
                                 DictionaryAttr attributes) {
  TensorInfo info;
  info.name = getString(attributes, onnx::OnnxDialect::getNameAttrName());
  info.role = getString(attributes, train::TrainDialect::getRoleAttrName());
  info.of = getString(attributes, train::TrainDialect::getOfAttrName());
  info.elementType = type.getElementType();
  info.shape.assign(type.getShape().begin(), type.getShape().end());
  return info;
}

/// Arguments, then results of their own memory. Constants come as they are
/// met.
void EntryCompiler::describeTensors(CompiledEntry &entry) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    entry.tensors.push_back(describeTensor(cast<RankedTensorType>(type),
                                           function.getArgAttrDict(i)));
    if (entry.tensors.back().role.empty())
      entry.tensors.back().role = "input";
  }
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    if (plan::getAliasedArgument(function, i))
      continue;
    entry.tensors.push_back(describeTensor(cast<RankedTensorType>(type),
                                           function.getResultAttrDict(i)));
    if (entry.tensors.back().role.empty())
      entry.tensors.back().role = "output";
  }
}

FailureOr<BufferPlace> EntryCompiler::locate(unsigned index,
                                             CompiledEntry &entry) {
  const plan::Storage &storage = (*storages)[index];
  switch (storage.place) {
  case plan::Place::Argument:
    return BufferPlace{BufferPlace::Tensor, storage.index, ""};
  case plan::Place::Result: {
    int64_t number = function.getNumArguments();
    for (unsigned i = 0; i < storage.index; ++i)
      number += plan::getAliasedArgument(function, i) ? 0 : 1;
    return BufferPlace{BufferPlace::Tensor, number, ""};
  }
  case plan::Place::Arena:
    return BufferPlace{BufferPlace::Arena, offsets.lookup(index), ""};
  case plan::Place::Constant:
    break;
  }
  Operation *op = storage.value.getDefiningOp();
  ElementsAttr data = onnx::getConstantValue(storage.value);
  if (!data)
    return op->emitError() << "cannot compile the constant " << describe(op)
                           << ": its data is not a tensor";
  if (storage.bytes <= options.inlineConstantBytes) {
    SmallVector<char> bytes;
    if (failed(getElementBytes(data, bytes)))
      return op->emitError()
             << "cannot compile the constant " << describe(op)
             << ": its data is missing or has a form that is not supported";
    return BufferPlace{BufferPlace::Global, 0,
                       getOrCreateGlobal(kernels, bytes)};
  }
  auto [tensor, isNew] = tensorOfConstant.insert({index, entry.tensors.size()});
  if (isNew) {
    TensorInfo info = describeTensor(
        cast<RankedTensorType>(storage.value.getType()), DictionaryAttr());
    info.name = onnx::getValueName(storage.value).str();
    if (info.name.empty())
      info.name = "constant." + std::to_string(entry.tensors.size());
    info.role = "constant";
    info.data = data;
    entry.tensors.push_back(std::move(info));
  }
  return BufferPlace{BufferPlace::Tensor, tensor->second, ""};
}

LogicalResult
EntryCompiler::locateCalls(CompiledEntry &entry,
                           SmallVectorImpl<LocatedCall> &located) {
  for (const Step &step : steps)
    for (const KernelCall &call : step.calls.calls) {
      if (call.iterations == 0)
        continue;
      LocatedCall result{call.kernel, {}, call.iterations, call.grain};
      for (const KernelOperand &operand : call.operands) {
        FailureOr<BufferPlace> location =
            locate(getStorage(step, operand), entry);
        if (failed(location))
          return failure();
        result.buffers.push_back(*location);
      }
      located.push_back(std::move(result));
    }
  return success();
}

FailureOr<CompiledEntry> EntryCompiler::run() {
  if (failed(checkTypes()))
    return failure();
  groups = plan::fuse(function, {options.fuse, isElementwise});
  storages.emplace(function, groups, getStorageBytes);
  if (failed(emitKernels()))
    return failure();
  emitCopies();
  layOutArena();
  CompiledEntry entry;
  entry.name = function.getSymName().str();
  entry.symbol = "amp_" + entry.name;
  describeTensors(entry);
  SmallVector<LocatedCall> located;
  if (failed(locateCalls(entry, located)))
    return failure();
  emitEntry(kernels, entry.symbol, located);
  entry.workspace = layout.bytes;
  SmallVector<ArrayRef<KernelCall>> calls;
  for (const Step &step : steps)
    calls.push_back(step.calls.calls);
  entry.plan = printPlan(entry.name, groups, calls);
  entry.memory = printMemory(entry.name, *storages, lifetimes, offsets, layout);
  return entry;
}

FailureOr<CompiledEntry> amp::cpu::generateEntry(func::FuncOp function,
                                                 KernelModule &kernels,
                                                 const CpuOptions &options) {
  return EntryCompiler(function, kernels, options).run();
}
