//===- AssignPrecisionPlacement.cpp - Where casts cost least --------------===//
//
// Ops whose class and operands leave both types open take the one that moves
// the fewest bytes: a minimum cut per group of such ops.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "amp/Dialect/Amp/Transforms/MinCut.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

/// Size assumed for a dimension, and a tensor, whose size nobody tells.
static constexpr int64_t assumedDimension = 32, assumedSize = 1024;
static constexpr int64_t largestSize = int64_t(1) << 40;

/// A cast reads 4 bytes and writes 2 per element, or the other way around. It
/// weighs more than the bytes an op itself saves by being narrow, since casts
/// come with a kernel of their own.
static constexpr int64_t castCost = 6 * 8, trafficCost = 2;

/// Looks at an edge that a cut may take, per node of its network.
static constexpr uint64_t stepsPerNode = 2000;

static int64_t getElements(const ValueState &value) {
  auto ranked = dyn_cast<RankedTensorType>(value.value.getType());
  if (!ranked)
    return assumedSize;
  int64_t size = 1;
  for (int64_t dimension : ranked.getShape()) {
    int64_t known =
        ShapedType::isDynamic(dimension) ? assumedDimension : dimension;
    if (known > 0 && size > largestSize / known)
      return largestSize;
    size *= known;
  }
  return size;
}

void Assigner::countUses() {
  for (ValueState &value : graph.values)
    value.wideUses = value.halfUses = 0;
  for (const Node &node : graph.nodes) {
    if (node.open)
      continue;
    for (const Slot &slot : graph.operandsOf(node)) {
      ValueState &value = graph.values[slot.value];
      if (value.declared == Kind::F32)
        ++(isHalf(slot.kind) ? value.halfUses : value.wideUses);
    }
  }
}

//===----------------------------------------------------------------------===//
// Narrow ops before wide ones
//===----------------------------------------------------------------------===//

/// Elements that fewer casts touch when `node`, which followed a half operand,
/// runs in float32 because all its readers do.
int64_t Assigner::gainOfWidening(const Node &node) {
  int64_t gain = 0;
  for (const Slot &slot : graph.resultsOf(node)) {
    if (!isHalf(slot.kind) || !slot.eligible)
      continue;
    const ValueState &value = graph.values[slot.value];
    if (value.wideUses != graph.readersOf(slot.value).size())
      return 0;
    if (value.wideUses)
      gain += getElements(value);
  }
  uint32_t previous = none;
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    if (!isHalf(slot.kind) || !slot.eligible || value.isConstant() ||
        slot.value == previous)
      continue;
    previous = slot.value;
    if (isHalf(value.kind) && value.wideUses == 0)
      gain -= getElements(value);
    else if (value.kind == Kind::F32 && value.halfUses == 1 &&
             value.alsoAs != slot.kind)
      gain += getElements(value);
  }
  return gain;
}

/// Backwards, so that a chain before a wide op widens as a whole.
void Assigner::widenBeforeWide() {
  countUses();
  for (Node &node : llvm::reverse(graph.nodes)) {
    bool followed = node.step == Step::Op && !node.fixed &&
                    node.rule == DecisionRule::Follow && node.info &&
                    !node.scope->isProgramOrder();
    if (!followed || gainOfWidening(node) <= 0)
      continue;
    for (const Slot &slot : graph.operandsOf(node))
      if (slot.eligible && isHalf(slot.kind)) {
        --graph.values[slot.value].halfUses;
        ++graph.values[slot.value].wideUses;
      }
    node.byValue = none;
    setWide(node, DecisionRule::MinCut);
  }
}

//===----------------------------------------------------------------------===//
// Open ops
//===----------------------------------------------------------------------===//

namespace {

/// The network of one group of open ops that share values. Narrow ops are on
/// the source's side.
class Placer {
public:
  Placer(Graph &graph, ArrayRef<uint32_t> group, Kind half)
      : graph(graph), group(group), half(half) {}

  /// Fills `narrow` with the ops of the group to make narrow.
  void solve(SmallVectorImpl<uint32_t> &narrow);

private:
  void addTraffic(uint32_t node);
  void addSource(uint32_t value);
  void addResult(uint32_t node, const Slot &slot);
  void addRetargetedCast(uint32_t node, uint32_t value);
  /// The network's node of an open reader of this group; none for others.
  std::optional<unsigned> lookup(uint32_t node) const {
    auto it = numbers.find(node);
    if (it == numbers.end())
      return std::nullopt;
    return it->second;
  }
  SmallVector<unsigned> openReaders(uint32_t value) const;
  /// Whether a reader outside the group wants `value` in float32.
  bool isWantedWide(uint32_t value) const;

  Graph &graph;
  ArrayRef<uint32_t> group;
  Kind half;
  MinCut cut;
  llvm::DenseMap<uint32_t, unsigned> numbers;
};

} // namespace

SmallVector<unsigned> Placer::openReaders(uint32_t value) const {
  SmallVector<unsigned> readers;
  for (uint32_t reader : graph.readersOf(value))
    if (std::optional<unsigned> number = lookup(reader))
      if (readers.empty() || readers.back() != *number)
        readers.push_back(*number);
  return readers;
}

bool Placer::isWantedWide(uint32_t value) const {
  return graph.values[value].wideUses > 0 ||
         llvm::any_of(graph.readersOf(value), [&](uint32_t reader) {
           return graph.nodes[reader].open && !lookup(reader);
         });
}

/// What a wide op reads and writes beyond a narrow one.
void Placer::addTraffic(uint32_t node) {
  int64_t elements = 0;
  auto add = [&](const Slot &slot) {
    if (slot.eligible)
      elements += getElements(graph.values[slot.value]);
  };
  llvm::for_each(graph.operandsOf(graph.nodes[node]), add);
  llvm::for_each(graph.resultsOf(graph.nodes[node]), add);
  cut.addSource(*lookup(node), elements * trafficCost);
}

/// A float32 value from outside the group: one cast for all narrow readers.
void Placer::addSource(uint32_t number) {
  const ValueState &value = graph.values[number];
  if (value.isConstant() || value.halfUses > 0 || value.alsoAs == half)
    return;
  int64_t cost = getElements(value) * castCost;
  SmallVector<unsigned> readers = openReaders(number);
  if (readers.size() == 1) {
    cut.addSink(readers.front(), cost);
    return;
  }
  unsigned copy = cut.addNode();
  for (unsigned reader : readers)
    cut.addEdge(reader, copy, MinCut::infinite);
  cut.addSink(copy, cost);
}

/// A result: one cast down if the op is wide and a reader narrow, one cast up
/// the other way around.
void Placer::addResult(uint32_t node, const Slot &slot) {
  unsigned op = *lookup(node);
  const ValueState &value = graph.values[slot.value];
  int64_t cost = getElements(value) * castCost;
  SmallVector<unsigned> readers = openReaders(slot.value);
  if (value.halfUses > 0) {
    cut.addSource(op, cost);
  } else if (!readers.empty()) {
    unsigned copy = cut.addNode();
    cut.addEdge(copy, op, cost);
    for (unsigned reader : readers)
      cut.addEdge(reader, copy, MinCut::infinite);
  }
  if (isWantedWide(slot.value)) {
    cut.addSink(op, cost);
  } else if (!readers.empty()) {
    unsigned copy = cut.addNode();
    cut.addEdge(op, copy, cost);
    for (unsigned reader : readers)
      cut.addEdge(copy, reader, MinCut::infinite);
  }
}

/// A cast of the user from integers gives a half type only when no reader
/// would get rounded numbers back in float32.
void Placer::addRetargetedCast(uint32_t node, uint32_t value) {
  unsigned op = *lookup(node);
  if (isWantedWide(value))
    cut.addSink(op, MinCut::infinite);
  for (unsigned reader : openReaders(value))
    cut.addEdge(op, reader, MinCut::infinite);
}

void Placer::solve(SmallVectorImpl<uint32_t> &narrow) {
  for (uint32_t node : group)
    numbers[node] = cut.addNode();
  llvm::DenseSet<uint32_t> seen;
  for (uint32_t node : group) {
    addTraffic(node);
    for (const Slot &slot : graph.operandsOf(graph.nodes[node])) {
      const ValueState &value = graph.values[slot.value];
      bool isInside =
          value.producer != none && lookup(value.producer).has_value();
      if (slot.eligible && !isInside && seen.insert(slot.value).second)
        addSource(slot.value);
    }
    bool isCast = isa<onnx::CastOp>(graph.nodes[node].op);
    for (const Slot &slot : graph.resultsOf(graph.nodes[node]))
      if (slot.eligible) {
        addResult(node, slot);
        if (isCast)
          addRetargetedCast(node, slot.value);
      }
  }
  // Out of steps: all in float32, which is always right.
  if (!cut.solve(uint64_t(cut.size()) * stepsPerNode))
    return;
  for (uint32_t node : group)
    if (cut.isOnSourceSide(*lookup(node)))
      narrow.push_back(node);
}

/// Looks at the large constants of a group that may become narrow; true when
/// one of them keeps its op wide.
bool Assigner::scanGroup(ArrayRef<uint32_t> group) {
  bool found = false;
  for (uint32_t number : group) {
    const Node &node = graph.nodes[number];
    if (!node.keeps && keepsLossyWide(node))
      found |= findLoss(node, node.scope->half, /*scanLarge=*/true).forbids;
  }
  return found;
}

/// False when a constant turned up that changes what was decided so far.
bool Assigner::placeGroup(ArrayRef<uint32_t> group) {
  Kind half = graph.nodes[group.front()].scope->half;
  bool wanted = llvm::any_of(group, [&](uint32_t node) {
    return llvm::any_of(graph.resultsOf(graph.nodes[node]), [&](Slot &slot) {
      return graph.values[slot.value].halfUses > 0;
    });
  });
  if (!wanted)
    return true;
  if (scanGroup(group))
    return false;
  SmallVector<uint32_t> narrow;
  Placer(graph, group, half).solve(narrow);
  for (uint32_t number : narrow) {
    graph.nodes[number].open = false;
    setHalf(graph.nodes[number], half, DecisionRule::MinCut);
  }
  return true;
}

namespace {

/// Disjoint sets of nodes.
class Groups {
public:
  explicit Groups(size_t size) : parent(size) {
    std::iota(parent.begin(), parent.end(), 0);
  }
  uint32_t find(uint32_t node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  }
  /// The smaller number leads, so that groups keep program order.
  void join(uint32_t left, uint32_t right) {
    left = find(left), right = find(right);
    parent[std::max(left, right)] = std::min(left, right);
  }

private:
  std::vector<uint32_t> parent;
};

} // namespace

/// Open nodes grouped by shared values, groups and members in program order.
std::vector<SmallVector<uint32_t>> Assigner::groupOpenNodes() {
  Groups groups(graph.nodes.size());
  std::vector<uint32_t> firstOfValue(graph.values.size(), none);
  auto touch = [&](uint32_t number, const Slot &slot) {
    if (!slot.eligible || graph.values[slot.value].isConstant())
      return;
    uint32_t &first = firstOfValue[slot.value];
    if (first == none)
      first = number;
    else if (graph.nodes[first].scope->half == graph.nodes[number].scope->half)
      groups.join(first, number);
  };
  std::vector<uint32_t> open;
  for (auto [number, node] : llvm::enumerate(graph.nodes)) {
    if (!node.open)
      continue;
    open.push_back(number);
    for (const Slot &slot : graph.operandsOf(node))
      touch(number, slot);
    for (const Slot &slot : graph.resultsOf(node))
      touch(number, slot);
  }
  std::vector<SmallVector<uint32_t>> result;
  std::vector<uint32_t> groupOf(graph.nodes.size(), none);
  for (uint32_t number : open) {
    uint32_t &group = groupOf[groups.find(number)];
    if (group == none) {
      group = result.size();
      result.emplace_back();
    }
    result[group].push_back(number);
  }
  return result;
}

bool Assigner::place() {
  for (const SmallVector<uint32_t> &group : groupOpenNodes())
    if (!placeGroup(group))
      return false;
  for (Node &node : graph.nodes)
    node.open = false;
  for (ValueState &value : graph.values)
    value.open = false;
  return true;
}
