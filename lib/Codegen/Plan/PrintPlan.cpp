//===- PrintPlan.cpp - The plan as text and as JSON -----------------------===//
//
// For --print-plan, --print-memory and --report.
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

namespace {
/// Bytes that a group reads and writes.
struct Traffic {
  int64_t read = 0, written = 0;
};
} // namespace

static Traffic getTraffic(const Group &group,
                          function_ref<int64_t(Type)> getBytes) {
  auto count = [&](Value value) {
    return getNumElements(getShape(value)) *
           getBytes(getElementTypeOrSelf(value.getType()));
  };
  llvm::SmallSetVector<Value, 8> inputs;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!group.getProducer(operand))
        inputs.insert(stripViews(operand));
  Traffic traffic;
  for (Value input : inputs)
    traffic.read += count(input);
  for (Value output : group.outputs)
    traffic.written += count(output);
  return traffic;
}

static void printGroup(raw_ostream &os, size_t index, const Group &group,
                       ArrayRef<KernelLine> kernels, Traffic traffic) {
  os << "  " << index << ": " << getKindName(group.kind);
  if (group.kind != GroupKind::Custom) {
    os << " [";
    llvm::interleave(group.space, os, "x");
    os << ']';
  }
  os << ", reads " << traffic.read << " B, writes " << traffic.written
     << " B\n     ";
  for (Operation *op : group.ops)
    os << ' ' << op->getName().stripDialect();
  os << '\n';
  for (const KernelLine &line : kernels)
    os << "      @" << line.kernel << ' ' << line.extent << '\n';
}

static std::string printPlan(StringRef entry, ArrayRef<Group> groups,
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
    printGroup(os, index, group, kernels[index], getTraffic(group, getBytes));
  if (kernels.size() > groups.size())
    os << "  then " << kernels.size() - groups.size() << " copies\n";
  return text;
}

static llvm::json::Array describeKernels(ArrayRef<KernelLine> lines) {
  llvm::json::Array kernels;
  for (const KernelLine &line : lines)
    kernels.push_back(
        llvm::json::Object{{"name", line.kernel}, {"extent", line.extent}});
  return kernels;
}

static llvm::json::Object describeGroup(const Group &group,
                                        ArrayRef<KernelLine> kernels,
                                        Traffic traffic) {
  llvm::json::Array ops, space;
  for (Operation *op : group.ops)
    ops.push_back(op->getName().stripDialect());
  if (group.kind != GroupKind::Custom)
    space = llvm::json::Array(group.space);
  return llvm::json::Object{
      {"kind", getKindName(group.kind)}, {"space", std::move(space)},
      {"ops", std::move(ops)},           {"reads", traffic.read},
      {"writes", traffic.written},       {"kernels", describeKernels(kernels)}};
}

void plan::describePlan(CompiledEntry &entry, ArrayRef<Group> groups,
                        ArrayRef<SmallVector<KernelLine>> kernels,
                        function_ref<int64_t(Type)> getBytes) {
  entry.plan = printPlan(entry.name, groups, kernels, getBytes);
  for (auto [index, group] : llvm::enumerate(groups))
    entry.groups.push_back(
        describeGroup(group, kernels[index], getTraffic(group, getBytes)));
  for (ArrayRef<KernelLine> copy : kernels.drop_front(groups.size()))
    entry.groups.push_back(
        llvm::json::Object{{"kind", "copy"},
                           {"space", llvm::json::Array()},
                           {"ops", llvm::json::Array()},
                           {"kernels", describeKernels(copy)}});
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::string getName(const Storage &storage) {
  return storage.value ? getName(storage.value) : "scratch";
}

/// Storages of the arena by their place in it.
SmallVector<std::pair<int64_t, unsigned>> EntryMemory::getSlots() const {
  SmallVector<std::pair<int64_t, unsigned>> slots;
  for (auto [storage, offset] : offsets)
    slots.push_back({offset, storage});
  llvm::sort(slots);
  return slots;
}

std::string EntryMemory::print(StringRef entry) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "entry " << entry << ": arena " << layout.bytes << " B, at most "
     << layout.needed << " B alive at one time\n";
  for (auto [offset, index] : getSlots()) {
    const Lifetime lifetime = lifetimes.lookup(index);
    os << llvm::formatv("  {0,12} + {1,12}  steps {2,5} to {3,5}  {4}\n",
                        offset, lifetime.bytes, lifetime.first, lifetime.last,
                        getName(storages[index]));
  }
  return text;
}

llvm::json::Array EntryMemory::describeBuffers() const {
  llvm::json::Array buffers;
  for (auto [offset, index] : getSlots()) {
    const Lifetime lifetime = lifetimes.lookup(index);
    buffers.push_back(llvm::json::Object{
        {"name", llvm::json::fixUTF8(getName(storages[index]))},
        {"offset", offset},
        {"bytes", lifetime.bytes},
        {"first", lifetime.first},
        {"last", lifetime.last}});
  }
  return buffers;
}

void EntryMemory::describe(CompiledEntry &entry) const {
  entry.tensors = tensors;
  entry.workspace = layout.bytes;
  entry.needed = layout.needed;
  entry.memory = print(entry.name);
  entry.buffers = describeBuffers();
}
