//===- AssignPrecisionClassify.cpp - Classes before, attributes after -----===//
//
// What the tables make of each op, the order of the parts, and the decisions
// written to the ops.
//
//===----------------------------------------------------------------------===//

#include "AssignPrecision.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"

using namespace mlir;
using namespace amp;
using namespace amp::assign;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// The text of an attribute as policy files spell its values.
static std::optional<std::string> getAttributeText(Operation *op,
                                                   StringRef name) {
  Attribute attribute = op->getAttr(name);
  if (!attribute)
    return std::nullopt;
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.str();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return std::to_string(number.getInt());
  std::string printed;
  llvm::raw_string_ostream(printed) << attribute;
  return printed;
}

OpClass Assigner::classOf(const Node &node) {
  const Row &row = *node.info->row;
  if (row.cases.empty())
    return row.opClass;
  unsigned primary = node.info->fact->primary;
  OpView view;
  bool hasDimensions = false;
  for (const Slot &slot : graph.operandsOf(node)) {
    const ValueState &value = graph.values[slot.value];
    hasDimensions |= !value.isScalar;
    if (auto type = dyn_cast<RankedTensorType>(value.value.getType()))
      if (slot.formal == primary)
        view.rank = type.getRank();
  }
  auto attribute = [&](StringRef name) {
    return getAttributeText(node.op, name);
  };
  auto isWeak = [&](unsigned operand) {
    return hasDimensions &&
           llvm::any_of(graph.operandsOf(node), [&](const Slot &slot) {
             return slot.formal == operand && graph.values[slot.value].isScalar;
           });
  };
  view.attribute = attribute;
  view.isWeakOperand = isWeak;
  return row.classFor(view);
}

void Assigner::classifyOp(Node &node) {
  node.keeps = true;
  if (!node.info) {
    node.rule = DecisionRule::Unknown;
    return;
  }
  if (!node.scope->enabled) {
    node.rule = DecisionRule::Disabled;
    return;
  }
  if (!node.info->row) {
    node.opClass = OpClass::Wide;
    node.rule = DecisionRule::Unknown;
    return;
  }
  node.opClass = classOf(node);
  StringRef origin = node.info->row->origin;
  node.rule = node.tableRule = origin == "--allow"  ? DecisionRule::Allow
                               : origin == "--deny" ? DecisionRule::Deny
                                                    : DecisionRule::Table;
  if (node.opClass == OpClass::Never)
    return;
  VarSet vars = node.info->decided(node.opClass);
  bool hasHalf = false, decides = false;
  auto look = [&](const Slot &slot) {
    hasHalf |= isHalf(graph.values[slot.value].declared);
    decides |= slot.eligible && contains(vars, slot.var);
  };
  llvm::for_each(graph.operandsOf(node), look);
  llvm::for_each(graph.resultsOf(node), look);
  if (hasHalf)
    node.rule = DecisionRule::Existing;
  node.keeps = hasHalf || !decides;
}

/// A constant that is only moved, by constants, is still one.
void Assigner::followConstants(const Node &node) {
  if (node.opClass != OpClass::Move || node.keeps)
    return;
  uint32_t root = none;
  for (Value operand : node.op->getOperands()) {
    uint32_t value = graph.lookup(operand);
    if (value == none || graph.values[value].declared != Kind::F32) {
      if (!isa_and_nonnull<onnx::InitializerOp, onnx::ConstantOp>(
              operand.getDefiningOp()))
        return;
      continue;
    }
    if (root != none || !graph.values[value].isConstant())
      return;
    root = graph.values[value].root;
  }
  for (const Slot &slot : graph.resultsOf(node))
    graph.values[slot.value].root = root;
}

/// Backwards: values that a narrow op reads, directly or behind ops that only
/// move them, must fit the half type anyway.
void Assigner::markAssumed() {
  for (const Node &node : llvm::reverse(graph.nodes)) {
    if (node.step != Step::Op || node.keeps || node.forced == Kind::F32)
      continue;
    VarSet vars = node.info->decided(node.opClass);
    bool reads =
        node.opClass == OpClass::Narrow &&
        contains(node.info->legal(node.scope->half), node.info->primaryVar);
    if (node.opClass == OpClass::Move || isa<onnx::ConcatOp>(node.op))
      reads |= llvm::any_of(graph.resultsOf(node), [&](const Slot &slot) {
        return graph.values[slot.value].assumed;
      });
    if (!reads)
      continue;
    for (const Slot &slot : graph.operandsOf(node))
      if (slot.eligible && contains(vars, slot.var))
        graph.values[slot.value].assumed = true;
  }
}

void Assigner::classify() {
  for (Node &node : graph.nodes) {
    if (node.step != Step::Op)
      continue;
    classifyOp(node);
    followConstants(node);
  }
}

void Assigner::decide() {
  findGuards();
  markAssumed();
  // A pass over the ops may turn up constants that would have changed what was
  // decided before them; there are few, and each is looked at once.
  do {
    forward();
    widenBeforeWide();
  } while (!place());
  widenBeforeWide();
  noteLosses();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {

/// Builds decisions; most ops of a graph have one of a few.
class Emitter {
public:
  Emitter(Graph &graph, MLIRContext *context)
      : graph(graph), context(context), f32(Float32Type::get(context)),
        f16(Float16Type::get(context)), bf16(BFloat16Type::get(context)),
        keeps(NoneType::get(context)),
        key(StringAttr::get(context, AmpDialect::getDecisionAttrName())) {}

  void emit(const Node &node);
  void emit(AutocastOp op);

private:
  Type getType(Kind kind) const {
    return kind == Kind::F16 ? f16 : kind == Kind::BF16 ? bf16 : f32;
  }
  void fill(SmallVectorImpl<Type> &types, ArrayRef<Slot> slots) const;
  void attach(Operation *op, DecisionAttr decision) const;
  StringAttr getNote(const Node &node);

  Graph &graph;
  MLIRContext *context;
  Type f32, f16, bf16, keeps;
  StringAttr key;
  /// Notes of the policies' rows.
  llvm::DenseMap<const OpInfo *, StringAttr> notes;
};

} // namespace

/// Slots that are no float32 in the source keep their types.
void Emitter::fill(SmallVectorImpl<Type> &types, ArrayRef<Slot> slots) const {
  for (const Slot &slot : slots)
    if (graph.values[slot.value].declared == Kind::F32)
      types[slot.number] = getType(slot.kind);
}

/// As setDecision, but the attributes stay sorted and are not looked up.
void Emitter::attach(Operation *op, DecisionAttr decision) const {
  SmallVector<NamedAttribute, 6> attributes;
  NamedAttribute added(key, decision);
  bool isAdded = false;
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    if (!isAdded && (attribute.getName() == key || added < attribute)) {
      attributes.push_back(added);
      isAdded = true;
    }
    if (attribute.getName() != key)
      attributes.push_back(attribute);
  }
  if (!isAdded)
    attributes.push_back(added);
  op->setDiscardableAttrs(DictionaryAttr::getWithSorted(context, attributes));
}

StringAttr Emitter::getNote(const Node &node) {
  if (node.note || !node.info || !node.info->row)
    return node.note;
  StringAttr &note = notes[node.info];
  if (!note && !node.info->row->note.empty())
    note = StringAttr::get(context, node.info->row->note);
  return note;
}

void Emitter::emit(const Node &node) {
  SmallVector<Type> operands(node.op->getNumOperands(), keeps);
  SmallVector<Type> results(node.op->getNumResults(), keeps);
  const Node &first = node.step == Step::Leave
                          ? graph.nodes[graph.regions[node.region].enter]
                          : node;
  fill(operands, graph.operandsOf(first));
  fill(results, graph.resultsOf(node));
  StringAttr by = node.by;
  if (!by && node.byValue != none)
    by = graph.nameOfValue(node.byValue);
  attach(node.op, DecisionAttr::get(context, node.opClass, operands, results,
                                    node.rule, getNote(node), by));
}

void Emitter::emit(AutocastOp op) {
  SmallVector<Type> results(op->getNumResults());
  bool any = false;
  for (auto [number, result] : llvm::enumerate(op.getResults()))
    if (uint32_t value = graph.lookup(result); value != none)
      if (graph.values[value].declared == Kind::F32) {
        results[number] = getType(graph.values[value].kind);
        any = true;
      }
  if (any)
    attach(op, DecisionAttr::get(context, OpClass::Never, {}, results,
                                 DecisionRule::Region));
}

void Assigner::emit() {
  if (graph.nodes.empty())
    return;
  Emitter emitter(graph, graph.nodes.front().op->getContext());
  for (const Node &node : graph.nodes)
    if (node.step == Step::Leave ||
        (node.step == Step::Op && !isa<CastOp>(node.op)))
      emitter.emit(node);
  for (AutocastOp op : graph.autocasts)
    emitter.emit(op);
}
