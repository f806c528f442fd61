//===- MergeTypes.cpp - The more specific of two types --------------------===//
//
// Joins what a file declares about a value with what inference says.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Onnx/Inference/TypeInference.h"

using namespace mlir;
using namespace amp::onnx;

namespace {

/// The entry of dimension `index` in a type's encoding, null without one.
Attribute getDimEntry(RankedTensorType type, unsigned index) {
  auto dims = dyn_cast_or_null<DimsAttr>(type.getEncoding());
  return dims && index < dims.getNames().size() ? dims.getNames()[index]
                                                : Attribute();
}

bool isName(Attribute entry) {
  auto name = dyn_cast_or_null<StringAttr>(entry);
  return name && !name.empty();
}

/// Of two entries of a dimension without size: a name before a value that is no
/// size before nothing, the declared one before the inferred one.
Attribute mergeDimEntries(Attribute declared, Attribute inferred) {
  for (Attribute entry : {declared, inferred})
    if (isName(entry))
      return entry;
  for (Attribute entry : {declared, inferred})
    if (isa_and_nonnull<IntegerAttr>(entry))
      return entry;
  return {};
}

Type mergeRanked(RankedTensorType declared, RankedTensorType inferred) {
  if (declared.getRank() != inferred.getRank())
    return {};
  MLIRContext *context = declared.getContext();
  SmallVector<int64_t> shape;
  SmallVector<Attribute> entries;
  bool keepEntries = false;
  for (int64_t i = 0; i < declared.getRank(); ++i) {
    bool isOpen = declared.isDynamicDim(i) && inferred.isDynamicDim(i);
    if (!declared.isDynamicDim(i) && !inferred.isDynamicDim(i) &&
        declared.getDimSize(i) != inferred.getDimSize(i))
      return {};
    shape.push_back(declared.isDynamicDim(i) ? inferred.getDimSize(i)
                                             : declared.getDimSize(i));
    // A size says more than any name.
    Attribute entry = isOpen ? mergeDimEntries(getDimEntry(declared, i),
                                               getDimEntry(inferred, i))
                             : Attribute();
    keepEntries |= bool(entry);
    entries.push_back(entry ? entry : StringAttr::get(context));
  }
  return RankedTensorType::get(shape, declared.getElementType(),
                               keepEntries ? DimsAttr::get(context, entries)
                                           : Attribute());
}

Type mergeTensors(TensorType declared, TensorType inferred) {
  if (declared.getElementType() != inferred.getElementType())
    return {};
  if (!declared.hasRank())
    return inferred;
  if (!inferred.hasRank())
    return declared;
  return mergeRanked(cast<RankedTensorType>(declared),
                     cast<RankedTensorType>(inferred));
}

/// Merges the element types of two containers of the same kind.
template <typename Container>
Type mergeContainers(Container declared, Container inferred) {
  Type element =
      mergeTypes(declared.getElementType(), inferred.getElementType());
  return element ? Container::get(declared.getContext(), element) : Type();
}

bool isUnknown(Type type) { return !type || isa<UnknownType>(type); }

} // namespace

Type amp::onnx::mergeTypes(Type declared, Type inferred) {
  if (isUnknown(inferred))
    return declared;
  if (isUnknown(declared) || declared == inferred)
    return inferred;
  if (auto tensor = dyn_cast<TensorType>(declared))
    return isa<TensorType>(inferred)
               ? mergeTensors(tensor, cast<TensorType>(inferred))
               : Type();
  if (declared.getTypeID() != inferred.getTypeID())
    return {};
  if (auto sequence = dyn_cast<SequenceType>(declared))
    return mergeContainers(sequence, cast<SequenceType>(inferred));
  if (auto optional = dyn_cast<OptionalType>(declared))
    return mergeContainers(optional, cast<OptionalType>(inferred));
  if (auto sparse = dyn_cast<SparseTensorType>(declared)) {
    Type tensor = mergeTypes(sparse.getTensorType(),
                             cast<SparseTensorType>(inferred).getTensorType());
    return tensor ? SparseTensorType::get(declared.getContext(), tensor)
                  : Type();
  }
  if (auto map = dyn_cast<MapType>(declared)) {
    auto other = cast<MapType>(inferred);
    Type value = map.getKeyType() == other.getKeyType()
                     ? mergeTypes(map.getValueType(), other.getValueType())
                     : Type();
    return value ? MapType::get(declared.getContext(), map.getKeyType(), value)
                 : Type();
  }
  return {};
}
