//===- StepFunction.cpp - The signature of a step -------------------------===//
//
// The only place that spells the attributes of arguments and results.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"

using namespace mlir;
using namespace amp;
using namespace amp::train;

static StringRef nameIn(DictionaryAttr attributes) {
  auto name =
      attributes
          ? attributes.getAs<StringAttr>(onnx::OnnxDialect::getNameAttrName())
          : StringAttr();
  return name ? name.getValue() : StringRef();
}

StringRef amp::train::getArgumentName(func::FuncOp function, unsigned index) {
  return nameIn(function.getArgAttrDict(index));
}

StringRef amp::train::getResultName(func::FuncOp function, unsigned index) {
  return nameIn(function.getResultAttrDict(index));
}

BlockArgument amp::train::findArgument(func::FuncOp function, StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (getArgumentName(function, argument.getArgNumber()) == name)
      return argument;
  return {};
}

static NamedAttrList attributesOf(MLIRContext *context,
                                  const ValueFacts &facts) {
  Builder builder(context);
  NamedAttrList attributes;
  attributes.set(onnx::OnnxDialect::getNameAttrName(),
                 builder.getStringAttr(facts.name));
  attributes.set(TrainDialect::getRoleAttrName(),
                 builder.getStringAttr(getRoleName(facts.role)));
  if (!facts.of.empty())
    attributes.set(TrainDialect::getOfAttrName(),
                   builder.getStringAttr(facts.of));
  if (facts.init)
    attributes.set(TrainDialect::getInitAttrName(), facts.init);
  return attributes;
}

BlockArgument amp::train::addArgument(func::FuncOp function,
                                      RankedTensorType type,
                                      const ValueFacts &facts) {
  MLIRContext *context = function.getContext();
  unsigned index = function.getNumArguments();
  LogicalResult inserted = function.insertArgument(
      index, type, attributesOf(context, facts).getDictionary(context),
      function.getLoc());
  assert(succeeded(inserted) && "a func.func takes any type");
  (void)inserted;
  return function.getArgument(index);
}

void amp::train::setArgumentFacts(func::FuncOp function, unsigned index,
                                  const ValueFacts &facts) {
  NamedAttrList attributes(function.getArgAttrDict(index));
  for (NamedAttribute attribute : attributesOf(function.getContext(), facts))
    attributes.set(attribute.getName(), attribute.getValue());
  function.setArgAttrs(index, attributes);
}

static void insertWith(func::FuncOp function, unsigned index, Value value,
                       const NamedAttrList &attributes) {
  LogicalResult inserted = function.insertResult(
      index, value.getType(), attributes.getDictionary(function.getContext()));
  assert(succeeded(inserted) && "a func.func takes any type");
  (void)inserted;
  function.front().getTerminator()->insertOperands(index, value);
}

void amp::train::insertResult(func::FuncOp function, unsigned index,
                              Value value, const ValueFacts &facts) {
  insertWith(function, index, value,
             attributesOf(function.getContext(), facts));
}

void amp::train::addNextValue(func::FuncOp function, BlockArgument argument,
                              Value value) {
  unsigned number = argument.getArgNumber();
  NamedAttrList attributes(function.getArgAttrDict(number));
  Builder builder(function.getContext());
  attributes.erase(TrainDialect::getInitAttrName());
  attributes.set(
      onnx::OnnxDialect::getNameAttrName(),
      builder.getStringAttr("next." + getArgumentName(function, number)));
  attributes.set(TrainDialect::getAliasAttrName(),
                 builder.getI64IntegerAttr(number));
  insertWith(function, function.getNumResults(), value, attributes);
}

void amp::train::eraseResult(func::FuncOp function, unsigned index) {
  LogicalResult erased = function.eraseResult(index);
  assert(succeeded(erased) && "the caller counts results");
  (void)erased;
  function.front().getTerminator()->eraseOperand(index);
}

void amp::train::setResults(func::FuncOp function, ArrayRef<Value> values,
                            ArrayRef<DictionaryAttr> attributes) {
  function.front().getTerminator()->setOperands(values);
  function.setType(FunctionType::get(function.getContext(),
                                     function.getArgumentTypes(),
                                     TypeRange(ValueRange(values))));
  function.setAllResultAttrs(attributes);
}

void amp::train::eraseUnusedArguments(func::FuncOp function,
                                      BlockArgument kept) {
  StringRef key = TrainDialect::getAliasAttrName();
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty() && argument != kept;
  // What is written stays, even if nothing reads it.
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto alias = function.getResultAttrOfType<IntegerAttr>(i, key))
      unused.reset(alias.getInt());

  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto alias = function.getResultAttrOfType<IntegerAttr>(i, key)) {
      int64_t before = alias.getInt();
      int64_t dropped = llvm::count_if(
          unused.set_bits(), [&](int64_t number) { return number < before; });
      function.setResultAttr(i, key,
                             builder.getI64IntegerAttr(before - dropped));
    }
  LogicalResult erased = function.eraseArguments(unused);
  assert(succeeded(erased) && "only unused arguments go");
  (void)erased;
}

DictionaryAttr amp::train::getFactAttributes(MLIRContext *context,
                                             const ValueFacts &facts) {
  return attributesOf(context, facts).getDictionary(context);
}

FailureOr<TrainingConfig> amp::train::loadConfig(Operation *op,
                                                 StringRef option) {
  if (option.empty())
    return op->emitError() << "this pass needs the option config=train.json";
  llvm::Expected<TrainingConfig> config = TrainingConfig::load(option);
  if (!config)
    return op->emitError() << llvm::toString(config.takeError());
  return std::move(*config);
}

NamePatterns::NamePatterns(ArrayRef<std::string> texts) {
  for (const std::string &text : texts)
    patterns.push_back({text, llvm::Regex("^(" + text + ")$")});
}

bool NamePatterns::match(StringRef name) {
  bool any = false;
  for (Pattern &pattern : patterns)
    if (pattern.regex.match(name))
      any = pattern.used = true;
  return any;
}

std::vector<std::string> NamePatterns::getUnused() const {
  std::vector<std::string> unused;
  for (const Pattern &pattern : patterns)
    if (!pattern.used)
      unused.push_back(pattern.text);
  return unused;
}
