//===- Fusion.cpp - Which operations become one kernel --------------------===//
//
// Each operation joins the group of one of its producers if the group's space
// is its own and no path leads out of the group and back in.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Fusion.h"
#include "GroupDims.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include <queue>

using namespace mlir;
using namespace amp::plan;

namespace {

/// Rows that are few and long are cut into blocks instead (Reduce).
constexpr int64_t maxSingleRow = 16384;
constexpr int64_t minRows = 4;
/// Bounds the code of one kernel.
constexpr size_t maxGroupOps = 160;

SmallVector<int64_t> dropUnits(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> result;
  llvm::copy_if(shape, std::back_inserter(result),
                [](int64_t size) { return size != 1; });
  return result;
}

/// Whether `reduced` are the last dimensions of `space`.
bool isTrailing(ArrayRef<int> reduced, ArrayRef<int64_t> space) {
  return llvm::equal(
      reduced, llvm::seq<int>(space.size() - reduced.size(), space.size()));
}

bool isRowsShape(const Group &group) {
  return group.getNumRows() >= minRows || group.getNumColumns() <= maxSingleRow;
}

class Fusion {
public:
  Fusion(func::FuncOp function, const FusionOptions &options)
      : function(function), options(options) {}

  SmallVector<Group> run() {
    llvm::DenseSet<Operation *> live = findLive();
    for (Operation &op : function.front().without_terminator())
      if (!isConstant(&op) && !isView(&op) && live.contains(&op))
        add(&op);
    return sort();
  }

private:
  llvm::DenseSet<Operation *> findLive();
  void add(Operation *op);
  Group makeGroup(Operation *op);
  bool accept(const Group &group, Operation *op, Group &joined);
  bool acceptReduction(const Group &group, Operation *op,
                       const Reduction &reduction, Group &joined);
  bool isUsedOnlyWithin(const Group &group, Operation *op);
  bool leadsToReduce(Operation *op);
  llvm::SmallSetVector<int, 4> getProducers(ArrayRef<Operation *> ops,
                                            int except);
  bool mayJoin(int group, Operation *op);
  bool mayMerge(int group, int other);
  void absorbProducers(int group, Operation *op);
  void absorb(int group, int other);
  void updateAncestors(int group);
  void setOutputs(Group &group);
  SmallVector<Group> sort();

  func::FuncOp function;
  const FusionOptions &options;
  std::vector<Group> groups;
  std::vector<llvm::BitVector> ancestors;
  DenseMap<Operation *, int> groupOf;
};

} // namespace

/// Operations that the results of the function depend on.
llvm::DenseSet<Operation *> Fusion::findLive() {
  llvm::DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(function.front())) {
    bool isUsed = op.hasTrait<OpTrait::IsTerminator>() ||
                  llvm::any_of(op.getUsers(), [&](Operation *user) {
                    return live.contains(user);
                  });
    if (isUsed)
      live.insert(&op);
  }
  return live;
}

/// The group of `op` alone.
Group Fusion::makeGroup(Operation *op) {
  Group group;
  group.ops.push_back(op);
  if (options.isElementwise(op)) {
    group.kind = GroupKind::Map;
    ArrayRef<int64_t> shape = getShape(op->getResult(0));
    group.space = dropUnits(shape);
    group.dims[op] =
        *matchDims(group.space, getIdentityDims(group.space), shape);
    return group;
  }
  std::optional<Reduction> reduction = getReduction(op);
  if (!reduction)
    return group;
  group.kind = GroupKind::Reduce;
  group.space = dropUnits(getShape(op->getOperand(0)));
  SmallVector<int> dims;
  SmallVector<int> reduced = *getReducedDims(group, op, *reduction, dims);
  group.dims[op] = dims;
  if (isTrailing(reduced, group.space)) {
    group.numInner = reduced.size();
    if (isRowsShape(group))
      group.kind = GroupKind::Rows;
    else
      group.numInner = 0;
  }
  return group;
}

void Fusion::add(Operation *op) {
  int own = groups.size();
  groups.push_back(makeGroup(op));
  ancestors.emplace_back();
  for (llvm::BitVector &set : ancestors)
    set.resize(groups.size());
  groupOf[op] = own;
  updateAncestors(own);
  if (!options.fuse || groups[own].kind == GroupKind::Custom)
    return;
  bool towardsReduce = leadsToReduce(op);
  for (int producer : getProducers(op, own)) {
    Group joined;
    if (!accept(groups[producer], op, joined) || !mayJoin(producer, op))
      continue;
    // Others read the producer: what only a Reduce group reads stays apart.
    if (towardsReduce && !leadsToReduce(groups[producer].ops.back()))
      continue;
    // The group made for `op` alone stays behind, empty.
    groups[own].ops.clear();
    groups[producer] = std::move(joined);
    groupOf[op] = producer;
    updateAncestors(producer);
    absorbProducers(producer, op);
    return;
  }
}

/// Groups other than `except` that produce operands of `ops`.
llvm::SmallSetVector<int, 4> Fusion::getProducers(ArrayRef<Operation *> ops,
                                                  int except) {
  llvm::SmallSetVector<int, 4> result;
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      auto found = groupOf.find(stripViews(operand).getDefiningOp());
      if (found != groupOf.end() && found->second != except)
        result.insert(found->second);
    }
  return result;
}

/// `joined` is `group` with `op` in it, if that is a group.
bool Fusion::accept(const Group &group, Operation *op, Group &joined) {
  if ((group.kind != GroupKind::Map && group.kind != GroupKind::Rows) ||
      group.ops.size() >= maxGroupOps)
    return false;
  if (std::optional<Reduction> reduction = getReduction(op))
    return acceptReduction(group, op, *reduction, joined);
  auto dims = getElementwiseDims(group, op);
  if (!dims)
    return false;
  joined = group;
  joined.ops.push_back(op);
  joined.dims[op] = *dims;
  return isInnerOneLoop(joined, joined.numInner);
}

/// Whether a group's reduction walks its space in the same loops as it would
/// alone: the order of its sum does not depend on what is fused to it.
static bool walksAsAlone(const Group &group, ArrayRef<int> reduced) {
  SmallVector<int64_t> kinds(group.space.size(), 0);
  for (int dim : reduced)
    kinds[dim] = 1;
  Access dense{0, getDenseStrides(group.space)};
  SmallVector<int64_t> alone = collapse(group.space, kinds, {&dense}).sizes;
  SmallVector<Access> accesses;
  for (Operation *op : group.ops)
    for (Value operand : getDataOperands(op))
      if (!group.getProducer(operand))
        accesses.push_back(getAccess(group, op, operand));
  SmallVector<Access *> pointers;
  for (Access &access : accesses)
    pointers.push_back(&access);
  return collapse(group.space, kinds, pointers).sizes == alone;
}

bool Fusion::acceptReduction(const Group &group, Operation *op,
                             const Reduction &reduction, Group &joined) {
  SmallVector<int> dims;
  auto reduced = getReducedDims(group, op, reduction, dims);
  if (!reduced)
    return false;
  joined = group;
  joined.ops.push_back(op);
  joined.dims[op] = dims;
  joined.kind = GroupKind::Rows;
  joined.numInner = reduced->size();
  if (isTrailing(*reduced, group.space) && isRowsShape(joined))
    return (group.kind == GroupKind::Map ||
            group.numInner == joined.numInner) &&
           isInnerOneLoop(joined, joined.numInner);
  joined.kind = GroupKind::Reduce;
  joined.numInner = 0;
  return group.kind == GroupKind::Map && isUsedOnlyWithin(group, op) &&
         walksAsAlone(joined, *reduced);
}

/// Whether nothing but the group and `op` reads the group's results.
bool Fusion::isUsedOnlyWithin(const Group &group, Operation *op) {
  bool within = true;
  for (Operation *member : group.ops)
    forEachUse(member->getResult(0), [&](OpOperand &use) {
      within &= use.getOwner() == op || group.contains(use.getOwner());
    });
  return within;
}

/// Whether the result of `op` goes through elementwise operations alone into
/// one reduction that makes a Reduce group: there it needs no memory.
bool Fusion::leadsToReduce(Operation *op) {
  while (op->hasOneUse()) {
    Operation *user = *op->user_begin();
    if (getReduction(user))
      return makeGroup(user).kind == GroupKind::Reduce;
    if (!options.isElementwise(user) ||
        getShape(user->getResult(0)) != getShape(op->getResult(0)))
      return false;
    op = user;
  }
  return false;
}

/// Whether no operand of `op` from elsewhere depends on the group.
bool Fusion::mayJoin(int group, Operation *op) {
  for (int other : getProducers(op, group))
    if (ancestors[other].test(group))
      return false;
  return true;
}

/// Whether the two groups could run as one: no path between them leads through
/// a third.
bool Fusion::mayMerge(int group, int other) {
  auto clear = [&](int from, int to) {
    for (int producer : getProducers(groups[to].ops, to))
      if (producer != from && ancestors[producer].test(from))
        return false;
    return true;
  };
  return clear(group, other) && clear(other, group);
}

/// Draws into the group of `op` what else produces its operands over the same
/// space.
void Fusion::absorbProducers(int group, Operation *op) {
  for (int other : getProducers(op, group)) {
    Group &into = groups[group], &from = groups[other];
    bool isMap = from.kind == GroupKind::Map;
    bool isRows = from.kind == GroupKind::Rows &&
                  into.kind == GroupKind::Rows &&
                  from.numInner == into.numInner;
    if ((!isMap && !isRows) || from.space != into.space ||
        into.ops.size() + from.ops.size() > maxGroupOps)
      continue;
    // `op` must see the dimensions of both groups alike.
    Group both = into;
    both.ops.append(from.ops);
    both.dims.insert(from.dims.begin(), from.dims.end());
    auto dims = getReduction(op) ? std::optional(into.dims[op])
                                 : getElementwiseDims(both, op);
    if (dims != std::optional(into.dims[op]))
      continue;
    if (into.kind == GroupKind::Reduce)
      continue;
    if (!mayMerge(group, other) || !isInnerOneLoop(both, both.numInner))
      continue;
    absorb(group, other);
  }
}

void Fusion::absorb(int group, int other) {
  Group &into = groups[group], &from = groups[other];
  for (Operation *op : from.ops)
    groupOf[op] = group;
  into.ops.append(from.ops);
  llvm::sort(into.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  into.dims.insert(from.dims.begin(), from.dims.end());
  from.ops.clear();
  ancestors[group] |= ancestors[other];
  // Whoever came after the other group comes after this one.
  for (llvm::BitVector &set : ancestors)
    if (set.test(other))
      set.set(group);
  ancestors[group].reset(group);
  updateAncestors(group);
}

/// Enters what the group's operands come from, for it and for all after it.
void Fusion::updateAncestors(int group) {
  llvm::BitVector &own = ancestors[group];
  for (int producer : getProducers(groups[group].ops, group)) {
    own |= ancestors[producer];
    own.set(producer);
  }
  for (auto [other, set] : llvm::enumerate(ancestors))
    if (static_cast<int>(other) != group && set.test(group))
      set |= own;
}

//===----------------------------------------------------------------------===//
// Order and outputs
//===----------------------------------------------------------------------===//

void Fusion::setOutputs(Group &group) {
  for (Operation *op : group.ops)
    for (Value result : op->getResults()) {
      bool escapes = group.kind == GroupKind::Custom;
      forEachUse(result, [&](OpOperand &use) {
        escapes |= !group.contains(use.getOwner());
      });
      if (escapes)
        group.outputs.push_back(result);
    }
}

SmallVector<Group> Fusion::sort() {
  std::vector<int> waiting(groups.size());
  std::vector<SmallVector<int>> readers(groups.size());
  using Entry = std::pair<int, int>; // position of the first op, group
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  DenseMap<Operation *, int> position;
  for (Operation &op : function.front())
    position[&op] = position.size();
  auto push = [&](int group) {
    ready.push({position[groups[group].ops.back()], group});
  };
  for (int group = 0, e = groups.size(); group < e; ++group) {
    auto producers = getProducers(groups[group].ops, group);
    waiting[group] = producers.size();
    for (int producer : producers)
      readers[producer].push_back(group);
    if (producers.empty() && !groups[group].ops.empty())
      push(group);
  }
  SmallVector<Group> order;
  while (!ready.empty()) {
    int group = ready.top().second;
    ready.pop();
    setOutputs(groups[group]);
    for (int reader : readers[group])
      if (--waiting[reader] == 0)
        push(reader);
    order.push_back(std::move(groups[group]));
  }
  return order;
}

SmallVector<Group> amp::plan::fuse(func::FuncOp function,
                                   const FusionOptions &options) {
  return Fusion(function, options).run();
}
