//===- Nodes.cpp - NodeProto to IR ----------------------------------------===//
//
// A node becomes the operation of its operator, or an onnx.node where none
// models it.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::FormalKind;
using amp::onnx::FormalSpec;
using amp::onnx::NodeOp;
using amp::onnx::OnnxDialect;
using amp::onnx::OpSpec;
using amp::onnx::UnknownType;

std::string amp::importer::describeNode(const NodeSpine &node) {
  std::string op = " (" + node.opType.str() + ")";
  if (node.name && !node.name->empty())
    return "node '" + node.name->str() + "'" + op;
  for (StringRef output : node.outputs)
    if (!output.empty())
      return "node of '" + output.str() + "'" + op;
  return "unnamed node" + op;
}

/// The name of an output; empty when it has none.
static StringRef getOutputName(const NodeSpine &node, unsigned position) {
  return position < node.outputs.size() ? node.outputs[position] : StringRef();
}

Location ModelImporter::getLocation(const NodeSpine &node) {
  bool isNamed = node.name && !node.name->empty();
  return NameLoc::get(
      builder.getStringAttr(isNamed ? *node.name : getOutputName(node, 0)),
      fileLocation);
}

Fit ModelImporter::makeGeneric(const NodeSpine &node,
                               const llvm::Twine &reason) {
  if (numGeneric++ == 0)
    firstGeneric = describeNode(node) + ", because " + reason.str();
  return Fit::Generic;
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

LogicalResult ModelImporter::resolveInputs(const NodeSpine &node,
                                           const Scope &scope,
                                           SmallVectorImpl<Value> &inputs) {
  for (StringRef name : node.inputs) {
    Value value = name.empty() ? Value() : scope.lookup(name);
    if (!name.empty() && !value)
      return emitError(node)
             << "reads '" << name
             << "', which no node, initializer or graph input makes";
    inputs.push_back(value);
  }
  return success();
}

/// Fewest and most values of formal parameters; nothing for no limit.
static std::pair<unsigned, std::optional<unsigned>>
getArity(ArrayRef<FormalSpec> formals) {
  unsigned fewest = 0;
  for (auto [index, formal] : llvm::enumerate(formals))
    if (formal.kind == FormalKind::Single)
      fewest = index + 1;
    else if (formal.kind == FormalKind::Variadic && formal.minArity > 0)
      fewest = index + formal.minArity;
  if (!formals.empty() && formals.back().kind == FormalKind::Variadic)
    return {fewest, std::nullopt};
  return {fewest, formals.size()};
}

LogicalResult ModelImporter::checkArity(const NodeSpine &node,
                                        const OpSpec &spec,
                                        ArrayRef<Value> inputs) {
  auto [fewestInputs, mostInputs] = getArity(spec.inputs);
  if (mostInputs && inputs.size() > *mostInputs)
    return emitError(node) << "has " << inputs.size() << " inputs, but "
                           << spec.name << " takes at most " << *mostInputs;
  auto [fewestOutputs, mostOutputs] = getArity(spec.outputs);
  if (node.outputs.size() < fewestOutputs)
    return emitError(node) << "has " << node.outputs.size() << " outputs, but "
                           << spec.name << " makes at least " << fewestOutputs;
  if (mostOutputs && node.outputs.size() > *mostOutputs)
    return emitError(node) << "has " << node.outputs.size() << " outputs, but "
                           << spec.name << " makes at most " << *mostOutputs;
  for (unsigned position = 0,
                end = std::max<unsigned>(fewestInputs, inputs.size());
       position < end; ++position) {
    const FormalSpec &formal =
        spec.inputs[onnx::getFormalOfPosition(spec.inputs, position)];
    bool given = position < inputs.size() && inputs[position];
    if (!given && formal.kind != FormalKind::Optional)
      return emitError(node)
             << "expects the input '" << formal.name << "' (number " << position
             << "), which is missing";
  }
  return success();
}

/// Positions of the results to make: those with a name, and those the operator
/// makes in any case.
static SmallVector<unsigned> getResultPositions(const NodeSpine &node,
                                                const OpSpec &spec) {
  SmallVector<unsigned> positions;
  unsigned end =
      std::max<unsigned>(node.outputs.size(), getArity(spec.outputs).first);
  for (unsigned position = 0; position < end; ++position) {
    const FormalSpec &formal =
        spec.outputs[amp::onnx::getFormalOfPosition(spec.outputs, position)];
    if (!getOutputName(node, position).empty() ||
        formal.kind != FormalKind::Optional)
      positions.push_back(position);
  }
  return positions;
}

LogicalResult ModelImporter::defineResults(const NodeSpine &node,
                                           ArrayRef<unsigned> positions,
                                           Operation *op, Scope &scope) {
  for (auto [position, result] : llvm::zip_equal(positions, op->getResults()))
    if (failed(define(scope, getOutputName(node, position), result)))
      return failure();
  return success();
}

/// Names of the results, for `onnx.outputs`; null when the file names none.
ArrayAttr ModelImporter::getOutputNames(const NodeSpine &node,
                                        ArrayRef<unsigned> positions) {
  SmallVector<Attribute, 4> names;
  bool hasNames = false;
  for (unsigned position : positions) {
    StringRef name = getOutputName(node, position);
    if (name.starts_with(freshPrefix))
      name = {};
    names.push_back(builder.getStringAttr(name));
    hasNames |= !name.empty();
  }
  return hasNames ? builder.getArrayAttr(names) : ArrayAttr();
}

/// Empty names after the last value that the node has, as fields of a
/// NodeProto: an operation does not count them.
static std::string getTrailingNames(const NodeSpine &node,
                                    ArrayRef<unsigned> results) {
  std::string fields;
  size_t inputs = node.inputs.size();
  while (inputs > 0 && node.inputs[inputs - 1].empty())
    --inputs;
  for (; inputs < node.inputs.size(); ++inputs)
    appendField(fields, 1, "");
  size_t outputs = results.empty() ? 0 : results.back() + 1;
  for (; outputs < node.outputs.size(); ++outputs)
    appendField(fields, 2, "");
  return fields;
}

void ModelImporter::addNotes(OperationState &state, const NodeSpine &node,
                             ArrayRef<unsigned> positions,
                             const NodeAttributes &attributes) {
  if (ArrayAttr names = getOutputNames(node, positions))
    state.addAttribute(OnnxDialect::getOutputsAttrName(), names);
  if (node.name) {
    // The location has the same string, unless it is empty.
    StringAttr located = cast<NameLoc>(state.location).getName();
    state.addAttribute(OnnxDialect::getNameAttrName(),
                       node.name->empty() ? builder.getStringAttr("")
                                          : located);
  }
  if (node.docString)
    state.addAttribute(OnnxDialect::getDocStringAttrName(),
                       builder.getStringAttr(*node.docString));
  std::string verbatim = node.verbatim + attributes.verbatim;
  // An onnx.node keeps the domain as it is spelled, and all names.
  if (state.name.getStringRef() != NodeOp::getOperationName()) {
    verbatim += getTrailingNames(node, positions);
    if (node.domain == "ai.onnx")
      appendField(verbatim, 7, node.domain);
  }
  if (!verbatim.empty())
    state.addAttribute(OnnxDialect::getVerbatimAttrName(),
                       builder.getStringAttr(verbatim));
  if (!attributes.tensorNames.empty())
    state.addAttribute(OnnxDialect::getTensorNamesAttrName(),
                       attributes.tensorNames.getDictionary(context));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult ModelImporter::importNode(const NodeSpine &node, Scope &scope) {
  if (node.opType.empty())
    return emitError(node) << "has no op_type";
  if (!node.isDefaultDomain() || functions.contains({node.domain, node.opType}))
    return importGeneric(node, scope, nullptr);
  if (opset == 0 && model.opsets.empty())
    return emitError(node)
           << "is of ai.onnx, but the model imports no opset of ai.onnx; add "
              "an opset_import with the version that the model was made for";
  Block *block = builder.getInsertionBlock();
  Operation *last = block->empty() ? nullptr : &block->back();
  FailureOr<Fit> fit =
      opset == 0 ? makeGeneric(node, "the model imports no opset of ai.onnx")
                 : importRaised(node, scope);
  if (failed(fit))
    return failure();
  if (*fit == Fit::Operation)
    return success();
  SmallVector<Operation *> made = takeMade(block, last, scope);
  // Raising may have made several operations; only a node's own operation can
  // have bodies to keep.
  Operation *replaced = made.size() == 1 ? made.front() : nullptr;
  if (!replaced && llvm::any_of(made, [](Operation *op) {
        return op->getNumRegions() != 0;
      }))
    return emitError(node) << "the types of what its graphs make can't be told";
  SmallVector<Type> guessed;
  if (made.empty() && opset)
    guessed = guessTypes(node, scope);
  return importGeneric(node, scope, replaced, guessed);
}

/// Takes the operations after `last` out of the block and forgets their names:
/// an onnx.node will stand for them.
SmallVector<Operation *> ModelImporter::takeMade(Block *block, Operation *last,
                                                 Scope &scope) {
  SmallVector<Operation *> made;
  for (auto it = last ? std::next(last->getIterator()) : block->begin();
       it != block->end(); ++it)
    made.push_back(&*it);
  for (Operation *op : made) {
    op->remove();
    for (Value result : op->getResults())
      if (StringRef name = onnx::getValueName(result);
          scope.values.lookup(name) == result)
        scope.values.erase(name);
  }
  discarded.insert(discarded.end(), made.begin(), made.end());
  return made;
}

FailureOr<Fit> ModelImporter::importOperation(const NodeSpine &node,
                                              Scope &scope) {
  const OpSpec *spec = onnx::lookupSpec(node.opType);
  if (!spec)
    return makeGeneric(node, "ai.onnx has no operator " + node.opType +
                                 " at opset " + llvm::Twine(onnx::pinnedOpset));
  SmallVector<Value> inputs;
  NodeAttributes attributes;
  if (failed(resolveInputs(node, scope, inputs)))
    return failure();
  for (auto [name, value] : llvm::zip_equal(node.inputs, inputs))
    if (value && !isKnown(value.getType()))
      return makeGeneric(node, "the type of '" + name +
                                   "', which it reads, is not known");
  if (failed(checkArity(node, *spec, inputs)) ||
      failed(readAttributes(node, attributes)))
    return failure();
  OperationState state(getLocation(node), spec->operationName);
  FailureOr<Fit> fit = matchAttributes(node, *spec, attributes, state);
  if (failed(fit) || *fit == Fit::Generic)
    return fit;
  SmallVector<unsigned> positions = getResultPositions(node, *spec);
  SmallVector<Type> types(positions.empty() ? 0 : positions.back() + 1);
  for (unsigned position : positions)
    types[position] = UnknownType::get(context);
  if (failed(onnx::buildSchemaOp(state, *spec, inputs, types)))
    return emitError(node)
           << "its inputs and outputs do not fit the parameters of "
           << spec->name;
  addNotes(state, node, positions, attributes);
  for (size_t i = 0; i < spec->regions.size(); ++i)
    state.addRegion();
  Operation *op = builder.create(state);
  if (failed(importRegions(*spec, attributes, op, scope)))
    return failure();
  fit = inferResults(node, positions, op, scope);
  if (failed(fit) || *fit == Fit::Generic)
    return fit;
  if (failed(defineResults(node, positions, op, scope)))
    return failure();
  return Fit::Operation;
}

//===----------------------------------------------------------------------===//
// onnx.node
//===----------------------------------------------------------------------===//

/// `absent` positions of operands or results as the attribute that tells them;
/// null when all are there.
static DenseBoolArrayAttr getPresence(Builder &builder,
                                      ArrayRef<StringRef> names) {
  if (llvm::none_of(names, [](StringRef name) { return name.empty(); }))
    return {};
  SmallVector<bool> present =
      llvm::map_to_vector(names, [](StringRef name) { return !name.empty(); });
  return builder.getDenseBoolArrayAttr(present);
}

LogicalResult ModelImporter::importGeneric(const NodeSpine &node, Scope &scope,
                                           Operation *replaced,
                                           ArrayRef<Type> guessed) {
  SmallVector<Value> inputs;
  NodeAttributes attributes;
  if (failed(resolveInputs(node, scope, inputs)) ||
      failed(readAttributes(node, attributes)))
    return failure();
  OperationState state(getLocation(node), NodeOp::getOperationName());
  state.addAttribute("op_domain", builder.getStringAttr(node.domain));
  state.addAttribute("op_type", builder.getStringAttr(node.opType));
  if (!attributes.values.empty())
    state.addAttribute("fields", attributes.values.getDictionary(context));
  int64_t version = node.isDefaultDomain() ? opset : 0;
  for (auto [domain, imported] : model.opsets)
    if (domain == node.domain)
      version = imported;
  if (version)
    state.addAttribute("opset", builder.getI64IntegerAttr(version));
  if (DenseBoolArrayAttr present = getPresence(builder, node.inputs))
    state.addAttribute("operand_present", present);
  if (DenseBoolArrayAttr present = getPresence(builder, node.outputs))
    state.addAttribute("result_present", present);
  SmallVector<StringRef> regionNames;
  for (auto &[name, bytes] : attributes.graphs) {
    regionNames.push_back(name);
    state.addRegion();
  }
  if (!regionNames.empty())
    state.addAttribute("region_names", builder.getStrArrayAttr(regionNames));
  llvm::copy_if(inputs, std::back_inserter(state.operands),
                [](Value value) { return bool(value); });
  SmallVector<unsigned> positions;
  for (auto [position, name] : llvm::enumerate(node.outputs)) {
    if (name.empty())
      continue;
    FailureOr<Type> type = getDeclaredType(scope, name);
    if (failed(type))
      return failure();
    positions.push_back(position);
    Type result = *type;
    if (position < guessed.size() && guessed[position])
      result = merge(name, result, guessed[position]);
    state.addTypes(result ? result : UnknownType::get(context));
  }
  addNotes(state, node, positions, attributes);
  Operation *op = builder.create(state);
  if (failed(importGenericBodies(attributes, op, replaced, scope)))
    return failure();
  return defineResults(node, positions, op, scope);
}

/// Graphs of an onnx.node: those of the operation that it stands for, if there
/// was one.
LogicalResult
ModelImporter::importGenericBodies(const NodeAttributes &attributes,
                                   Operation *op, Operation *replaced,
                                   const Scope &scope) {
  auto schemaOp = dyn_cast_or_null<onnx::SchemaOpInterface>(replaced);
  for (auto [graph, region] :
       llvm::zip_equal(attributes.graphs, op->getRegions())) {
    auto [name, bytes] = graph;
    if (schemaOp) {
      ArrayRef<llvm::StringLiteral> names = schemaOp.getSpec().regions;
      region.takeBody(
          replaced->getRegion(llvm::find(names, name) - names.begin()));
    } else if (failed(importBody(bytes, region, nullptr, scope))) {
      return failure();
    }
  }
  return success();
}
