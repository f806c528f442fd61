//===- OnnxBuilder.cpp - Builds onnx operations, types inferred -----------===//
//
// Operators by name; the few with arguments worth a method have one.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/Inference/TypeInference.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace amp::onnx;

ArrayRef<int64_t> amp::onnx::getStaticShape(Value value) {
  auto type = mlir::cast<RankedTensorType>(value.getType());
  assert(type.hasStaticShape() && "the caller checks shapes");
  return type.getShape();
}

Type amp::onnx::getElementType(Value value) {
  return mlir::cast<TensorType>(value.getType()).getElementType();
}

bool amp::onnx::isHalf(Type elementType) {
  return elementType.isF16() || elementType.isBF16();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

SmallVector<Value>
OnnxBuilder::createMulti(StringRef name, ArrayRef<Value> inputs,
                         unsigned numResults,
                         ArrayRef<NamedAttribute> attributes) {
  const OpSpec *spec = lookupSpec(name);
  assert(spec && "the caller names an operator");
  OperationState state(loc, spec->operationName);
  SmallVector<Type> placeholders(numResults,
                                 UnknownType::get(builder.getContext()));
  if (failed(buildSchemaOp(state, *spec, inputs, placeholders)))
    llvm::report_fatal_error(Twine("operands do not fit ") + name);
  state.addAttributes(attributes);
  Operation *op = builder.create(state);
  TypeInference inference;
  SmallVector<Type> types;
  if (llvm::Error error = inference.infer(op, types))
    llvm::report_fatal_error(Twine("building ") + name + ": " +
                             llvm::toString(std::move(error)));
  for (auto [result, type] : llvm::zip(op->getResults(), types))
    if (type)
      result.setType(type);
  return llvm::to_vector_of<Value>(op->getResults());
}

Value OnnxBuilder::create(StringRef name, ArrayRef<Value> inputs,
                          ArrayRef<NamedAttribute> attributes) {
  return createMulti(name, inputs, 1, attributes).front();
}

NamedAttribute OnnxBuilder::attr(StringRef name, int64_t value) {
  return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
}

NamedAttribute OnnxBuilder::attr(StringRef name, float value) {
  return builder.getNamedAttr(name, builder.getF32FloatAttr(value));
}

NamedAttribute OnnxBuilder::attr(StringRef name, StringRef value) {
  return builder.getNamedAttr(name, builder.getStringAttr(value));
}

NamedAttribute OnnxBuilder::attr(StringRef name, ArrayRef<int64_t> values) {
  return builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(values));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value OnnxBuilder::constant(ElementsAttr value) {
  return onnx::ConstantOp::create(builder, loc, ArrayRef<Value>{},
                            ArrayRef<Type>{value.getType()},
                            builder.getNamedAttr("value", value));
}

Value OnnxBuilder::splat(double value, RankedTensorType type) {
  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return constant(DenseElementsAttr::get(
        type, Attribute(FloatAttr::get(element, value))));
  return constant(DenseElementsAttr::get(
      type, Attribute(IntegerAttr::get(element, static_cast<int64_t>(value)))));
}

Value OnnxBuilder::scalar(double value, Type elementType) {
  return splat(value, RankedTensorType::get({}, elementType));
}

Value OnnxBuilder::scalarLike(double value, Value like) {
  return scalar(value, getElementType(like));
}

Value OnnxBuilder::ints(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({static_cast<int64_t>(values.size())},
                                    builder.getI64Type());
  return constant(DenseElementsAttr::get(type, values));
}

//===----------------------------------------------------------------------===//
// Types and shapes
//===----------------------------------------------------------------------===//

Value OnnxBuilder::cast(Value value, Type elementType) {
  if (getElementType(value) == elementType)
    return value;
  auto type = mlir::cast<TensorType>(value.getType()).clone(elementType);
  if (amp::isCastable(value.getType()) && amp::isCastable(type))
    return amp::CastOp::create(builder, loc, type, value);
  return onnx::CastOp::create(
      builder, loc, ArrayRef<Value>{value}, ArrayRef<Type>{type},
      attr("to", getDataType(elementType)));
}

Value OnnxBuilder::reshape(Value value, ArrayRef<int64_t> shape) {
  if (getStaticShape(value) == shape)
    return value;
  // allowzero: a dimension of 0 means 0.
  return create("Reshape", {value, ints(shape)},
                llvm::is_contained(shape, 0)
                    ? ArrayRef<NamedAttribute>{attr("allowzero", int64_t(1))}
                    : ArrayRef<NamedAttribute>{});
}

Value OnnxBuilder::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return create("Transpose", {value}, attr("perm", permutation));
}

Value OnnxBuilder::expand(Value value, ArrayRef<int64_t> shape) {
  if (getStaticShape(value) == shape)
    return value;
  return create("Expand", {value, ints(shape)});
}

Value OnnxBuilder::slice(Value value, ArrayRef<int64_t> starts,
                         ArrayRef<int64_t> ends, ArrayRef<int64_t> axes,
                         ArrayRef<int64_t> steps) {
  SmallVector<Value> inputs{value, ints(starts), ints(ends), ints(axes)};
  if (!steps.empty())
    inputs.push_back(ints(steps));
  return create("Slice", inputs);
}

Value OnnxBuilder::pad(Value value, ArrayRef<int64_t> before,
                       ArrayRef<int64_t> after) {
  SmallVector<int64_t> pads(before);
  llvm::append_range(pads, after);
  if (llvm::all_of(pads, [](int64_t pad) { return pad == 0; }))
    return value;
  return create("Pad", {value, ints(pads)});
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value OnnxBuilder::reduce(StringRef name, Value value, ArrayRef<int64_t> axes,
                          bool keepDims) {
  if (axes.empty())
    return value;
  return create(name, {value, ints(axes)}, attr("keepdims", int64_t(keepDims)));
}

Value OnnxBuilder::unbroadcast(Value value, ArrayRef<int64_t> shape,
                               Type elementType) {
  if (!elementType)
    elementType = getElementType(value);
  ArrayRef<int64_t> from = getStaticShape(value);
  if (from == shape)
    return cast(value, elementType);
  int64_t extra = from.size() - shape.size();
  SmallVector<int64_t> axes;
  for (int64_t axis = 0, rank = from.size(); axis < rank; ++axis)
    if (axis < extra || (shape[axis - extra] == 1 && from[axis] != 1))
      axes.push_back(axis);
  Value wide = axes.empty() ? value : widen(value);
  return cast(reshape(reduce("ReduceSum", wide, axes), shape), elementType);
}
