//===- Entry.cpp - What an entry is called with, and its memory -----------===//
//
// Tensors in the order of the function's arguments and results; the arena from
// what steps use.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Plan/Entry.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::plan;

std::string plan::describe(Operation *op) {
  StringRef name = onnx::getNodeName(op);
  return name.empty()
             ? op->getName().getStringRef().str()
             : (op->getName().getStringRef() + " '" + name + "'").str();
}

LogicalResult plan::checkStep(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError("a step to compile has one block");
  auto check = [&](Operation *op, Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && type.hasStaticShape() &&
        isa<FloatType, IntegerType>(type.getElementType()))
      return success();
    return op->emitError() << "cannot compile " << describe(op)
                           << ": it has a value of type " << value.getType()
                           << "; bind symbolic dimensions to sizes first";
  };
  for (BlockArgument argument : function.getArguments())
    if (failed(check(function, argument)))
      return failure();
  for (Operation &op : function.front().without_terminator())
    for (Value result : op.getResults())
      if (failed(check(&op, result)))
        return failure();
  return success();
}

bool plan::isEmpty(const Group &group) {
  return llvm::all_of(group.ops, [](Operation *op) {
    return llvm::all_of(op->getResults(), [](Value result) {
      return getNumElements(getShape(result)) == 0;
    });
  });
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::string getString(DictionaryAttr attributes, StringRef name) {
  auto attr = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return attr ? attr.str() : "";
}

static TensorInfo describeTensor(RankedTensorType type,
                                 DictionaryAttr attributes,
                                 StringRef otherRole) {
  TensorInfo info;
  info.name = getString(attributes, onnx::OnnxDialect::getNameAttrName());
  info.role = getString(attributes, train::TrainDialect::getRoleAttrName());
  info.of = getString(attributes, train::TrainDialect::getOfAttrName());
  info.elementType = type.getElementType();
  info.shape.assign(type.getShape().begin(), type.getShape().end());
  if (info.role.empty())
    info.role = otherRole.str();
  return info;
}

EntryMemory::EntryMemory(func::FuncOp function, const StorageMap &storages,
                         int64_t inlineConstantBytes, int64_t alignment)
    : function(function), storages(storages),
      inlineConstantBytes(inlineConstantBytes), alignment(alignment) {
  describeTensors();
}

void EntryMemory::describeTensors() {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    tensors.push_back(describeTensor(cast<RankedTensorType>(type),
                                     function.getArgAttrDict(i), "input"));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (!getAliasedArgument(function, i))
      tensors.push_back(describeTensor(cast<RankedTensorType>(type),
                                       function.getResultAttrDict(i),
                                       "output"));
}

int64_t EntryMemory::addConstant(unsigned index, ElementsAttr data) {
  auto [tensor, isNew] = tensorOfConstant.insert({index, tensors.size()});
  if (!isNew)
    return tensor->second;
  Value value = storages[index].value;
  TensorInfo info = describeTensor(cast<RankedTensorType>(value.getType()),
                                   DictionaryAttr(), "constant");
  info.name = onnx::getValueName(value).str();
  if (info.name.empty())
    info.name = "constant." + std::to_string(tensors.size());
  info.data = data;
  tensors.push_back(std::move(info));
  return tensor->second;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void EntryMemory::use(int64_t step, unsigned storage) {
  if (storages[storage].place != Place::Arena)
    return;
  auto [entry, isNew] =
      lifetimes.insert({storage, {storages[storage].bytes, step, step}});
  entry->second.last = step;
  if (isNew)
    order.push_back(storage);
}

void EntryMemory::layOut() {
  SmallVector<Lifetime> buffers;
  for (unsigned storage : order)
    buffers.push_back(lifetimes[storage]);
  layout = plan::layOut(buffers, alignment);
  for (auto [storage, offset] : llvm::zip(order, layout.offsets))
    offsets[storage] = offset;
}

FailureOr<plan::Location> EntryMemory::locate(unsigned index) {
  const Storage &storage = storages[index];
  switch (storage.place) {
  case Place::Argument:
    return plan::Location{plan::Location::Tensor, storage.index, {}};
  case Place::Result: {
    int64_t number = function.getNumArguments();
    for (unsigned i = 0; i < storage.index; ++i)
      number += getAliasedArgument(function, i) ? 0 : 1;
    return plan::Location{plan::Location::Tensor, number, {}};
  }
  case Place::Arena:
    return plan::Location{plan::Location::Arena, offsets.lookup(index), {}};
  case Place::Constant:
    break;
  }
  Operation *op = storage.value.getDefiningOp();
  ElementsAttr data = onnx::getConstantValue(storage.value);
  if (!data)
    return op->emitError() << "cannot compile the constant "
                           << plan::describe(op)
                           << ": its data is not a tensor";
  if (storage.bytes <= inlineConstantBytes)
    return plan::Location{plan::Location::Inline, 0, data};
  return plan::Location{plan::Location::Tensor, addConstant(index, data), {}};
}
