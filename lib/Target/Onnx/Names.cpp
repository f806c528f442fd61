//===- Names.cpp - Names of values and nodes in the file ------------------===//
// Walks the graphs in order, so that a name is checked against what is visible
// where its value is defined.
//===----------------------------------------------------------------------===//

#include "Names.h"
#include "mlir/IR/Builders.h"
#include "onnx/onnx_pb.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using amp::onnx::OnnxDialect;

DictionaryAttr amp::onnx_export::getGraphDictionary(Block *block) {
  if (auto yield = dyn_cast<amp::onnx::YieldOp>(block->getTerminator()))
    return yield.getGraphAttr();
  return block->getParentOp()->getAttrOfType<DictionaryAttr>(
      OnnxDialect::getGraphAttrName());
}

/// Entry `index` of the list of names `key`; null when absent or empty.
static StringAttr getListedName(Block *block, StringRef key, unsigned index) {
  DictionaryAttr graph = getGraphDictionary(block);
  auto list = graph ? graph.getAs<ArrayAttr>(key) : ArrayAttr();
  auto name = list && index < list.size() ? dyn_cast<StringAttr>(list[index])
                                          : StringAttr();
  return name && !name.empty() ? name : StringAttr();
}

static StringAttr getInputName(Block *block, unsigned index) {
  auto function = dyn_cast<func::FuncOp>(block->getParentOp());
  if (!function)
    return getListedName(block, "inputs", index);
  return function.getArgAttrOfType<StringAttr>(index,
                                               OnnxDialect::getNameAttrName());
}

static StringAttr getOutputName(Block *block, unsigned index) {
  auto function = dyn_cast<func::FuncOp>(block->getParentOp());
  if (!function)
    return getListedName(block, "outputs", index);
  return function.getResultAttrOfType<StringAttr>(
      index, OnnxDialect::getNameAttrName());
}

/// The name a result came with; null when it has none.
static StringAttr getResultName(OpResult result, StringAttr outputsKey) {
  auto list = dyn_cast_or_null<ArrayAttr>(
      result.getOwner()->getDiscardableAttr(outputsKey));
  if (!list || result.getResultNumber() >= list.size())
    return {};
  auto name = dyn_cast<StringAttr>(list[result.getResultNumber()]);
  return name && !name.empty() ? name : StringAttr();
}

//===----------------------------------------------------------------------===//
// New names
//===----------------------------------------------------------------------===//

StringAttr Names::makeUnique(const Twine &base, NameSet &taken,
                             llvm::DenseMap<StringAttr, unsigned> &next,
                             MLIRContext *context) {
  auto name = StringAttr::get(context, base);
  if (taken.insert(name).second)
    return name;
  unsigned &number = next[name];
  while (true) {
    auto numbered =
        StringAttr::get(context, name.getValue() + "_" + Twine(++number));
    if (taken.insert(numbered).second)
      return numbered;
  }
}

StringAttr Names::makeValueName(const Twine &base) {
  return makeUnique(base, takenValues, nextValue, context);
}

StringAttr Names::makeNodeName(const Twine &base) {
  return makeUnique(base, takenNodes, nextNode, context);
}

/// What a new name for `result` begins with. `wanted` is the name that another
/// value has.
std::string Names::makeBase(OpResult result, StringAttr wanted,
                            const Scope &scope) const {
  Operation *op = result.getOwner();
  // A cast may have taken the name of what it reads.
  for (Operation *user : result.getUsers())
    if (auto cast = dyn_cast<CastOp>(user); cast && !wanted) {
      wanted = scope.claims.lookup(cast.getResult());
      if (!wanted)
        wanted = getResultName(cast->getOpResult(0), outputsKey);
    }
  if (auto cast = dyn_cast<CastOp>(op); cast && !wanted)
    wanted = get(cast.getInput());
  if (wanted) {
    Type element = amp::onnx::getTensorElementType(constants.getType(result));
    bool isHalf = element && (element.isF16() || element.isBF16());
    if (!isHalf && !isa<CastOp>(op))
      return wanted.str();
    return (wanted.getValue() + (element.isF16()    ? "_f16"
                                 : element.isBF16() ? "_bf16"
                                                    : "_f32"))
        .str();
  }
  StringRef node = amp::onnx::getNodeName(op);
  StringRef type = amp::onnx::getOpType(op);
  return ((node.empty() ? type.empty() ? "value" : type : node) + "_out").str();
}

//===----------------------------------------------------------------------===//
// Names there are
//===----------------------------------------------------------------------===//

/// Training graphs name values of the main graph and have some of their own.
void Names::collectTraining(StringAttr verbatim) {
  ::onnx::ModelProto model;
  if (!verbatim || !model.ParseFromString(verbatim.str()))
    return;
  auto collectGraph = [&](const ::onnx::GraphProto &graph) {
    for (const auto &tensor : graph.initializer())
      takenValues.insert(StringAttr::get(context, tensor.name()));
    for (const auto &node : graph.node())
      for (const std::string &output : node.output())
        takenValues.insert(StringAttr::get(context, output));
  };
  for (const ::onnx::TrainingInfoProto &training : model.training_info()) {
    collectGraph(training.initialization());
    collectGraph(training.algorithm());
  }
}

void Names::collect(func::FuncOp function, StringAttr verbatim) {
  collectTraining(verbatim);
  auto outputsKey = StringAttr::get(context, OnnxDialect::getOutputsAttrName());
  auto nodeKey = StringAttr::get(context, OnnxDialect::getNameAttrName());
  auto addAll = [&](ArrayAttr list) {
    if (list)
      for (Attribute entry : list)
        if (auto name = dyn_cast<StringAttr>(entry))
          takenValues.insert(name);
  };
  function->walk([&](Operation *op) {
    addAll(dyn_cast_or_null<ArrayAttr>(op->getDiscardableAttr(outputsKey)));
    if (auto name =
            dyn_cast_or_null<StringAttr>(op->getDiscardableAttr(nodeKey)))
      takenNodes.insert(name);
    auto yield = dyn_cast<amp::onnx::YieldOp>(op);
    DictionaryAttr graph = yield ? yield.getGraphAttr() : DictionaryAttr();
    if (!graph)
      return;
    addAll(graph.getAs<ArrayAttr>("inputs"));
    addAll(graph.getAs<ArrayAttr>("outputs"));
  });
  Block *body = &function.front();
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (StringAttr name = getInputName(body, i))
      takenValues.insert(name);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (StringAttr name = getOutputName(body, i))
      takenValues.insert(name);
}

//===----------------------------------------------------------------------===//
// Naming
//===----------------------------------------------------------------------===//

void Names::define(Value value, StringAttr name, Scope &scope) {
  names[value] = name;
  values.try_emplace(name, value);
  Value &seen = visible[name];
  scope.defined.emplace_back(name, seen);
  seen = value;
}

bool Names::isFree(StringAttr name, const Scope &scope) const {
  if (scope.reserved.contains(name))
    return false;
  Value outer = visible.lookup(name);
  if (!outer)
    return true;
  // Files with bodies that hide an outer value are left as they are.
  return outer.getParentBlock() != scope.block &&
         !isUsedIn(outer, *scope.block->getParent());
}

/// Whether something in `region` would be written with the name of `value`.
bool Names::isUsedIn(Value value, Region &region) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (region.isAncestor(user->getParentRegion()))
      return true;
    auto cast = dyn_cast<CastOp>(user);
    return cast && constants.getForm(cast) == CastForm::Merged &&
           isUsedIn(cast.getResult(), region);
  });
}

void Names::nameArguments(Block *block, Scope &scope) {
  for (BlockArgument argument : block->getArguments()) {
    StringAttr name = getInputName(block, argument.getArgNumber());
    if (!name || !isFree(name, scope))
      name = makeValueName(name ? name.str()
                                : "arg" + Twine(argument.getArgNumber()).str());
    define(argument, name, scope);
  }
}

/// Decides which values take the names of the graph's outputs. Inputs,
/// initializers and outer values keep their own; an Identity node stands behind
/// an output that would give them a second one.
LogicalResult Names::claimOutputs(Block *block, func::FuncOp function,
                                  Scope &scope) {
  Operation *terminator = block->getTerminator();
  SmallVector<GraphOutput, 2> &list = outputs[block];
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    StringAttr name = getOutputName(block, index);
    Operation *producer = value.getDefiningOp();
    StringAttr known = get(value);
    if (auto initializer = dyn_cast_or_null<amp::onnx::InitializerOp>(producer);
        initializer && !known)
      known = getResultName(initializer->getResult(0), outputsKey);
    if (auto claimed = scope.claims.find(value); claimed != scope.claims.end())
      known = claimed->second;
    auto cast = dyn_cast_or_null<CastOp>(producer);
    bool ownNode = producer && producer->getBlock() == block &&
                   !isa<amp::onnx::InitializerOp>(producer) &&
                   !(cast && constants.getForm(cast) != CastForm::Node);
    if (known ? known == name : false) {
      list.push_back({name, false});
      continue;
    }
    bool isTaken = name && !isFree(name, scope);
    if (function && isTaken)
      return function.emitError()
             << "output '" << name.getValue() << "' has the name of another "
             << "input or output; give it a name of its own";
    if (!name || isTaken)
      name = makeValueName(name       ? name.str()
                           : function ? "out" + Twine(index).str()
                                      : "result" + Twine(index).str());
    scope.reserved.insert(name);
    if (ownNode && !known)
      scope.claims[value] = name;
    list.push_back({name, !ownNode || known});
  }
  return success();
}

LogicalResult Names::nameResults(Operation *op, Scope &scope) {
  auto outputsKey = StringAttr::get(context, OnnxDialect::getOutputsAttrName());
  if (auto cast = dyn_cast<CastOp>(op);
      cast && constants.getForm(cast) == CastForm::Merged) {
    names[cast.getResult()] = get(cast.getInput());
    return success();
  }
  for (OpResult result : op->getResults()) {
    StringAttr name;
    if (auto claim = scope.claims.find(result); claim != scope.claims.end()) {
      name = claim->second;
    } else {
      name = getResultName(result, outputsKey);
      if (!name || !isFree(name, scope))
        name = makeValueName(makeBase(result, name, scope));
    }
    define(result, name, scope);
  }
  return success();
}

LogicalResult Names::nameGraph(Block *block, func::FuncOp function) {
  Scope scope;
  scope.block = block;
  nameArguments(block, scope);
  if (failed(claimOutputs(block, function, scope)))
    return failure();
  for (Operation &op : block->without_terminator()) {
    // The bodies of a node do not see its results.
    for (Region &region : op.getRegions())
      for (Block &body : region)
        if (failed(nameGraph(&body, {})))
          return failure();
    if (failed(nameResults(&op, scope)))
      return failure();
  }
  for (auto [name, hidden] : llvm::reverse(scope.defined))
    visible[name] = hidden;
  return success();
}

LogicalResult Names::build(func::FuncOp function, StringAttr verbatim) {
  context = function.getContext();
  outputsKey = StringAttr::get(context, OnnxDialect::getOutputsAttrName());
  collect(function, verbatim);
  return nameGraph(&function.front(), function);
}
