//===- SymbolicValues.cpp - Values of shape arithmetic --------------------===//
//
// Runs the library's data propagation over the operations behind a value.
//
//===----------------------------------------------------------------------===//

#include "SymbolicValues.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

namespace {

/// Whether a value's elements are worth following: a few ints.
bool isFollowed(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1)
    return false;
  if (!type.getElementType().isSignlessInteger(64) &&
      !type.getElementType().isSignlessInteger(32))
    return false;
  return type.getRank() == 0 || type.isDynamicDim(0) ||
         type.getDimSize(0) <= maxFollowedLength;
}

/// The elements of a constant.
bool getConstantElements(Value value, TensorShapeProto &elements) {
  std::optional<SmallVector<int64_t>> ints = getConstantInts(value);
  if (!ints || int64_t(ints->size()) > maxFollowedLength)
    return false;
  for (int64_t element : *ints)
    elements.add_dim()->set_dim_value(element);
  return true;
}

/// As many unknown elements as the type says.
bool getUnknownElements(Value value, TensorShapeProto &elements) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 0 || type.isDynamicDim(0))
    return false;
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    elements.add_dim();
  return true;
}

class PropagationContext final : public ::onnx::DataPropagationContext {
public:
  PropagationContext(Operation *op, const OpSpec &spec, TypeProtos &types,
                     const SymbolicValues &values)
      : inputs(getPositionalInputs(op)), outputs(getPositionalOutputs(op)),
        attributes(op, spec), spec(spec), types(types), values(values) {}

  const ::onnx::AttributeProto *
  getAttribute(const std::string &name) const override {
    return attributes.get(name);
  }
  size_t getNumInputs() const override { return inputs.size(); }
  size_t getNumOutputs() const override { return outputs.size(); }
  const TypeProto *getInputType(size_t index) const override {
    return getType(inputs, index);
  }
  const TypeProto *getOutputType(size_t index) const override {
    return getType(outputs, index);
  }
  const TensorShapeProto *getInputData(size_t index) override;
  void addOutputData(size_t index, TensorShapeProto &&data) override {
    if (index == 0 && data.dim_size() <= maxFollowedLength)
      result = std::make_unique<TensorShapeProto>(std::move(data));
  }

  /// What the propagation function said about the first output.
  std::unique_ptr<TensorShapeProto> result;

private:
  const TypeProto *getType(ArrayRef<Value> of, size_t index) const {
    return index < of.size() && of[index] ? types.get(of[index].getType())
                                          : nullptr;
  }

  SmallVector<Value> inputs, outputs;
  OpAttributes attributes;
  const OpSpec &spec;
  TypeProtos &types;
  const SymbolicValues &values;
};

const TensorShapeProto *PropagationContext::getInputData(size_t index) {
  if (index >= inputs.size() || !inputs[index])
    return nullptr;
  const TensorShapeProto *data = values.getComputed(inputs[index]);
  // The library's Slice reads bounds without asking whether they are known, and
  // adds steps in ints.
  bool isBound = spec.name == "Slice" && index > 0;
  auto isUsable = [&](const TensorShapeProto::Dimension &dim) {
    return dim.has_dim_value() &&
           (index != 4 || llvm::AbsoluteValue(dim.dim_value()) <=
                              uint64_t(maxFollowedLength));
  };
  if (isBound && data && !llvm::all_of(data->dim(), isUsable))
    return nullptr;
  return data;
}

} // namespace

const TensorShapeProto *SymbolicValues::getComputed(Value value) const {
  auto entry = known.find(value);
  return entry == known.end() ? nullptr : entry->second.get();
}

/// The schema's propagation of `op`, if it has one.
static bool propagates(Operation *op, Schemas &schemas) {
  auto schemaOp = dyn_cast_or_null<SchemaOpInterface>(op);
  const ::onnx::OpSchema *schema =
      schemaOp ? schemas.get(schemaOp.getSpec()) : nullptr;
  return schema && schema->has_data_propagation_function();
}

void SymbolicValues::compute(OpResult result) {
  Operation *op = result.getOwner();
  const OpSpec &spec = cast<SchemaOpInterface>(op).getSpec();
  PropagationContext context(op, spec, types, *this);
  try {
    schemas.get(spec)->GetDataPropagationFunction()(context);
  } catch (const std::exception &) {
    // Wrong operands: type inference of this operation reports them.
    return;
  }
  auto type = cast<RankedTensorType>(result.getType());
  if (!context.result || (type.hasStaticShape() &&
                          type.getNumElements() != context.result->dim_size()))
    return;
  known[result] = std::move(context.result);
}

const TensorShapeProto *SymbolicValues::get(Value value) {
  // Operands first, without recursion: files decide how deep this goes.
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value current = pending.back();
    if (known.contains(current)) {
      pending.pop_back();
      continue;
    }
    auto elements = std::make_unique<TensorShapeProto>();
    Operation *op = current.getDefiningOp();
    if (!isFollowed(current)) {
      known[current] = nullptr;
    } else if (getConstantElements(current, *elements)) {
      known[current] = std::move(elements);
    } else if (!propagates(op, schemas)) {
      known[current] = getUnknownElements(current, *elements)
                           ? std::move(elements)
                           : nullptr;
    } else {
      size_t size = pending.size();
      llvm::copy_if(op->getOperands(), std::back_inserter(pending),
                    [&](Value operand) { return !known.contains(operand); });
      if (pending.size() != size)
        continue;
      // Stands unless the propagation function knows more.
      known[current] = getUnknownElements(current, *elements)
                           ? std::move(elements)
                           : nullptr;
      compute(cast<OpResult>(current));
    }
    pending.pop_back();
  }
  return getComputed(value);
}
