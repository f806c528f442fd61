//===- OnnxSpecs.cpp - Operator schemas as tables -------------------------===//
//
// Lookup of operator facts and the sets of allowed types.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// Bits of allowed element types, per shape of type.
struct TypeSet {
  uint32_t tensor, sequence, optional, optionalSequence;
};

#include "amp/Dialect/Onnx/IR/OnnxSpecs.inc"

/// Position of an element type in the order the masks use; -1 for types ONNX has not.
int getElementCode(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() == 1)
      return 4;
    int base = integer.isUnsigned() ? 12 : 6;
    switch (integer.getWidth()) {
    case 2:
      return base;
    case 4:
      return base + 1;
    case 8:
      return base + 2;
    case 16:
      return base + 3;
    case 32:
      return base + 4;
    case 64:
      return base + 5;
    }
    return -1;
  }
  if (auto complex = dyn_cast<ComplexType>(type))
    return complex.getElementType().isF32() ? 24 : complex.getElementType().isF64() ? 25 : -1;
  return llvm::TypeSwitch<Type, int>(type)
      .Case<Float32Type>([](auto) { return 0; })
      .Case<Float64Type>([](auto) { return 1; })
      .Case<Float16Type>([](auto) { return 2; })
      .Case<BFloat16Type>([](auto) { return 3; })
      .Case<StringType>([](auto) { return 5; })
      .Case<Float8E4M3FNType>([](auto) { return 18; })
      .Case<Float8E4M3FNUZType>([](auto) { return 19; })
      .Case<Float8E5M2Type>([](auto) { return 20; })
      .Case<Float8E5M2FNUZType>([](auto) { return 21; })
      .Case<Float4E2M1FNType>([](auto) { return 22; })
      .Case<Float8E8M0FNUType>([](auto) { return 23; })
      .Default([](auto) { return -1; });
}

/// ONNX's names in the order of the codes above.
constexpr llvm::StringLiteral elementNames[] = {
    "float",  "double", "float16", "bfloat16", "bool",  "string", "int2",         "int4",           "int8",
    "int16",  "int32",  "int64",   "uint2",    "uint4", "uint8",  "uint16",       "uint32",         "uint64",
    "float8e4m3fn",     "float8e4m3fnuz",      "float8e5m2",      "float8e5m2fnuz", "float4e2m1", "float8e8m0",
    "complex64",        "complex128"};

bool hasElement(uint32_t mask, Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return false;
  int code = getElementCode(tensor.getElementType());
  return code >= 0 && (mask >> code & 1);
}

} // namespace

llvm::ArrayRef<OpSpec> amp::onnx::getOpSpecs() { return opSpecs; }

const OpSpec *amp::onnx::lookupSpec(StringRef name) {
  const OpSpec *found =
      llvm::lower_bound(opSpecs, name, [](const OpSpec &spec, StringRef wanted) { return spec.name < wanted; });
  return found != std::end(opSpecs) && found->name == name ? found : nullptr;
}

StringRef amp::onnx::getElementTypeName(Type elementType) {
  int code = getElementCode(elementType);
  return code < 0 ? StringRef() : StringRef(elementNames[code]);
}

Type amp::onnx::getTensorElementType(Type type) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return getTensorElementType(sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type))
    return getTensorElementType(optional.getElementType());
  auto tensor = dyn_cast<TensorType>(type);
  return tensor ? tensor.getElementType() : Type();
}

bool amp::onnx::isInTypeSet(Type type, unsigned typeSet) {
  const TypeSet &set = typeSets[typeSet];
  if (auto sequence = dyn_cast<SequenceType>(type))
    return hasElement(set.sequence, sequence.getElementType());
  if (auto optional = dyn_cast<OptionalType>(type)) {
    if (auto sequence = dyn_cast<SequenceType>(optional.getElementType()))
      return hasElement(set.optionalSequence, sequence.getElementType());
    return hasElement(set.optional, optional.getElementType());
  }
  return hasElement(set.tensor, type);
}

Type amp::onnx::withElementType(Type type, Type elementType) {
  if (auto sequence = dyn_cast<SequenceType>(type))
    return SequenceType::get(type.getContext(), withElementType(sequence.getElementType(), elementType));
  if (auto optional = dyn_cast<OptionalType>(type))
    return OptionalType::get(type.getContext(), withElementType(optional.getElementType(), elementType));
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(ranked.getShape(), elementType, ranked.getEncoding());
  if (isa<UnrankedTensorType>(type))
    return UnrankedTensorType::get(elementType);
  return type;
}

int64_t amp::onnx::getDataType(Type elementType) {
  if (elementType.isF32())
    return 1;
  if (elementType.isSignlessInteger(32))
    return 6;
  if (elementType.isSignlessInteger(64))
    return 7;
  if (elementType.isInteger(1))
    return 9;
  if (elementType.isF16())
    return 10;
  if (elementType.isF64())
    return 11;
  return elementType.isBF16() ? 16 : 0;
}
