//===- Codegen.cpp - From a step of primitives to CPU kernels -------------===//
//
// Fusion, storage, kernels, arena, entry: one after the other.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Codegen.h"
#include "ConstantData.h"
#include "EntryFunction.h"
#include "MovementKernels.h"
#include "amp/Codegen/Cpu/Groups.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

namespace {

class EntryCompiler {
public:
  EntryCompiler(func::FuncOp function, KernelModule &kernels,
                const CpuOptions &options)
      : function(function), kernels(kernels), options(options),
        groupKernels(options.registry, "the CPU") {}

  FailureOr<CompiledEntry> run();

private:
  /// Calls of one group, and the storages of its scratch buffers.
  struct Step {
    KernelCalls calls;
    SmallVector<unsigned> scratch;
  };

  LogicalResult emitKernels();
  void emitCopies();
  void layOutArena();
  FailureOr<BufferPlace> locate(unsigned storage);
  LogicalResult locateCalls(SmallVectorImpl<LocatedCall> &located);
  SmallVector<SmallVector<plan::KernelLine>> getKernelLines();
  unsigned getStorage(const Step &step, const KernelOperand &operand) const;

  func::FuncOp function;
  KernelModule &kernels;
  const CpuOptions &options;
  GroupKernels groupKernels;
  SmallVector<plan::Group> groups;
  std::optional<plan::StorageMap> storages;
  std::vector<Step> steps;
  std::optional<plan::EntryMemory> memory;
};

} // namespace

LogicalResult EntryCompiler::emitKernels() {
  for (const plan::Group &group : groups) {
    Step step;
    if (!plan::isEmpty(group)) {
      FailureOr<KernelCalls> calls =
          groupKernels.emit(group, kernels, [&](Value value) {
            return storages->getStorage(value);
          });
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
  memory.emplace(function, *storages, options.inlineConstantBytes);
  for (auto [index, step] : llvm::enumerate(steps))
    for (const KernelCall &call : step.calls.calls)
      for (const KernelOperand &operand : call.operands)
        memory->use(index, getStorage(step, operand));
  memory->layOut();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

FailureOr<BufferPlace> EntryCompiler::locate(unsigned index) {
  FailureOr<plan::Location> location = memory->locate(index);
  if (failed(location))
    return failure();
  if (location->kind == plan::Location::Tensor)
    return BufferPlace{BufferPlace::Tensor, location->number, ""};
  if (location->kind == plan::Location::Arena)
    return BufferPlace{BufferPlace::Arena, location->number, ""};
  SmallVector<char> bytes;
  if (succeeded(getElementBytes(location->data, bytes)))
    return BufferPlace{BufferPlace::Global, 0,
                       getOrCreateGlobal(kernels, bytes)};
  Operation *op = (*storages)[index].value.getDefiningOp();
  return op->emitError()
         << "cannot compile the constant " << plan::describe(op)
         << ": its data is missing or has a form that is not supported";
}

LogicalResult
EntryCompiler::locateCalls(SmallVectorImpl<LocatedCall> &located) {
  for (const Step &step : steps)
    for (const KernelCall &call : step.calls.calls) {
      if (call.iterations == 0)
        continue;
      LocatedCall result{call.kernel, {}, call.iterations, call.grain};
      for (const KernelOperand &operand : call.operands) {
        FailureOr<BufferPlace> location = locate(getStorage(step, operand));
        if (failed(location))
          return failure();
        result.buffers.push_back(*location);
      }
      located.push_back(std::move(result));
    }
  return success();
}

SmallVector<SmallVector<plan::KernelLine>> EntryCompiler::getKernelLines() {
  SmallVector<SmallVector<plan::KernelLine>> lines;
  for (const Step &step : steps) {
    lines.emplace_back();
    for (KernelCall call : step.calls.calls)
      lines.back().push_back({call.kernel.getSymName().str(),
                              "x " + std::to_string(call.iterations) +
                                  ", grain " + std::to_string(call.grain)});
  }
  return lines;
}

FailureOr<CompiledEntry> EntryCompiler::run() {
  if (failed(plan::checkStep(function)))
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
  SmallVector<LocatedCall> located;
  if (failed(locateCalls(located)))
    return failure();
  emitEntry(kernels, entry.symbol, located);
  memory->describe(entry);
  plan::describePlan(entry, groups, getKernelLines(), getStorageBytes);
  return entry;
}

FailureOr<CompiledEntry> amp::cpu::generateEntry(func::FuncOp function,
                                                 KernelModule &kernels,
                                                 const CpuOptions &options) {
  return EntryCompiler(function, kernels, options).run();
}
