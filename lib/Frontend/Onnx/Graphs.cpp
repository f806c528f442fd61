//===- Graphs.cpp - GraphProto to IR --------------------------------------===//
//
// The main graph becomes a function, a graph attribute a region; both keep what
// the file says about them.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::InitializerOp;
using amp::onnx::NodeOp;
using amp::onnx::OnnxDialect;
using amp::onnx::ProtoAttr;
using amp::onnx::UnknownType;
using amp::onnx::YieldOp;

Value Scope::lookup(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->parent)
    if (Value value = scope->values.lookup(name))
      return value;
  return {};
}

/// Who makes a value, for messages.
static std::string describeProducer(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "a graph input";
  if (isa<InitializerOp>(op))
    return "an initializer";
  StringRef name = amp::onnx::getNodeName(op);
  return ((name.empty() ? "an unnamed node" : "node '" + name + "'") + " (" +
          amp::onnx::getOpType(op) + ")")
      .str();
}

LogicalResult ModelImporter::define(Scope &scope, StringRef name, Value value) {
  if (name.empty())
    return success();
  auto [entry, isNew] = scope.values.try_emplace(name, value);
  if (isNew)
    return success();
  return emitError() << "value '" << name << "' is made twice: by "
                     << describeProducer(entry->second) << " and by "
                     << describeProducer(value)
                     << "; every value needs a name of its own";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

FailureOr<DeclaredType> ModelImporter::readType(StringRef bytes) {
  auto [entry, isNew] = typesByBytes.try_emplace(bytes);
  if (!isNew)
    return entry->second;
  ::onnx::TypeProto proto, again;
  if (bytes.size() > INT32_MAX ||
      !proto.ParseFromArray(bytes.data(), bytes.size())) {
    typesByBytes.erase(bytes);
    return emitError() << "malformed TypeProto";
  }
  entry->second.type = proto::importType(proto, context);
  proto::exportType(entry->second.type, again);
  entry->second.exact = proto.SerializeAsString() == again.SerializeAsString();
  if (proto.has_tensor_type() && isa<UnknownType>(entry->second.type))
    entry->second.badElement = proto.tensor_type().elem_type();
  return entry->second;
}

FailureOr<Type> ModelImporter::getDeclaredType(const Scope &scope,
                                               StringRef name) {
  auto entry = scope.declared.find(name);
  if (entry == scope.declared.end())
    return Type();
  FailureOr<DeclaredType> declared = readType(entry->second);
  if (failed(declared))
    return failure();
  return isa<UnknownType>(declared->type) ? Type() : declared->type;
}

LogicalResult ModelImporter::collectDeclared(const GraphSpine &graph,
                                             Scope &scope) {
  // An output's own declaration counts more than a value info of the same name.
  for (ArrayRef<StringRef> infos :
       {ArrayRef(graph.outputs), ArrayRef(graph.valueInfos)})
    for (StringRef bytes : infos) {
      ValueInfoSpine info;
      if (failed(report(scanValueInfo(bytes, info))))
        return failure();
      if (info.type && !info.name.empty())
        scope.declared.try_emplace(info.name, *info.type);
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Initializers and nodes
//===----------------------------------------------------------------------===//

LogicalResult ModelImporter::importInitializer(StringRef bytes,
                                               GraphSpine &graph,
                                               Scope &scope) {
  TensorNotes notes;
  llvm::Expected<ElementsAttr> value = tensors.read(bytes, notes);
  if (!value)
    return emitError() << "initializer: " << llvm::toString(value.takeError());
  if (!notes.name || notes.name->empty())
    return emitError()
           << "an initializer has no name, so that no node can read it";
  StringRef name = *notes.name;
  auto listed = scope.listedInputs.find(name);
  bool isListed = listed != scope.listedInputs.end();
  if (isListed && *model.irVersion >= 4)
    return success();
  if (scope.depth > 0 &&
      isa_and_present<BlockArgument>(scope.values.lookup(name))) {
    // The node that has this body gives the argument's value; nothing reads
    // this one.
    appendField(graph.verbatim, 5, bytes);
    return success();
  }
  StringAttr nameAttr = builder.getStringAttr(name);
  OperationState state(NameLoc::get(nameAttr, fileLocation),
                       InitializerOp::getOperationName());
  state.addAttribute("value", *value);
  if (isListed)
    state.addAttribute("input_index",
                       builder.getI64IntegerAttr(listed->second));
  state.addAttribute(OnnxDialect::getOutputsAttrName(),
                     builder.getArrayAttr(nameAttr));
  if (notes.docString)
    state.addAttribute(OnnxDialect::getDocStringAttrName(),
                       builder.getStringAttr(*notes.docString));
  if (!notes.verbatim.empty())
    state.addAttribute(OnnxDialect::getVerbatimAttrName(),
                       builder.getStringAttr(notes.verbatim));
  state.addTypes((*value).getType());
  return define(scope, name, builder.create(state)->getResult(0));
}

/// A sparse initializer that a node reads becomes a Constant; the others stay
/// as they are in the file.
LogicalResult ModelImporter::importSparseInitializers(GraphSpine &graph,
                                                      Scope &scope) {
  for (StringRef bytes : graph.sparseInitializers) {
    llvm::Expected<StringRef> name = scanSparseTensorName(bytes);
    if (!name)
      return report(name.takeError());
    // An input of the same name is what nodes read.
    if (name->empty() || !isRead(*name) || scope.values.contains(*name)) {
      appendField(graph.verbatim, 15, bytes);
      continue;
    }
    OperationState state(NameLoc::get(builder.getStringAttr(
                                          "sparse initializer '" + *name + "'"),
                                      fileLocation),
                         onnx::ConstantOp::getOperationName());
    state.addAttribute("sparse_value",
                       ProtoAttr::get(context, "SparseTensorProto", bytes));
    state.addAttribute(OnnxDialect::getOutputsAttrName(),
                       builder.getStrArrayAttr({*name}));
    state.addTypes(UnknownType::get(context));
    Operation *op = builder.create(state);
    SmallVector<Type> types;
    if (llvm::Error error = inference->infer(op, types))
      return emitError() << "sparse initializer '" << *name
                         << "': " << llvm::toString(std::move(error));
    if (types.empty() || !isKnown(types.front()))
      return emitError() << "sparse initializer '" << *name
                         << "' has no known element type";
    op->getResult(0).setType(types.front());
    if (failed(define(scope, *name, op->getResult(0))))
      return failure();
  }
  return success();
}

LogicalResult ModelImporter::importContents(GraphSpine &graph, Scope &scope) {
  scope.values.reserve(scope.values.size() + graph.initializers.size() +
                       graph.nodes.size());
  for (StringRef bytes : graph.initializers)
    if (failed(importInitializer(bytes, graph, scope)))
      return failure();
  if (failed(importSparseInitializers(graph, scope)))
    return failure();
  bool sorted;
  llvm::Expected<std::vector<unsigned>> order =
      orderNodes(graph, scope, sorted);
  if (!order)
    return report(order.takeError());
  if (!sorted)
    emitWarning() << "the nodes of graph '" << graph.name.value_or("")
                  << "' are not in topological order, which ONNX demands; they "
                     "were sorted";
  NodeSpine node;
  for (unsigned index : *order)
    if (failed(report(scanNode(graph.nodes[index], node))) ||
        failed(importNode(node, scope)))
      return failure();
  return success();
}

LogicalResult ModelImporter::getOutputs(const GraphSpine &graph,
                                        const Scope &scope,
                                        SmallVectorImpl<Value> &values,
                                        SmallVectorImpl<Attribute> &names) {
  for (StringRef bytes : graph.outputs) {
    ValueInfoSpine info;
    if (failed(report(scanValueInfo(bytes, info))))
      return failure();
    Value value = info.name.empty() ? Value() : scope.lookup(info.name);
    if (!value)
      return emitError() << "output '" << info.name << "' of graph '"
                         << graph.name.value_or("")
                         << "' is made by no node, initializer or input";
    values.push_back(value);
    names.push_back(builder.getStringAttr(info.name));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The main graph
//===----------------------------------------------------------------------===//

/// Adds the tensor that an input has unless it is fed, and what the file says
/// of it.
LogicalResult ModelImporter::readDefault(StringRef bytes,
                                         NamedAttrList &notes) {
  TensorNotes tensor;
  llvm::Expected<ElementsAttr> value = tensors.read(bytes, tensor);
  if (!value)
    return emitError() << "initializer: " << llvm::toString(value.takeError());
  notes.set(OnnxDialect::getDefaultAttrName(), *value);
  if (tensor.docString)
    notes.set(OnnxDialect::getDocStringAttrName(),
              builder.getStringAttr(*tensor.docString));
  if (!tensor.verbatim.empty())
    notes.set(OnnxDialect::getVerbatimAttrName(),
              builder.getStringAttr(tensor.verbatim));
  return success();
}

/// Positions of defaults among the initializers, by name; null when they come
/// first, in the order of the inputs.
static DictionaryAttr getDefaultPositions(const Scope &scope,
                                          Builder &builder) {
  NamedAttrList positions;
  bool inOrder = true;
  for (auto [index, entry] : llvm::enumerate(scope.defaults)) {
    inOrder &= entry.second == static_cast<int64_t>(index);
    positions.set(entry.first, builder.getI64IntegerAttr(entry.second));
  }
  return inOrder ? DictionaryAttr()
                 : positions.getDictionary(builder.getContext());
}

LogicalResult
ModelImporter::importInputs(const GraphSpine &graph, Scope &scope, Block *entry,
                            SmallVectorImpl<DictionaryAttr> &attributes) {
  llvm::DenseMap<StringRef, int64_t> initializers;
  for (auto [position, bytes] : llvm::enumerate(graph.initializers)) {
    llvm::Expected<StringRef> name = scanTensorName(bytes);
    if (!name)
      return report(name.takeError());
    initializers.try_emplace(*name, position);
  }
  for (auto [position, bytes] : llvm::enumerate(graph.inputs)) {
    ValueInfoSpine info;
    if (failed(report(scanValueInfo(bytes, info))))
      return failure();
    if (info.name.empty())
      return emitError() << "graph input " << position << " has no name";
    auto initializer = initializers.find(info.name);
    bool hasDefault = initializer != initializers.end();
    if (hasDefault)
      scope.listedInputs.try_emplace(info.name, position);
    if (hasDefault && *model.irVersion < 4)
      continue;
    Type type = UnknownType::get(context);
    if (info.type) {
      FailureOr<DeclaredType> declared = readType(*info.type);
      if (failed(declared))
        return failure();
      if (declared->badElement)
        return emitError() << "graph input '" << info.name
                           << "' has the unknown element type "
                           << declared->badElement;
      type = declared->type;
    }
    NamedAttrList notes;
    notes.set(OnnxDialect::getNameAttrName(), builder.getStringAttr(info.name));
    if (hasDefault) {
      scope.defaults.emplace_back(info.name, initializer->second);
      if (failed(readDefault(graph.initializers[initializer->second], notes)))
        return failure();
    }
    attributes.push_back(notes.getDictionary(context));
    Location location =
        NameLoc::get(builder.getStringAttr(info.name), fileLocation);
    if (failed(define(scope, info.name, entry->addArgument(type, location))))
      return failure();
  }
  return success();
}

LogicalResult ModelImporter::importMainGraph(StringRef bytes) {
  GraphSpine graph;
  Scope scope;
  if (failed(report(scanGraph(bytes, graph))) ||
      failed(collectDeclared(graph, scope)))
    return failure();
  StringRef name = graph.name && !graph.name->empty() ? *graph.name
                                                      : StringRef("main_graph");
  auto function = func::FuncOp::create(builder, fileLocation, name,
                                       builder.getFunctionType({}, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToEnd(entry);
  SmallVector<DictionaryAttr> argumentNotes, resultNotes;
  SmallVector<Value> outputs;
  SmallVector<Attribute> outputNames;
  if (failed(importInputs(graph, scope, entry, argumentNotes)) ||
      failed(importContents(graph, scope)) ||
      failed(getOutputs(graph, scope, outputs, outputNames)))
    return failure();
  func::ReturnOp::create(builder, fileLocation, outputs);
  for (Attribute outputName : outputNames)
    resultNotes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(OnnxDialect::getNameAttrName(), outputName)));
  function.setFunctionType(builder.getFunctionType(
      entry->getArgumentTypes(), ValueRange(outputs).getTypes()));
  function.setAllArgAttrs(argumentNotes);
  function.setAllResultAttrs(resultNotes);
  NamedAttrList entries;
  if (DictionaryAttr positions = getDefaultPositions(scope, builder))
    entries.set("defaults", positions);
  FailureOr<DictionaryAttr> dictionary =
      buildGraphDictionary(graph, scope, std::move(entries));
  if (failed(dictionary))
    return failure();
  function->setAttr(OnnxDialect::getGraphAttrName(), *dictionary);
  return success();
}

//===----------------------------------------------------------------------===//
// Graph attributes
//===----------------------------------------------------------------------===//

/// A body was made for the shapes that it declares: they are taken when only
/// shapes contradict what the operands say.
Type ModelImporter::mergeArgument(StringRef name, Type declared, Type known) {
  bool sameElement = isKnown(declared) && isKnown(known) &&
                     amp::onnx::getTensorElementType(declared) ==
                         amp::onnx::getTensorElementType(known);
  if (!sameElement || amp::onnx::mergeTypes(declared, known))
    return merge(name, declared, known);
  emitWarning() << "argument '" << name << "' is declared as " << declared
                << ", but is given a value of type " << known;
  return declared;
}

LogicalResult
ModelImporter::addBodyArguments(const GraphSpine &graph, Block *block,
                                ArrayRef<Type> known, Scope &scope,
                                SmallVectorImpl<Attribute> &names) {
  for (auto [position, bytes] : llvm::enumerate(graph.inputs)) {
    ValueInfoSpine info;
    if (failed(report(scanValueInfo(bytes, info))))
      return failure();
    Type type = position < known.size() ? known[position] : Type();
    if (info.type) {
      FailureOr<DeclaredType> declared = readType(*info.type);
      if (failed(declared))
        return failure();
      type = mergeArgument(info.name, declared->type, type);
    }
    names.push_back(builder.getStringAttr(info.name));
    Location location =
        NameLoc::get(builder.getStringAttr(info.name), fileLocation);
    if (failed(define(scope, info.name,
                      block->addArgument(
                          type ? type : UnknownType::get(context), location))))
      return failure();
  }
  return success();
}

/// The first arguments of a loop's body are scalars, whatever the operands say.
static void completeLoopArguments(Operation *op, SmallVectorImpl<Type> &types) {
  if (amp::onnx::getOpType(op) != "Loop")
    return;
  Builder builder(op->getContext());
  Type scalars[] = {builder.getI64Type(), builder.getI1Type()};
  for (auto [type, element] : llvm::zip(types, scalars))
    if (!isa_and_present<RankedTensorType>(type))
      type = RankedTensorType::get({}, element);
}

LogicalResult ModelImporter::importBody(StringRef bytes, Region &region,
                                        Operation *op, const Scope &parent) {
  if (parent.depth == maxGraphDepth)
    return emitError() << "graphs are nested too deeply (more than "
                       << maxGraphDepth << ")";
  GraphSpine graph;
  Scope scope;
  scope.parent = &parent;
  scope.depth = parent.depth + 1;
  if (failed(report(scanGraph(bytes, graph))) ||
      failed(collectDeclared(graph, scope)))
    return failure();
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&region);
  SmallVector<Type> known;
  if (op && failed(report(inference->inferRegionArguments(
                op, region.getRegionNumber(), known))))
    return failure();
  if (op)
    completeLoopArguments(op, known);
  SmallVector<Attribute> inputNames, outputNames;
  SmallVector<Value> outputs;
  if (failed(addBodyArguments(graph, block, known, scope, inputNames)) ||
      failed(importContents(graph, scope)) ||
      failed(getOutputs(graph, scope, outputs, outputNames)))
    return failure();
  NamedAttrList entries;
  entries.set("inputs", builder.getArrayAttr(inputNames));
  entries.set("outputs", builder.getArrayAttr(outputNames));
  FailureOr<DictionaryAttr> dictionary =
      buildGraphDictionary(graph, scope, std::move(entries));
  if (failed(dictionary))
    return failure();
  YieldOp::create(builder, fileLocation, outputs, *dictionary);
  return success();
}
