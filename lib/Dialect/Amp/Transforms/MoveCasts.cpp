//===- MoveCasts.cpp - Casts across data movement -------------------------===//
//
// Chooses wide or narrow for every connected group of data movement ops by a
// minimum cut over bytes, under the condition that no value changes.
//
//===----------------------------------------------------------------------===//

#include "MoveCasts.h"
#include "CastUtils.h"
#include "GraphTypes.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Amp/Transforms/MinCut.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.DEF.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.R.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace amp;

namespace {

/// What an element costs: read and written by a cast between 2 and 4 bytes, or
/// moved narrow or wide by an op.
constexpr int64_t bytesPerCast = 6, bytesNarrow = 2, bytesWide = 4;
/// Looks at an edge that a group of ops is worth, per op.
constexpr uint64_t stepsPerOp = 2000;

bool isHalf(Type type) { return isa<Float16Type, BFloat16Type>(type); }

/// Casting a constant costs nothing: the exporter does it.
int64_t getCastCost(Value value) {
  return onnx::getConstantValue(value) ? 0
                                       : bytesPerCast * countElements(value);
}

/// Elements an op reads and writes. A new shape for the same data is free.
int64_t countMovedElements(Operation *op) {
  if (isa<onnx::FlattenOp, onnx::IdentityOp, onnx::ReshapeOp, onnx::SqueezeOp,
          onnx::UnsqueezeOp>(op))
    return 0;
  int64_t read = 0, written = 0;
  for (Value operand : op->getOperands())
    if (isCastable(operand.getType()))
      read += countElements(operand);
  for (Value result : op->getResults())
    if (isCastable(result.getType()))
      written += countElements(result);
  return std::min(read, written) + written;
}

/// Whether `op` moves data in one float type that is ours to choose.
bool isMovable(Operation *op) {
  DecisionAttr decision = getDecision(op);
  if (!decision || !isa<onnx::SchemaOpInterface>(op) ||
      isSettled(decision.getRule()) ||
      (decision.getOpClass() != OpClass::Move && !isa<onnx::ConcatOp>(op)))
    return false;
  Type common;
  auto agrees = [&](Value value) {
    if (!isCastable(value.getType()))
      return true;
    common = common ? common : getElementType(value);
    return getElementType(value) == common;
  };
  return llvm::any_of(op->getResultTypes(), isCastable) &&
         llvm::all_of(op->getOperands(), agrees) &&
         llvm::all_of(op->getResults(), agrees);
}

/// Whether the schema allows the op in the type.
bool isLegal(Operation *op, Type elementType) {
  const onnx::OpSpec &spec = cast<onnx::SchemaOpInterface>(op).getSpec();
  auto allowed = [&](Type type, const onnx::FormalSpec &formal) {
    return !isCastable(type) ||
           onnx::isInTypeSet(onnx::withElementType(type, elementType),
                             formal.typeSet);
  };
  for (OpOperand &operand : op->getOpOperands())
    if (!allowed(operand.get().getType(), spec.inputs[onnx::getFormalOfOperand(
                                              op, operand.getOperandNumber())]))
      return false;
  for (OpResult result : op->getResults())
    if (!allowed(result.getType(), spec.outputs[onnx::getFormalOfResult(
                                       op, result.getResultNumber())]))
      return false;
  return true;
}

/// A value that casts hide behind: its uses are its own and those of its casts.
struct Root {
  Value value;
  /// The op of the group that makes it, if one does.
  std::optional<unsigned> producer;
  SmallVector<OpOperand *> uses;
};

/// Ops that are connected, so that one's type decides about casts at another.
struct Group {
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<Root> roots;
  /// Ops that something wide flows into: they are narrow only where that
  /// rounds nothing that is read wide.
  std::vector<bool> readsWide;
  std::vector<bool> isNarrow;
  Type halfType;
};

class CastMover {
public:
  explicit CastMover(func::FuncOp function)
      : function(function), casts(function.getContext()) {}
  unsigned run();

private:
  Type getWantedHalf(Value value);
  void findFreeCasts();
  Value getRoot(Value value);
  std::vector<Group> buildGroups();
  void addRoots(Group &group);
  bool chooseHalfType(Group &group);
  void findWideReaders(Group &group);
  std::optional<std::vector<bool>> cut(const Group &group);
  void cutRoot(MinCut &network, const Group &group, const Root &root);
  int64_t getCost(const Group &group, const std::vector<bool> &isNarrow);
  void apply(Group &group, const std::vector<bool> &isNarrow);

  func::FuncOp function;
  CastBuilder casts;
  SmallVector<Operation *> movable;
  llvm::DenseSet<Operation *> movableSet;
  /// Casts that may move: those that widen, and those that narrow what nobody
  /// downstream reads wide.
  llvm::DenseSet<Operation *> freeCasts;
  /// Per cast and movable op, the half type all its readers want in the end.
  llvm::DenseMap<Operation *, Type> wantedHalf;
  SmallVector<Value> changed;
};

} // namespace

//===----------------------------------------------------------------------===//
// Groups of ops
//===----------------------------------------------------------------------===//

/// The half type that all who read `value` want in the end; null when one wants
/// it wide, they differ, or nobody reads it.
Type CastMover::getWantedHalf(Value value) {
  Type common;
  for (Operation *user : value.getUsers()) {
    Type wanted = getElementType(value);
    if (auto cast = dyn_cast<CastOp>(user))
      wanted = getElementType(cast.getResult());
    if (!isHalf(wanted) || movableSet.contains(user))
      wanted = wantedHalf.lookup(user);
    if (!wanted || (common && wanted != common))
      return {};
    common = wanted;
  }
  return common;
}

void CastMover::findFreeCasts() {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isMovable(op)) {
      movable.push_back(op);
      movableSet.insert(op);
      ops.push_back(op);
    } else if (isa<CastOp>(op)) {
      ops.push_back(op);
    }
  });
  // Backwards, users come before what they use.
  for (Operation *op : llvm::reverse(ops)) {
    Type common;
    bool agree = true;
    for (Value result : op->getResults()) {
      if (result.use_empty() || !isCastable(result.getType()))
        continue;
      Type wanted = getWantedHalf(result);
      agree &= wanted && (!common || wanted == common);
      common = wanted;
    }
    wantedHalf[op] = agree ? common : Type();
    auto cast = dyn_cast<CastOp>(op);
    if (!cast || cast.getClamp())
      continue;
    Type from = getElementType(cast.getInput());
    Type to = getElementType(cast.getResult());
    if (holdsAllValuesOf(to, from) || (from.isF32() && wantedHalf[op] == to))
      freeCasts.insert(cast);
  }
}

/// The value that `value` is a copy of, with free casts looked through.
Value CastMover::getRoot(Value value) {
  for (auto cast = value.getDefiningOp<CastOp>();
       cast && freeCasts.contains(cast); cast = value.getDefiningOp<CastOp>())
    value = cast.getInput();
  return value;
}

/// Ops are connected through values, and through reading the same value, which
/// they share a cast of.
std::vector<Group> CastMover::buildGroups() {
  llvm::EquivalenceClasses<void *> connected;
  for (Operation *op : movable) {
    connected.insert(op);
    for (Value operand : op->getOperands()) {
      if (!isCastable(operand.getType()))
        continue;
      Value root = getRoot(operand);
      Operation *producer = root.getDefiningOp();
      connected.unionSets(op, producer && movableSet.contains(producer)
                                  ? producer
                                  : root.getAsOpaquePointer());
    }
  }
  llvm::MapVector<void *, Group> groups;
  for (Operation *op : movable) {
    Group &group = groups[connected.getLeaderValue(op)];
    group.numbers[op] = group.ops.size();
    group.ops.push_back(op);
  }
  std::vector<Group> result;
  for (auto &[leader, group] : groups)
    result.push_back(std::move(group));
  return result;
}

void CastMover::addRoots(Group &group) {
  llvm::SetVector<Value> values;
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands())
      if (isCastable(operand.getType()))
        values.insert(getRoot(operand));
    for (Value result : op->getResults())
      if (isCastable(result.getType()))
        values.insert(result);
  }
  for (Value value : values) {
    Root &root = group.roots.emplace_back();
    root.value = value;
    auto producer = group.numbers.find(value.getDefiningOp());
    if (producer != group.numbers.end())
      root.producer = producer->second;
    SmallVector<Value> copies{value};
    while (!copies.empty())
      for (OpOperand &use : copies.pop_back_val().getUses())
        if (freeCasts.contains(use.getOwner()))
          copies.push_back(use.getOwner()->getResult(0));
        else
          root.uses.push_back(&use);
  }
}

/// The one half type around the ops; false when there is none, or two.
bool CastMover::chooseHalfType(Group &group) {
  bool agree = true;
  auto see = [&](Type type) {
    if (!isHalf(type))
      return;
    agree &= !group.halfType || group.halfType == type;
    group.halfType = type;
  };
  for (Root &root : group.roots) {
    see(getElementType(root.value));
    for (OpOperand *use : root.uses)
      see(getElementType(use->get()));
  }
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (isCastable(result.getType())) {
        group.isNarrow.push_back(isHalf(getElementType(result)));
        break;
      }
  return agree && group.halfType;
}

/// Ops are in program order, so what flows into an op is known before.
void CastMover::findWideReaders(Group &group) {
  for (Operation *op : group.ops) {
    bool readsWide = false;
    for (Value operand : op->getOperands()) {
      if (!isCastable(operand.getType()))
        continue;
      Value root = getRoot(operand);
      auto producer = group.numbers.find(root.getDefiningOp());
      readsWide |= producer != group.numbers.end()
                       ? group.readsWide[producer->second]
                       : getElementType(root).isF32();
    }
    group.readsWide.push_back(readsWide);
  }
}

//===----------------------------------------------------------------------===//
// The cut: the source's side is wide, the sink's narrow
//===----------------------------------------------------------------------===//

/// A copy of the root in the other type is a node of its own, paid for once
/// however many read it.
void CastMover::cutRoot(MinCut &network, const Group &group, const Root &root) {
  int64_t cost = getCastCost(root.value);
  bool isWide = !root.producer && getElementType(root.value).isF32();
  bool mustNotRound = root.producer && group.readsWide[*root.producer];
  unsigned narrowCopy = network.addNode();
  unsigned wideCopy = mustNotRound ? *root.producer : network.addNode();
  if (root.producer) {
    network.addEdge(*root.producer, narrowCopy, cost);
    if (!mustNotRound)
      network.addEdge(wideCopy, *root.producer, cost);
  } else if (isWide) {
    network.addSource(narrowCopy, cost);
  } else {
    network.addSink(wideCopy, cost);
  }
  for (OpOperand *use : root.uses) {
    auto reader = group.numbers.find(use->getOwner());
    if (reader != group.numbers.end()) {
      network.addEdge(narrowCopy, reader->second, MinCut::infinite);
      network.addEdge(reader->second, wideCopy, MinCut::infinite);
    } else if (isHalf(getElementType(use->get()))) {
      network.addSink(narrowCopy, MinCut::infinite);
    } else {
      network.addSource(wideCopy, MinCut::infinite);
    }
  }
}

std::optional<std::vector<bool>> CastMover::cut(const Group &group) {
  MinCut network;
  for (Operation *op : group.ops) {
    unsigned node = network.addNode();
    int64_t elements = countMovedElements(op);
    network.addSink(node, bytesWide * elements);
    network.addSource(node, isLegal(op, group.halfType) ? bytesNarrow * elements
                                                        : MinCut::infinite);
  }
  for (const Root &root : group.roots)
    cutRoot(network, group, root);
  if (!network.solve(stepsPerOp * (group.ops.size() + group.roots.size())))
    return std::nullopt;
  std::vector<bool> isNarrow;
  for (unsigned node = 0; node < group.ops.size(); ++node)
    isNarrow.push_back(!network.isOnSourceSide(node));
  return isNarrow;
}

int64_t CastMover::getCost(const Group &group,
                           const std::vector<bool> &isNarrow) {
  int64_t cost = 0;
  for (auto [op, narrow] : llvm::zip_equal(group.ops, isNarrow))
    cost += countMovedElements(op) * (narrow ? bytesNarrow : bytesWide);
  for (const Root &root : group.roots) {
    bool narrow = root.producer ? isNarrow[*root.producer]
                                : isHalf(getElementType(root.value));
    if (llvm::any_of(root.uses, [&](OpOperand *use) {
          auto reader = group.numbers.find(use->getOwner());
          return narrow != (reader != group.numbers.end()
                                ? isNarrow[reader->second]
                                : isHalf(getElementType(use->get())));
        }))
      cost += getCastCost(root.value);
  }
  return cost;
}

//===----------------------------------------------------------------------===//
// Changing the IR
//===----------------------------------------------------------------------===//

/// The decision of `op` with every type it decides, or has, being `type`.
static void decideAll(Operation *op, Type type) {
  auto decide = [&](auto values) {
    return llvm::map_to_vector(values, [&](Value value) {
      return isCastable(value.getType()) ? type : Type();
    });
  };
  setDecision(op, DecisionAttr::get(
                      op->getContext(), getDecision(op).getOpClass(),
                      decide(op->getOperands()), decide(op->getResults()),
                      DecisionRule::MinCut,
                      "Only moves data; in this type the fewest bytes move."));
}

void CastMover::apply(Group &group, const std::vector<bool> &isNarrow) {
  auto typeOf = [&](unsigned number) -> Type {
    return isNarrow[number] ? group.halfType
                            : Float32Type::get(function.getContext());
  };
  // What fixed readers want is the type of what they read now.
  std::vector<std::pair<OpOperand *, Type>> wanted;
  for (Root &root : group.roots)
    for (OpOperand *use : root.uses) {
      auto reader = group.numbers.find(use->getOwner());
      wanted.push_back({use, reader != group.numbers.end()
                                 ? typeOf(reader->second)
                                 : getElementType(use->get())});
    }
  for (auto [number, op] : llvm::enumerate(group.ops)) {
    if (isNarrow[number] == group.isNarrow[number])
      continue;
    for (Value result : op->getResults())
      if (isCastable(result.getType())) {
        result.setType(onnx::withElementType(result.getType(), typeOf(number)));
        changed.push_back(result);
      }
    decideAll(op, typeOf(number));
  }
  for (auto [use, type] : wanted) {
    Value root = getRoot(use->get());
    Value value =
        getElementType(root) == type ? root : casts.getCast(root, type);
    if (value != use->get())
      replaceUse(*use, value);
  }
}

unsigned CastMover::run() {
  findFreeCasts();
  if (freeCasts.empty() || movable.empty())
    return 0;
  for (Group &group : buildGroups()) {
    addRoots(group);
    if (!chooseHalfType(group))
      continue;
    findWideReaders(group);
    std::optional<std::vector<bool>> isNarrow = cut(group);
    // Equal is not better: a second run changes nothing.
    if (isNarrow && getCost(group, *isNarrow) < getCost(group, group.isNarrow))
      apply(group, *isNarrow);
  }
  updateDeclaredTypes(function, changed);
  return changed.size();
}

unsigned amp::moveCasts(func::FuncOp function) {
  return CastMover(function).run();
}
