//===- Codegen.cpp - From a step of primitives to CUDA kernels ------------===//
//
// Fusion, storage, kernels, arena, graph: one after the other.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/Codegen.h"
#include "Dependencies.h"
#include "amp/Codegen/Cpu/Backend/CpuTarget.h"
#include "amp/Codegen/Cpu/Contraction.h"
#include "amp/Codegen/Cpu/Groups.h"

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

namespace {

/// Products and convolutions of the CPU that any processor computes alike:
/// chains of fused multiply-adds.
cpu::KernelRegistry makeContractions() {
  cpu::KernelRegistry registry;
  cpu::registerContractionKernels(
      registry, llvm::cantFail(cpu::CpuTarget::get("x86-64-v3")));
  return registry;
}

class EntryCompiler {
public:
  EntryCompiler(func::FuncOp function, StepKernels &kernels,
                const CudaOptions &options)
      : function(function), kernels(kernels), options(options),
        contractions(makeContractions()), generic(&contractions, "CUDA") {}

  FailureOr<CompiledEntry> run();

private:
  /// Launches of one group, and the storages of its scratch buffers; or a copy
  /// from one storage to another.
  struct Step {
    const plan::Group *group = nullptr;
    KernelLaunches launches;
    SmallVector<unsigned> scratch;
    int64_t copyBytes = 0;
  };

  FailureOr<KernelLaunches> emitSpecialised(const plan::Group &group);
  FailureOr<KernelLaunches> emitGeneric(const plan::Group &group);
  LogicalResult emitKernels();
  void emitCopies();
  void layOutArena();
  unsigned getStorage(const Step &step, const KernelOperand &operand) const;
  bool isWritten(const Step &step, const KernelOperand &operand) const;
  FailureOr<BufferPlace> place(unsigned storage, bool isWrite,
                               SmallVectorImpl<MemoryAccess> &accesses);
  LogicalResult addLaunches(const Step &step, CompiledEntry &entry);
  LogicalResult addCopy(const Step &step, CompiledEntry &entry);
  SmallVector<SmallVector<plan::KernelLine>> getKernelLines() const;

  func::FuncOp function;
  StepKernels &kernels;
  const CudaOptions &options;
  cpu::KernelRegistry contractions;
  cpu::GroupKernels generic;
  SmallVector<plan::Group> groups;
  std::optional<plan::StorageMap> storages;
  std::vector<Step> steps;
  std::optional<plan::EntryMemory> memory;
  Dependencies dependencies;
};

} // namespace

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// No launches: there is nothing special for the group.
FailureOr<KernelLaunches>
EntryCompiler::emitSpecialised(const plan::Group &group) {
  if (!options.registry)
    return KernelLaunches();
  if (group.kind == plan::GroupKind::Custom) {
    const KernelEmitter *emitter = options.registry->lookup(group.ops.front());
    return emitter ? (*emitter)(group.ops.front(), kernels.getSpecialised())
                   : KernelLaunches();
  }
  const GroupEmitter *emitter = options.registry->getGroupEmitter();
  if (!emitter)
    return KernelLaunches();
  return (*emitter)(group, kernels.getSpecialised(),
                    [&](Value value) { return storages->getStorage(value); });
}

FailureOr<KernelLaunches> EntryCompiler::emitGeneric(const plan::Group &group) {
  FailureOr<cpu::KernelCalls> calls =
      generic.emit(group, kernels.getCpuKernels(),
                   [&](Value value) { return storages->getStorage(value); });
  if (failed(calls))
    return failure();
  KernelLaunches launches;
  launches.scratch = std::move(calls->scratch);
  for (const cpu::KernelCall &call : calls->calls)
    if (call.iterations > 0)
      launches.launches.push_back(kernels.wrap(call));
  return launches;
}

LogicalResult EntryCompiler::emitKernels() {
  for (const plan::Group &group : groups) {
    Step step;
    step.group = &group;
    if (!plan::isEmpty(group)) {
      FailureOr<KernelLaunches> launches = emitSpecialised(group);
      if (succeeded(launches) && launches->launches.empty())
        launches = emitGeneric(group);
      if (failed(launches))
        return failure();
      step.launches = std::move(*launches);
    }
    for (int64_t bytes : step.launches.scratch)
      step.scratch.push_back(storages->addSlot(bytes));
    steps.push_back(std::move(step));
  }
  return success();
}

/// Appends the copies that end the step, each as a step of its own.
void EntryCompiler::emitCopies() {
  for (const plan::Copy &copy : storages->getCopies()) {
    int64_t bytes = (*storages)[copy.from].bytes;
    if (bytes > 0)
      steps.push_back({nullptr, {}, {copy.from, copy.to}, bytes});
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

unsigned EntryCompiler::getStorage(const Step &step,
                                   const KernelOperand &operand) const {
  return operand.value ? storages->getStorage(operand.value)
                       : step.scratch[operand.scratchIndex];
}

void EntryCompiler::layOutArena() {
  memory.emplace(function, *storages, /*inlineConstantBytes=*/-1,
                 memoryAlignment);
  for (auto [index, step] : llvm::enumerate(steps)) {
    for (unsigned storage : step.scratch)
      memory->use(index, storage);
    for (const Launch &launch : step.launches.launches)
      for (const KernelOperand &operand : launch.operands)
        memory->use(index, getStorage(step, operand));
  }
  memory->layOut();
}

/// Scratch memory is, and so is what a result of the group lies in.
bool EntryCompiler::isWritten(const Step &step,
                              const KernelOperand &operand) const {
  if (!operand.value)
    return true;
  unsigned storage = getStorage(step, operand);
  return llvm::any_of(step.group->ops, [&](Operation *op) {
    return llvm::any_of(op->getResults(), [&](Value result) {
      return storages->getStorage(result) == storage;
    });
  });
}

FailureOr<BufferPlace>
EntryCompiler::place(unsigned storage, bool isWrite,
                     SmallVectorImpl<MemoryAccess> &accesses) {
  FailureOr<plan::Location> location = memory->locate(storage);
  if (failed(location))
    return failure();
  int64_t bytes = (*storages)[storage].bytes, number = location->number;
  if (location->kind == plan::Location::Arena) {
    accesses.push_back({-1, number, number + bytes, isWrite});
    return BufferPlace{BufferPlace::Arena, number};
  }
  accesses.push_back({number, 0, bytes, isWrite});
  return BufferPlace{BufferPlace::Tensor, number};
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// The operations of a product or convolution: two for each element that is
/// summed up and each weight that it meets.
static void addOperations(const plan::Group &group, Work &work) {
  Operation *op = group.ops.front();
  StringRef name = op->getName().getStringRef();
  auto count = [](Value value) {
    return plan::getNumElements(plan::getShape(value));
  };
  auto countPerRow = [&](Value value) {
    return count(value) / std::max<int64_t>(1, plan::getShape(value).front());
  };
  if (name == "train.matmul") {
    ArrayRef<int64_t> shape = plan::getShape(op->getOperand(0));
    size_t depth = shape.size() - (op->hasAttr("transA") ? 2 : 1);
    work.operations = 2 * count(op->getResult(0)) * shape[depth];
  } else if (name == "onnx.Conv") {
    work.operations =
        2 * count(op->getResult(0)) * countPerRow(op->getOperand(1));
  } else if (name == "train.conv_input_gradient") {
    work.operations =
        2 * count(op->getOperand(1)) * countPerRow(op->getOperand(0));
  } else if (name == "train.conv_weight_gradient") {
    work.operations =
        2 * count(op->getOperand(1)) * countPerRow(op->getResult(0));
  } else {
    return;
  }
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  work.isHalf = type.isF16() || type.isBF16();
}

LogicalResult EntryCompiler::addLaunches(const Step &step,
                                         CompiledEntry &entry) {
  for (const Launch &launch : step.launches.launches) {
    LLVM::LLVMFuncOp kernel = launch.kernel;
    Node node{kernel.getSymName().str(),
              launch.grid,
              launch.block,
              launch.sharedBytes,
              {},
              0,
              {}};
    SmallVector<MemoryAccess> accesses;
    for (const KernelOperand &operand : launch.operands) {
      FailureOr<BufferPlace> buffer =
          place(getStorage(step, operand), isWritten(step, operand), accesses);
      if (failed(buffer))
        return failure();
      node.buffers.push_back(*buffer);
    }
    node.after = dependencies.add(accesses);
    for (const MemoryAccess &access : accesses)
      node.work.bytes += access.end - access.begin;
    entry.nodes.push_back(std::move(node));
  }
  // What comes before it in the group packs operands.
  if (!step.launches.launches.empty())
    addOperations(*step.group, entry.nodes.back().work);
  return success();
}

LogicalResult EntryCompiler::addCopy(const Step &step, CompiledEntry &entry) {
  Node node;
  node.bytes = step.copyBytes;
  SmallVector<MemoryAccess> accesses;
  for (auto [i, storage] : llvm::enumerate(step.scratch)) {
    FailureOr<BufferPlace> buffer =
        place(storage, /*isWrite=*/i == 1, accesses);
    if (failed(buffer))
      return failure();
    node.buffers.push_back(*buffer);
  }
  node.after = dependencies.add(accesses);
  entry.nodes.push_back(std::move(node));
  return success();
}

SmallVector<SmallVector<plan::KernelLine>>
EntryCompiler::getKernelLines() const {
  SmallVector<SmallVector<plan::KernelLine>> lines;
  for (const Step &step : steps) {
    lines.emplace_back();
    for (const Launch &launch : step.launches.launches) {
      std::string extent;
      llvm::raw_string_ostream os(extent);
      os << '<';
      llvm::interleave(launch.grid, os, "x");
      os << " blocks of ";
      llvm::interleave(launch.block, os, "x");
      os << '>';
      LLVM::LLVMFuncOp kernel = launch.kernel;
      lines.back().push_back({kernel.getSymName().str(), extent});
    }
  }
  return lines;
}

FailureOr<CompiledEntry> EntryCompiler::run() {
  if (failed(plan::checkStep(function)))
    return failure();
  groups = plan::fuse(function, {options.fuse, cpu::isElementwise});
  storages.emplace(function, groups, cpu::getStorageBytes);
  if (failed(emitKernels()))
    return failure();
  emitCopies();
  layOutArena();
  CompiledEntry entry;
  entry.name = function.getSymName().str();
  for (const Step &step : steps)
    if (failed(step.group ? addLaunches(step, entry) : addCopy(step, entry)))
      return failure();
  memory->describe(entry);
  plan::describePlan(entry, groups, getKernelLines(), cpu::getStorageBytes);
  return entry;
}

FailureOr<CompiledEntry> cuda::generateEntry(func::FuncOp function,
                                             StepKernels &kernels,
                                             const CudaOptions &options) {
  return EntryCompiler(function, kernels, options).run();
}
