//===- GraphBuilder.cpp - Graphs of onnx operations from Python -----------===//
//
// Operators are checked and typed as they are added, so that an error names the
// line of the user's program that it comes from.
//
//===----------------------------------------------------------------------===//

#include "GraphBuilder.h"
#include "Arrays.h"
#include "Attributes.h"
#include "mlir/IR/Verifier.h"
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

using namespace mlir;
using namespace amp::python;
using amp::onnx::OnnxDialect;
using amp::onnx::OpSpec;
using amp::train::TrainDialect;
namespace nb = nanobind;

/// Of the model that is saved, unless an operator needs a newer one.
static constexpr int64_t defaultOpset = 17;
/// The lowest version whose initializers need not be inputs and that engines of
/// that opset's age know.
static constexpr int64_t irVersion = 8;

GraphBuilder::GraphBuilder(const std::string &name,
                           std::optional<int64_t> opset)
    : context(makeContext()), builder(context.get()),
      opset(opset.value_or(defaultOpset)),
      inference(std::make_unique<onnx::TypeInference>()) {
  if (*this->opset < 1 || *this->opset > onnx::pinnedOpset)
    throw Error("opset " + std::to_string(*this->opset) +
                " is not known; give one from 1 to " +
                std::to_string(onnx::pinnedOpset));
  Location location = builder.getUnknownLoc();
  module = ModuleOp::create(location);
  builder.setInsertionPointToStart(module->getBody());
  buildModelOp();
  function = func::FuncOp::create(builder, location,
                                  name.empty() ? "main_graph" : name,
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  scopes.emplace_back();
}

GraphBuilder::~GraphBuilder() {
  inference.reset();
  for (Operation *op : discarded)
    op->destroy();
}

void GraphBuilder::buildModelOp() {
  auto import = onnx::OpsetAttr::get(context.get(), "", *opset);
  onnx::ModelOp::create(
      builder, builder.getUnknownLoc(), builder.getI64IntegerAttr(irVersion),
      builder.getArrayAttr(import), builder.getStringAttr("amp-mlir"),
      builder.getStringAttr(AMP_VERSION), StringAttr(), IntegerAttr(),
      StringAttr(), ArrayAttr(), StringAttr());
}

void GraphBuilder::checkOpen() const {
  if (!inference)
    throw Error("the graph is finished; begin another GraphBuilder");
}

void GraphBuilder::takeName(StringRef name, StringRef what) {
  if (name.empty())
    throw Error("an " + what.str() + " needs a name");
  if (!names.insert(name).second)
    throw Error("two values of the graph are called '" + name.str() + "'");
}

GraphValuePtr GraphBuilder::makeHandle(Value value) {
  return std::make_shared<GraphValue>(
      GraphValue{shared_from_this(), value, value.getType(),
                 onnx::getValueName(value).str()});
}

//===----------------------------------------------------------------------===//
// Inputs and constants
//===----------------------------------------------------------------------===//

GraphValuePtr GraphBuilder::addInput(const std::string &name,
                                     const std::string &dtype,
                                     nb::sequence shape,
                                     const std::string &role, nb::object init) {
  checkOpen();
  takeName(name, "input");
  std::optional<train::Role> parsed = train::parseRole(role);
  if (!parsed)
    throw Error("input '" + name + "': '" + role +
                "' is no role; there are "
                "input, label, parameter and buffer");
  RankedTensorType type = parseTensorType(dtype, shape, context.get());
  SmallVector<NamedAttribute> facts{builder.getNamedAttr(
      OnnxDialect::getNameAttrName(), builder.getStringAttr(name))};
  // Without a role it is one of those that files have, and stays in them.
  if (*parsed != train::Role::Input)
    facts.push_back(builder.getNamedAttr(TrainDialect::getRoleAttrName(),
                                         builder.getStringAttr(role)));
  if (!init.is_none()) {
    ElementsAttr value =
        makeElements(init, nb::none(), nb::none(), name, context.get());
    if (value.getType() != type)
      throw Error("input '" + name + "': its initial value has another type");
    facts.push_back(
        builder.getNamedAttr(TrainDialect::getInitAttrName(), value));
  }
  unsigned index = function.getNumArguments();
  Location location = NameLoc::get(builder.getStringAttr(name));
  (void)function.insertArgument(index, type, builder.getDictionaryAttr(facts),
                                location);
  return makeHandle(function.getArgument(index));
}

GraphValuePtr GraphBuilder::addInitializer(const std::string &given,
                                           nb::handle array, nb::object dtype,
                                           nb::object shape) {
  checkOpen();
  std::string name = given;
  for (unsigned i = names.size(); name.empty(); ++i)
    if (!names.contains("constant_" + std::to_string(i)))
      name = "constant_" + std::to_string(i);
  takeName(name, "initializer");
  ElementsAttr value;
  try {
    value = makeElements(array, dtype, shape, name, context.get());
  } catch (const Error &error) {
    throw Error("initializer '" + name + "': " + error.what());
  }
  OpBuilder atStart(context.get());
  if (lastInitializer)
    atStart.setInsertionPointAfter(lastInitializer);
  else
    atStart.setInsertionPointToStart(&function.front());
  StringAttr nameAttr = builder.getStringAttr(name);
  OperationState state(NameLoc::get(nameAttr),
                       onnx::InitializerOp::getOperationName());
  state.addAttribute("value", value);
  state.addAttribute(OnnxDialect::getOutputsAttrName(),
                     builder.getArrayAttr(nameAttr));
  state.addTypes(value.getType());
  lastInitializer = atStart.create(state);
  // It lies outside of all regions.
  return makeHandle(lastInitializer->getResult(0));
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

Location GraphBuilder::getLocation(const std::string &name, nb::object loc) {
  Location file = builder.getUnknownLoc();
  if (!loc.is_none()) {
    auto parts = nb::cast<nb::sequence>(loc);
    file = FileLineColLoc::get(context.get(), nb::cast<std::string>(parts[0]),
                               nb::cast<unsigned>(parts[1]), 0);
  }
  return name.empty() ? file : NameLoc::get(builder.getStringAttr(name), file);
}

static SmallVector<Value> getOperands(nb::sequence inputs,
                                      const GraphBuilder *builder) {
  SmallVector<Value> values;
  for (nb::handle input : inputs) {
    std::string where = "input " + std::to_string(values.size());
    if (input.is_none()) {
      values.push_back({});
      continue;
    }
    GraphValuePtr value;
    if (!nb::try_cast(input, value))
      throw Error(where + " is no Value of a graph");
    if (value->builder.get() != builder)
      throw Error(where + " belongs to another graph");
    values.push_back(value->value);
  }
  while (!values.empty() && !values.back())
    values.pop_back();
  return values;
}

/// Names of results as the attribute that keeps them.
static ArrayAttr getOutputNames(nb::object names, Builder &builder) {
  SmallVector<Attribute> attributes;
  for (nb::handle name : nb::cast<nb::sequence>(names))
    attributes.push_back(builder.getStringAttr(
        name.is_none() ? std::string() : nb::cast<std::string>(name)));
  return builder.getArrayAttr(attributes);
}

std::vector<GraphValuePtr>
GraphBuilder::addOp(const std::string &type, nb::sequence inputs,
                    nb::dict attributes, unsigned numOutputs,
                    const std::string &name, nb::object loc,
                    nb::object outputNames) {
  checkOpen();
  Location location = getLocation(name, loc);
  try {
    const OpSpec *spec = onnx::lookupSpec(type);
    if (!spec)
      throw Error("ONNX has no operator of this name at opset " +
                  std::to_string(onnx::pinnedOpset));
    SmallVector<Value> operands = getOperands(inputs, this);
    Operation *op = createOp(*spec, operands, attributes, numOutputs, location);
    if (!name.empty())
      op->setAttr(OnnxDialect::getNameAttrName(), builder.getStringAttr(name));
    if (!outputNames.is_none())
      op->setAttr(OnnxDialect::getOutputsAttrName(),
                  getOutputNames(outputNames, builder));
    checkOp(op);
    std::vector<GraphValuePtr> results;
    for (Value result : op->getResults())
      results.push_back(makeHandle(result));
    llvm::append_range(scopes.back(), results);
    return results;
  } catch (const Error &error) {
    throw Error(describe(location) + type + ": " + error.what());
  }
}

Operation *GraphBuilder::createOp(const OpSpec &spec, ArrayRef<Value> inputs,
                                  nb::dict attributes, unsigned numOutputs,
                                  Location location) {
  if (!spec.regions.empty())
    throw Error("operators with graphs inside can't be built");
  OperationState state(location, spec.operationName);
  SmallVector<Type> placeholders(numOutputs,
                                 onnx::UnknownType::get(context.get()));
  if (failed(onnx::buildSchemaOp(state, spec, inputs, placeholders)))
    throw Error("it has " + std::to_string(inputs.size()) + " inputs and " +
                std::to_string(numOutputs) +
                " outputs, which do not fit what the operator takes and makes");
  addAttributes(spec, attributes, state);
  return builder.create(state);
}

/// Types of the results, and whether the operator allows what it was given.
void GraphBuilder::checkOp(Operation *op) {
  try {
    SmallVector<Type> types;
    python::check(inference->infer(op, types));
    for (OpResult result : op->getResults()) {
      Type type = types[result.getResultNumber()];
      if (!type || isa<onnx::UnknownType>(type))
        throw Error("the type of its output " +
                    std::to_string(result.getResultNumber()) +
                    " can't be told");
      result.setType(type);
      if (StringRef name = onnx::getValueName(result); !name.empty())
        takeName(name, "output");
    }
    Diagnostics diagnostics(context.get());
    diagnostics.check(mlir::verify(op), "it is not valid");
  } catch (const Error &) {
    // Inference remembers values by their address.
    op->remove();
    op->dropAllReferences();
    discarded.push_back(op);
    throw;
  }
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void GraphBuilder::openRegion(bool enabled,
                              const std::optional<std::string> &dtype,
                              const std::optional<std::string> &policy) {
  checkOpen();
  OperationState state(builder.getUnknownLoc(), AutocastOp::getOperationName());
  state.addAttribute("enabled", builder.getBoolAttr(enabled));
  if (dtype && *dtype != "f16" && *dtype != "bf16")
    throw Error("autocast: the dtype is f16, bf16 or None, but got '" + *dtype +
                "'");
  if (dtype)
    state.addAttribute("dtype",
                       TypeAttr::get(parseElementType(*dtype, context.get())));
  if (policy)
    state.addAttribute("policy", builder.getStringAttr(*policy));
  state.addRegion()->emplaceBlock();
  auto region = cast<AutocastOp>(builder.create(state));
  builder.setInsertionPointToEnd(&region.getBody().front());
  regions.push_back(region);
  scopes.emplace_back();
}

/// The same region with the results `types`.
static amp::AutocastOp withResults(amp::AutocastOp region, TypeRange types) {
  OpBuilder builder(region);
  OperationState state(region.getLoc(), region->getName());
  state.addTypes(types);
  state.addAttributes(region->getAttrs());
  state.addRegion()->takeBody(region.getBody());
  return cast<amp::AutocastOp>(builder.create(state));
}

/// Everything that was made inside and that Python still has may be used
/// outside; what is not, is pruned at the end.
void GraphBuilder::closeRegion() {
  checkOpen();
  AutocastOp region = regions.pop_back_val();
  SmallVector<GraphValuePtr> made;
  SmallVector<Value> values;
  for (const std::weak_ptr<GraphValue> &kept : scopes.pop_back_val())
    if (GraphValuePtr handle = kept.lock()) {
      values.push_back(handle->value);
      made.push_back(std::move(handle));
    }
  YieldOp::create(builder, region.getLoc(), values);
  AutocastOp closed = withResults(region, ValueRange(values).getTypes());
  region->erase();
  builder.setInsertionPointAfter(closed);
  for (auto [handle, result] : llvm::zip_equal(made, closed.getResults())) {
    handle->value = result;
    scopes.back().push_back(handle);
  }
}

static amp::AutocastOp pruneResults(amp::AutocastOp region) {
  llvm::BitVector unused(region->getNumResults());
  SmallVector<Type> kept;
  for (OpResult result : region.getResults()) {
    unused[result.getResultNumber()] = result.use_empty();
    if (!result.use_empty())
      kept.push_back(result.getType());
  }
  region.getBody().front().getTerminator()->eraseOperands(unused);
  amp::AutocastOp pruned = withResults(region, kept);
  unsigned next = 0;
  for (OpResult result : region.getResults())
    if (!result.use_empty())
      result.replaceAllUsesWith(pruned.getResult(next++));
  region->erase();
  return pruned;
}

/// Outer regions first: what they no longer yield, inner ones need not either.
void GraphBuilder::pruneRegions(Block &block) {
  SmallVector<AutocastOp> found(block.getOps<AutocastOp>());
  for (AutocastOp region : found)
    pruneRegions(pruneResults(region).getBody().front());
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// The number of the input `name`, which `value` is to be written over.
unsigned GraphBuilder::findAliased(const GraphValue &value, StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    if (onnx::getValueName(argument) != name)
      continue;
    if (argument.getType() != value.value.getType())
      throw Error("it is written over '" + name.str() +
                  "', which has another type");
    return argument.getArgNumber();
  }
  throw Error("it is written over '" + name.str() + "', which is no input");
}

void GraphBuilder::addOutput(const GraphValue &value, const std::string &name,
                             const std::string &role,
                             const std::optional<std::string> &alias) {
  checkOpen();
  try {
    if (!regions.empty())
      throw Error("leave the autocast region first");
    if (value.builder.get() != this)
      throw Error("the value belongs to another graph");
    bool isOwn = onnx::getValueName(value.value) == name;
    bool repeats = llvm::any_of(
        outputs, [&](const Output &output) { return output.name == name; });
    if (name.empty() || repeats || (!isOwn && names.contains(name)))
      throw Error("it needs a name that no other value has");
    std::optional<train::Role> parsed = train::parseRole(role);
    if (!parsed)
      throw Error("'" + role +
                  "' is no role; there are output, loss and buffer");
    outputs.push_back({value.value, name, *parsed, std::nullopt});
    if (alias)
      outputs.back().alias = findAliased(value, *alias);
  } catch (const Error &error) {
    throw Error("output '" + name + "': " + error.what());
  }
}

DictionaryAttr GraphBuilder::getFacts(const Output &output) {
  SmallVector<NamedAttribute> facts{builder.getNamedAttr(
      OnnxDialect::getNameAttrName(), builder.getStringAttr(output.name))};
  // Without a role it is one of those that files have.
  if (output.role != train::Role::Output)
    facts.push_back(builder.getNamedAttr(
        TrainDialect::getRoleAttrName(),
        builder.getStringAttr(train::getRoleName(output.role))));
  if (output.alias)
    facts.push_back(
        builder.getNamedAttr(TrainDialect::getAliasAttrName(),
                             builder.getI64IntegerAttr(*output.alias)));
  return builder.getDictionaryAttr(facts);
}

std::shared_ptr<Module> GraphBuilder::finish() {
  checkOpen();
  if (!regions.empty())
    throw Error("an autocast region is still open");
  if (outputs.empty())
    throw Error("the graph has no output");
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> facts;
  for (const Output &output : outputs) {
    values.push_back(output.value);
    facts.push_back(getFacts(output));
  }
  func::ReturnOp::create(builder, builder.getUnknownLoc(), values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(values).getTypes()));
  function.setAllResultAttrs(facts);
  function->setAttr(OnnxDialect::getGraphAttrName(),
                    builder.getDictionaryAttr(builder.getNamedAttr(
                        "name", builder.getStringAttr(function.getSymName()))));
  inference.reset();
  pruneRegions(function.front());
  Diagnostics diagnostics(context.get());
  diagnostics.check(mlir::verify(*module), "the graph is not valid");
  return std::make_shared<Module>(context, std::move(module),
                                  function.getSymName().str());
}
