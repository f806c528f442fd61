//===- TypeInference.cpp - Result types of onnx operations ----------------===//
//
// Runs the onnx library's inference functions over IR. Exceptions end here.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "OpFields.h"
#include "SymbolicValues.h"
#include "amp/Onnx/Proto/Proto.h"
#include <array>

using namespace mlir;
using namespace amp::onnx;
using namespace amp::onnx::detail;
using ::onnx::TensorProto;
using ::onnx::TensorShapeProto;
using ::onnx::TypeProto;

struct TypeInference::Impl {
  Impl() : arena(getOptions()) {}

  TypeProtos types;
  Schemas schemas;
  SymbolicValues values{types, schemas};

private:
  google::protobuf::ArenaOptions getOptions() {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    return options;
  }

  alignas(8) std::array<char, 16384> block;

public:
  /// Where the functions write; emptied for each operation.
  google::protobuf::Arena arena;
};

namespace {

/// Thrown where the library would unroll a shape that is too long to be one.
struct ShapeTooLong : std::exception {};

/// The type that inference wrote, negative dimensions left out.
Type importSized(TypeProto &proto, MLIRContext *context) {
  dropNegativeDims(proto);
  return amp::proto::importType(proto, context);
}

/// The types a region yields, which are final already.
class YieldedTypes final : public ::onnx::GraphInferencer {
public:
  YieldedTypes(Region &region, TypeProtos &types,
               SmallVectorImpl<Type> *argumentTypes)
      : region(region), types(types), argumentTypes(argumentTypes) {}

  std::vector<const TypeProto *>
  doInferencing(const std::vector<const TypeProto *> &inputTypes,
                const std::vector<const TensorProto *> &) override {
    if (argumentTypes) {
      // The protos die with the function that asks.
      for (const TypeProto *type : inputTypes) {
        TypeProto copy = type ? *type : TypeProto();
        argumentTypes->push_back(importSized(copy, region.getContext()));
      }
      throw ArgumentsKnown();
    }
    std::vector<const TypeProto *> result;
    for (Value value : region.front().getTerminator()->getOperands())
      result.push_back(types.get(value.getType()));
    return result;
  }

  /// Ends an inference that was run for the argument types only.
  struct ArgumentsKnown : std::exception {};

private:
  Region &region;
  TypeProtos &types;
  SmallVectorImpl<Type> *argumentTypes;
};

/// A node as the library's inference functions see it.
class OpContext final : public ::onnx::InferenceContext {
public:
  OpContext(Operation *op, const OpSpec &spec, TypeProtos &types,
            SymbolicValues &values, google::protobuf::Arena &arena);

  const ::onnx::AttributeProto *
  getAttribute(const std::string &name) const override {
    return attributes.get(name);
  }
  size_t getNumInputs() const override { return inputs.size(); }
  const TypeProto *getInputType(size_t index) const override {
    return index < inputs.size() && inputs[index]
               ? types.get(inputs[index].getType())
               : nullptr;
  }
  const TensorProto *getInputData(size_t index) const override;
  const ::onnx::SparseTensorProto *getInputSparseData(size_t) const override {
    return nullptr;
  }
  const TensorShapeProto *getSymbolicInput(size_t index) const override;
  size_t getNumOutputs() const override { return results.size(); }
  TypeProto *getOutputType(size_t index) override {
    if (index >= results.size())
      throw ::onnx::InferenceError("output " + std::to_string(index) +
                                   " is missing");
    return results[index];
  }
  ::onnx::GraphInferencer *
  getGraphAttributeInferencer(const std::string &name) override;
  std::string getDisplayName() const override { return spec.name.str(); }

  ArrayRef<Value> getOutputs() const { return outputs; }
  TypeProto &getResult(size_t position) { return *results[position]; }

  /// Where to put the types of one region's arguments; inference stops there.
  StringRef wantedRegion;
  SmallVector<Type> argumentTypes;

private:
  Operation *op;
  const OpSpec &spec;
  TypeProtos &types;
  SymbolicValues &values;
  SmallVector<Value> inputs, outputs;
  SmallVector<TypeProto *> results;
  OpAttributes attributes;
  mutable SmallVector<std::pair<size_t, std::unique_ptr<TensorProto>>, 2> data;
  SmallVector<std::unique_ptr<YieldedTypes>, 2> regions;
};

OpContext::OpContext(Operation *op, const OpSpec &spec, TypeProtos &types,
                     SymbolicValues &values, google::protobuf::Arena &arena)
    : op(op), spec(spec), types(types), values(values),
      inputs(getPositionalInputs(op)), outputs(getPositionalOutputs(op)),
      attributes(op, spec) {
  arena.Reset();
  for (size_t i = 0; i < outputs.size(); ++i)
    results.push_back(
        google::protobuf::Arena::CreateMessage<TypeProto>(&arena));
  // Values of a variadic input start at its own position (Loop subtracts).
  size_t formals = spec.inputs.size();
  if (formals && spec.inputs.back().kind == FormalKind::Variadic &&
      inputs.size() < formals - 1)
    inputs.resize(formals - 1);
}

const TensorProto *OpContext::getInputData(size_t index) const {
  for (auto &[known, proto] : data)
    if (known == index)
      return proto.get();
  auto proto = std::make_unique<TensorProto>();
  if (index >= inputs.size() || !inputs[index] ||
      !getSmallConstant(inputs[index], *proto))
    proto = nullptr;
  // Where a number is expected the library reads the first one, even of none.
  if (proto && proto->raw_data().empty() &&
      spec.inputs[getFormalOfPosition(spec.inputs, index)].name != "axes")
    proto = nullptr;
  return data.emplace_back(index, std::move(proto)).second.get();
}

const TensorShapeProto *OpContext::getSymbolicInput(size_t index) const {
  if (index >= inputs.size() || !inputs[index])
    return nullptr;
  // Only shapes are asked for here; without their elements the library takes
  // their length for a rank and counts up to it.
  auto type = dyn_cast<RankedTensorType>(inputs[index].getType());
  if (type && type.getRank() == 1 && type.getDimSize(0) > maxFollowedLength)
    throw ShapeTooLong();
  return values.get(inputs[index]);
}

::onnx::GraphInferencer *
OpContext::getGraphAttributeInferencer(const std::string &name) {
  auto known = llvm::find(spec.regions, name);
  if (known == spec.regions.end())
    return nullptr;
  Region &region = op->getRegion(known - spec.regions.begin());
  regions.push_back(std::make_unique<YieldedTypes>(
      region, types, wantedRegion == name ? &argumentTypes : nullptr));
  return regions.back().get();
}

//===----------------------------------------------------------------------===//
// What the functions leave open
//===----------------------------------------------------------------------===//

/// The type without what it says about shapes.
Type dropShape(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(),
                             dropShape(sequence.getElementType()));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(),
                             dropShape(optional.getElementType()));
  if (auto tensor = dyn_cast<TensorType>(type))
    return UnrankedTensorType::get(tensor.getElementType());
  return type;
}

/// The only tensor type of a set, for instance of an output that is always
/// bool; null when the set has more.
Type getOnlyType(unsigned typeSet, MLIRContext *context) {
  Type only;
  for (int32_t number = 1; number < TensorProto::DataType_ARRAYSIZE; ++number) {
    Type type =
        UnrankedTensorType::get(amp::proto::importElementType(number, context));
    if (!isInTypeSet(type, typeSet))
      continue;
    if (only)
      return {};
    only = type;
  }
  return only;
}

/// What the signature alone says about the result at `position`.
Type getTypeFromSignature(Operation *op, const OpSpec &spec,
                          unsigned position) {
  const FormalSpec &output =
      spec.outputs[getFormalOfPosition(spec.outputs, position)];
  if (output.typeVar < 0)
    return getOnlyType(output.typeSet, op->getContext());
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (spec.inputs[getFormalOfOperand(op, index)].typeVar == output.typeVar)
      return dropShape(operand.getType());
  return getOnlyType(output.typeSet, op->getContext());
}

/// The message without the library's tag of the kind of error.
llvm::Error makeError(StringRef message) {
  for (StringRef tag : {"[TypeInferenceError] ", "[ShapeInferenceError] "})
    message.consume_front(tag);
  return llvm::createStringError(message.rtrim());
}

/// Whether a region yields a value that nothing tells the type of.
bool yieldsUnknown(Operation *op) {
  return llvm::any_of(op->getRegions(), [](Region &region) {
    return llvm::any_of(region.front().getTerminator()->getOperandTypes(),
                        llvm::IsaPred<UnknownType>);
  });
}

/// Runs the schema's function; success also when it stopped half-way because it
/// can't know more.
llvm::Error runInference(const ::onnx::OpSchema *schema, OpContext &context) {
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const ShapeTooLong &) {
  } catch (const YieldedTypes::ArgumentsKnown &) {
  } catch (const std::exception &error) {
    return makeError(error.what());
  }
  return llvm::Error::success();
}

} // namespace

//===----------------------------------------------------------------------===//
// TypeInference
//===----------------------------------------------------------------------===//

TypeInference::TypeInference() : impl(std::make_unique<Impl>()) {}
TypeInference::~TypeInference() = default;

llvm::Error TypeInference::infer(Operation *op, SmallVectorImpl<Type> &types) {
  types.clear();
  const OpSpec &spec = cast<SchemaOpInterface>(op).getSpec();
  const ::onnx::OpSchema *schema = impl->schemas.get(spec);
  OpContext context(op, spec, impl->types, impl->values, impl->arena);
  bool hasFunction = schema && schema->has_type_and_shape_inference_function();
  if (hasFunction && !yieldsUnknown(op))
    if (llvm::Error error = runInference(schema, context))
      return error;
  for (auto [position, value] : llvm::enumerate(context.getOutputs())) {
    if (!value)
      continue;
    Type type = importSized(context.getResult(position), op->getContext());
    // The normalizations without a function keep the type of their input.
    if (!hasFunction && position == 0 && op->getNumOperands())
      type = op->getOperand(0).getType();
    if (isa<UnknownType>(type))
      type = getTypeFromSignature(op, spec, position);
    types.push_back(type);
  }
  return llvm::Error::success();
}

llvm::Error TypeInference::inferRegionArguments(Operation *op, unsigned region,
                                                SmallVectorImpl<Type> &types) {
  types.clear();
  const OpSpec &spec = cast<SchemaOpInterface>(op).getSpec();
  const ::onnx::OpSchema *schema = impl->schemas.get(spec);
  if (!schema || !schema->has_type_and_shape_inference_function())
    return llvm::Error::success();
  OpContext context(op, spec, impl->types, impl->values, impl->arena);
  context.wantedRegion = spec.regions[region];
  if (llvm::Error error = runInference(schema, context))
    return error;
  types.assign(context.argumentTypes.begin(), context.argumentTypes.end());
  return llvm::Error::success();
}
