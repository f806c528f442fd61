//===- PrintPlan.cpp - The plan as text -----------------------------------===//
//
// For --print-plan and --print-memory.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Entry.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace amp;
using namespace amp::plan;

static StringRef getKindName(GroupKind kind) {
  switch (kind) {
  case GroupKind::Map:
    return "map";
  case GroupKind::Rows:
    return "rows";
  case GroupKind::Reduce:
    return "reduce";
  case GroupKind::Custom:
    return "call";
  }
  llvm_unreachable("all kinds are covered");
}

static std::string getName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "argument " + std::to_string(argument.getArgNumber());
  StringRef name = onnx::getValueName(value);
  return name.empty() ? value.getDefiningOp()->getName().getStringRef().str()
                      : name.str();
}

static void printGroup(raw_ostream &os, size_t index, const Group &group,
                       ArrayRef<KernelLine> kernels,
                       function_ref<int64_t(Type)> getBytes) {
  auto count = [&](Value value) {
    return getNumElements(getShape(value)) *
           getBytes(getElementTypeOrSelf(value.getType()));
  };
  os << "  " << index << ": " << getKindName(group.kind);
  if (group.kind != GroupKind::Custom) {
    os << " [";
    llvm::interleave(group.space, os, "x");
    os << ']';
  }
  llvm::SmallSetVector<Value, 8> inputs;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!group.getProducer(operand))
        inputs.insert(stripViews(operand));
  int64_t read = 0, written = 0;
  for (Value input : inputs)
    read += count(input);
  for (Value output : group.outputs)
    written += count(output);
  os << ", reads " << read << " B, writes " << written << " B\n     ";
  for (Operation *op : group.ops)
    os << ' ' << op->getName().stripDialect();
  os << '\n';
  for (const KernelLine &line : kernels)
    os << "      @" << line.kernel << ' ' << line.extent << '\n';
}

std::string plan::printPlan(StringRef entry, ArrayRef<Group> groups,
                            ArrayRef<SmallVector<KernelLine>> kernels,
                            function_ref<int64_t(Type)> getBytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringSet<> names;
  size_t numOps = 0, numCalls = 0;
  for (ArrayRef<KernelLine> step : kernels)
    for (const KernelLine &line : step) {
      names.insert(line.kernel);
      ++numCalls;
    }
  for (const Group &group : groups)
    numOps += group.ops.size();
  os << "entry " << entry << ": " << numOps << " operations, " << groups.size()
     << " groups, " << numCalls << " calls of " << names.size() << " kernels\n";
  for (auto [index, group] : llvm::enumerate(groups))
    printGroup(os, index, group, kernels[index], getBytes);
  if (kernels.size() > groups.size())
    os << "  then " << kernels.size() - groups.size() << " copies\n";
  return text;
}

std::string EntryMemory::print(StringRef entry) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "entry " << entry << ": arena " << layout.bytes << " B, at most "
     << layout.needed << " B alive at one time\n";
  SmallVector<std::pair<int64_t, unsigned>> slots;
  for (auto [storage, offset] : offsets)
    slots.push_back({offset, storage});
  llvm::sort(slots);
  for (auto [offset, index] : slots) {
    const Lifetime lifetime = lifetimes.lookup(index);
    Value value = storages[index].value;
    os << llvm::formatv("  {0,12} + {1,12}  steps {2,5} to {3,5}  {4}\n",
                        offset, lifetime.bytes, lifetime.first, lifetime.last,
                        value ? getName(value) : "scratch");
  }
  return text;
}
