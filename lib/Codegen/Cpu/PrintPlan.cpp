//===- PrintPlan.cpp - The plan as text -----------------------------------===//
//
// For --print-plan and --print-memory.
//
//===----------------------------------------------------------------------===//

#include "PrintPlan.h"
#include "Emitter.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

static StringRef getKindName(plan::GroupKind kind) {
  switch (kind) {
  case plan::GroupKind::Map:
    return "map";
  case plan::GroupKind::Rows:
    return "rows";
  case plan::GroupKind::Reduce:
    return "reduce";
  case plan::GroupKind::Custom:
    return "call";
  }
  llvm_unreachable("all kinds are covered");
}

static int64_t getBytes(Value value) {
  return plan::getNumElements(plan::getShape(value)) *
         getStorageBytes(getElementTypeOrSelf(value.getType()));
}

static std::string getName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "argument " + std::to_string(argument.getArgNumber());
  StringRef name = onnx::getValueName(value);
  return name.empty() ? value.getDefiningOp()->getName().getStringRef().str()
                      : name.str();
}

static void printGroup(raw_ostream &os, size_t index, const plan::Group &group,
                       ArrayRef<KernelCall> calls) {
  os << "  " << index << ": " << getKindName(group.kind);
  if (group.kind != plan::GroupKind::Custom) {
    os << " [";
    llvm::interleave(group.space, os, "x");
    os << ']';
  }
  llvm::SmallSetVector<Value, 8> inputs;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!group.getProducer(operand))
        inputs.insert(plan::stripViews(operand));
  int64_t read = 0, written = 0;
  for (Value input : inputs)
    read += getBytes(input);
  for (Value output : group.outputs)
    written += getBytes(output);
  os << ", reads " << read << " B, writes " << written << " B\n     ";
  for (Operation *op : group.ops)
    os << ' ' << op->getName().stripDialect();
  os << '\n';
  for (const KernelCall &call : calls) {
    func::FuncOp kernel = call.kernel;
    os << "      @" << kernel.getSymName() << " x " << call.iterations
       << ", grain " << call.grain << '\n';
  }
}

std::string amp::cpu::printPlan(StringRef entry, ArrayRef<plan::Group> groups,
                                ArrayRef<ArrayRef<KernelCall>> calls) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::SmallPtrSet<Operation *, 16> kernels;
  size_t numOps = 0, numCalls = 0;
  for (ArrayRef<KernelCall> step : calls)
    for (KernelCall call : step) {
      kernels.insert(call.kernel);
      ++numCalls;
    }
  for (const plan::Group &group : groups)
    numOps += group.ops.size();
  os << "entry " << entry << ": " << numOps << " operations, " << groups.size()
     << " groups, " << numCalls << " calls of " << kernels.size()
     << " kernels\n";
  for (auto [index, group] : llvm::enumerate(groups))
    printGroup(os, index, group, calls[index]);
  if (calls.size() > groups.size())
    os << "  then " << calls.size() - groups.size() << " copies\n";
  return text;
}

std::string
amp::cpu::printMemory(StringRef entry, const plan::StorageMap &storages,
                      const DenseMap<unsigned, plan::Lifetime> &lifetimes,
                      const DenseMap<unsigned, int64_t> &offsets,
                      const plan::ArenaLayout &layout) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "entry " << entry << ": arena " << layout.bytes << " B, at most "
     << layout.needed << " B alive at one time\n";
  SmallVector<std::pair<int64_t, unsigned>> slots;
  for (auto [storage, offset] : offsets)
    slots.push_back({offset, storage});
  llvm::sort(slots);
  for (auto [offset, index] : slots) {
    const plan::Lifetime lifetime = lifetimes.lookup(index);
    Value value = storages[index].value;
    os << llvm::formatv("  {0,12} + {1,12}  steps {2,5} to {3,5}  {4}\n",
                        offset, lifetime.bytes, lifetime.first, lifetime.last,
                        value ? getName(value) : "scratch");
  }
  return text;
}
