//===- OpsetPlan.cpp - The opset a model is written for -------------------===//
// Tries every node at the model's own opset and goes up where one refuses.
//===----------------------------------------------------------------------===//

#include "OpsetPlan.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "llvm/ADT/StringSet.h"
#include <onnx/defs/schema.h>

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using amp::onnx_opset::pinnedOpset;
using llvm::Error;
using ::onnx::NodeProto;

/// What a module without onnx.model is written for, unless it needs more.
static constexpr int defaultOpset = 21;

/// Lowest IR version of models of an opset (onnx.helper.VERSION_TABLE).
static int64_t getIrVersion(int opset) {
  struct Row {
    int opset, irVersion;
  };
  static constexpr Row rows[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10},
                                 {19, 9},  {15, 8},  {12, 7},  {11, 6},
                                 {10, 5},  {9, 4},   {1, 3}};
  for (const Row &row : rows)
    if (opset >= row.opset)
      return row.irVersion;
  return 3;
}

/// The newest opset that models of an IR version can have.
static int getNewestOpset(int64_t irVersion) {
  int opset = onnx_opset::getNewestOpset();
  while (opset > 1 && ::getIrVersion(opset) > irVersion)
    --opset;
  return opset;
}

/// All nodes of the function, inner ones included.
static SmallVector<NodeSite> collectSites(func::FuncOp function,
                                          const FunctionPlan &plan) {
  SmallVector<NodeSite> sites;
  function->walk([&](Operation *op) {
    if (isNode(op, plan))
      sites.push_back({op});
    if (!isa<amp::onnx::YieldOp, func::ReturnOp>(op))
      return;
    for (auto [index, output] :
         llvm::enumerate(plan.names.getOutputs(op->getBlock())))
      if (output.needsIdentity)
        sites.push_back({op, static_cast<int>(index)});
  });
  return sites;
}

/// The operator's name in the default domain; empty for other domains.
static StringRef getDefaultOpType(NodeSite site) {
  if (site.output >= 0)
    return "Identity";
  if (isa<CastOp>(site.op))
    return "Cast";
  if (auto node = dyn_cast<amp::onnx::NodeOp>(site.op))
    if (!node.getOpDomain().empty() && node.getOpDomain() != "ai.onnx")
      return {};
  return amp::onnx::getOpType(site.op);
}

int OpsetPlan::getWrittenFor(NodeSite site) const {
  auto node = dyn_cast<amp::onnx::NodeOp>(site.op);
  if (!node || site.output >= 0)
    return pinnedOpset;
  return node.getOpset().value_or(own);
}

/// What no opset knows is left as it is.
OpsetPlan::Work OpsetPlan::getWork(NodeSite site, int version) const {
  int from = getWrittenFor(site);
  StringRef type = getDefaultOpType(site);
  if (from == version || type.empty())
    return {false, false};
  auto compute = [&]() -> Work {
    if (!onnx_opset::needsConversion(type, from, version) ||
        !::onnx::OpSchemaRegistry::Schema(type.str()))
      return {false, false};
    return {true, onnx_opset::hasRule(type, from, version)};
  };
  if (site.output < 0 && isa<amp::onnx::NodeOp>(site.op))
    return compute();
  std::pair<const void *, int> key(
      site.output >= 0 ? nullptr : site.op->getName().getAsOpaquePointer(),
      version);
  auto [known, isNew] = work.try_emplace(key);
  if (isNew)
    known->second = compute();
  return known->second;
}

/// What tells nodes apart for steps without a rule: op, attributes and types;
/// empty for nodes that the dialect does not model.
std::string OpsetPlan::makeKey(NodeSite site) const {
  if (site.output < 0 && isa<amp::onnx::NodeOp>(site.op))
    return {};
  std::string key;
  auto add = [&](const void *pointer) {
    key.append(reinterpret_cast<const char *>(&pointer), sizeof(pointer));
  };
  auto addType = [&](Value value) {
    Type valueType = value ? plan.constants.getType(value) : Type();
    auto tensor = dyn_cast_or_null<TensorType>(valueType);
    add((tensor ? tensor.getElementType() : valueType).getAsOpaquePointer());
  };
  if (site.output >= 0) {
    addType(site.op->getOperand(site.output));
    return key;
  }
  add(site.op->getName().getAsOpaquePointer());
  auto schemaOp = dyn_cast<amp::onnx::SchemaOpInterface>(site.op);
  if (!schemaOp) {
    addType(site.op->getOperand(0));
    addType(site.op->getResult(0));
    return key;
  }
  for (const amp::onnx::AttrSpec &spec : schemaOp.getSpec().attributes) {
    Attribute value =
        site.op->getInherentAttr(spec.odsName).value_or(Attribute());
    // Tensors are looked at only for being there.
    add(value && spec.kind == amp::onnx::AttrKind::TENSOR
            ? value.getTypeID().getAsOpaquePointer()
            : value.getAsOpaquePointer());
  }
  // It may hold empty names of further inputs, which older forms lack.
  add(site.op->getDiscardableAttr(amp::onnx::OnnxDialect::getVerbatimAttrName())
          .getAsOpaquePointer());
  llvm::for_each(amp::onnx::getPositionalInputs(site.op), addType);
  add(nullptr);
  llvm::for_each(amp::onnx::getPositionalOutputs(site.op), addType);
  return key;
}

/// Tries the conversion, unless a node like this one has been tried.
Error OpsetPlan::check(NodeSite site, int version) {
  Work todo = getWork(site, version);
  if (!todo.isNeeded)
    return Error::success();
  std::string key;
  if (!todo.hasRule && version == opset)
    key = makeKey(site);
  if (!key.empty() && unchanged.contains(key))
    return Error::success();
  NodeProto node;
  buildNode(site, plan, node);
  NodeView view(site, plan, /*isTrial=*/true);
  llvm::Expected<onnx_opset::Rewritten> result =
      onnx_opset::convertNode(node, getWrittenFor(site), version, view);
  if (!result && keepConstant(site, version)) {
    llvm::consumeError(result.takeError());
    return Error::success();
  }
  if (!result)
    return result.takeError();
  if (version == opset)
    noteDropped(site, *result);
  if (!key.empty())
    unchanged[key] =
        result->nodes.size() == 1 && result->constants.empty() &&
        result->nodes[0].SerializeAsString() == node.SerializeAsString();
  return Error::success();
}

/// Before opset 9, a Constant could only hold floats; many files do not care.
/// What stands in the file is left alone, what was made since becomes an
/// initializer.
bool OpsetPlan::keepConstant(NodeSite site, int version) {
  auto constant = dyn_cast<amp::onnx::ConstantOp>(site.op);
  if (!constant || !constant.getValueAttr() ||
      plan.constants.getNarrowing(site.op))
    return false;
  if (version == opset)
    illegalConstants.insert(site.op);
  return true;
}

bool OpsetPlan::isInitializer(Operation *op) const {
  return illegalConstants.contains(op) && isAnonymous(op);
}

/// Counts the operands that the nodes in the place of `site` do not read.
void OpsetPlan::noteDropped(NodeSite site,
                            const onnx_opset::Rewritten &result) {
  if (site.output >= 0)
    return;
  llvm::StringSet<> read;
  for (const NodeProto &node : result.nodes)
    for (const std::string &input : node.input())
      read.insert(input);
  for (Value operand : site.op->getOperands())
    if (!read.contains(plan.names.get(operand)))
      ++dropped[operand];
}

bool OpsetPlan::isRead(Value value) const {
  unsigned unread = dropped.lookup(value), uses = 0;
  for (Operation *user : value.getUsers()) {
    ++uses;
    auto cast = dyn_cast<CastOp>(user);
    bool isGone = cast ? plan.constants.getForm(cast) == CastForm::Merged &&
                             !isRead(cast.getResult())
                       : isLeftOut(user);
    unread += isGone;
  }
  return unread < uses;
}

bool OpsetPlan::isLeftOut(Operation *op) const {
  return isa<amp::onnx::ConstantOp, amp::onnx::UnsqueezeOp>(op) &&
         isAnonymous(op) && !isRead(op->getResult(0));
}

bool OpsetPlan::isUnchanged(NodeSite site) const {
  Work todo = getWork(site, opset);
  return !todo.isNeeded || illegalConstants.contains(site.op) ||
         (!todo.hasRule && unchanged.lookup(makeKey(site)));
}

onnx_opset::Rewritten OpsetPlan::convert(NodeSite site, const NodeProto &node) {
  NodeView view(site, plan, /*isTrial=*/false);
  return llvm::cantFail(
      onnx_opset::convertNode(node, getWrittenFor(site), opset, view));
}

/// "node 'name' (Type)", or how else to call it.
static std::string describe(NodeSite site, const Names &names) {
  StringRef type = getDefaultOpType(site);
  if (site.output >= 0)
    return ("output " + Twine(site.output) + " (Identity)").str();
  StringRef name = amp::onnx::getNodeName(site.op);
  if (name.empty() && site.op->getNumResults() > 0)
    name = names.get(site.op->getResult(0)).getValue();
  return ("node '" + name + "' (" + type + ")").str();
}

/// Goes up to the next opset that takes the node which `error` refuses.
LogicalResult OpsetPlan::raise(NodeSite site, int64_t requested, Error error) {
  std::string reason = llvm::toString(std::move(error));
  StringRef text = reason;
  text.consume_front((getDefaultOpType(site) + ": ").str());
  if (requested != 0)
    return site.op->emitError()
           << describe(site, plan.names) << " cannot be written for "
           << "opset " << requested << ": " << text;
  const int newestOpset = onnx_opset::getNewestOpset();
  int next = opset + 1;
  for (; next <= newestOpset; ++next) {
    Error again = check(site, next);
    if (!again)
      break;
    llvm::consumeError(std::move(again));
  }
  if (next > newestOpset)
    return site.op->emitError()
           << describe(site, plan.names) << " cannot be written for opset "
           << opset << " or any later one: " << text;
  site.op->emitRemark() << "opset raised from " << opset << " to " << next
                        << ": " << describe(site, plan.names) << ": " << text;
  opset = next;
  unchanged.clear();
  return success();
}

/// The version of the default domain; of several entries the last counts.
static std::optional<int64_t> getImported(amp::onnx::ModelOp model) {
  std::optional<int64_t> version;
  if (model)
    for (auto opset : model.getOpsets().getAsRange<amp::onnx::OpsetAttr>())
      if (opset.getDomain().empty() || opset.getDomain() == "ai.onnx")
        version = opset.getVersion();
  return version;
}

/// Training graphs are written as they are, for the opset they were made for.
static void warnOfTraining(amp::onnx::ModelOp model) {
  ::onnx::ModelProto verbatim;
  if (model && model.getVerbatim() &&
      verbatim.ParseFromString(model.getVerbatim()->str()) &&
      verbatim.training_info_size() > 0)
    model.emitWarning("the opset changes, but the graphs of training_info are "
                      "not converted to it");
}

LogicalResult OpsetPlan::choose(func::FuncOp function, amp::onnx::ModelOp model,
                                int64_t requested) {
  SmallVector<NodeSite> sites = collectSites(function, plan);
  std::optional<int64_t> imported = getImported(model);
  irVersion = model ? model.getIrVersion() : 0;
  // Before imports came with IR version 3, opset 1 was meant.
  if (!imported && model && model.getOpsets().empty() && irVersion < 3)
    imported = 1;
  // Nodes that the file has without an import are kept like that.
  added = !imported && llvm::any_of(sites, [](NodeSite site) {
    return site.output >= 0 || !isa<amp::onnx::NodeOp>(site.op);
  });
  own = imported.value_or(model ? getNewestOpset(irVersion) : defaultOpset);
  opset = requested ? requested : own;
  const int newestOpset = onnx_opset::getNewestOpset();
  if (opset < 1 || opset > newestOpset) {
    if (requested)
      return function.emitError() << "expects an opset between 1 and "
                                  << newestOpset << ", but got " << requested;
    // Newer than our tables: nothing is converted unless a node has to be.
  }
  for (bool again = imported || added; again;) {
    again = false;
    dropped.clear();
    illegalConstants.clear();
    for (NodeSite site : sites) {
      Error error = check(site, opset);
      if (!error)
        continue;
      if (failed(raise(site, requested, std::move(error))))
        return failure();
      again = true;
    }
  }
  if (opset != own)
    warnOfTraining(model);
  if (!model)
    irVersion = ::getIrVersion(opset);
  else if (opset > own || added)
    irVersion = std::max(irVersion, ::getIrVersion(opset));
  return success();
}
