//===- GraphTypes.cpp - Types that graphs declare by name -----------------===//
//
// Keeps the types in graph dictionaries in step with those of the values.
//
//===----------------------------------------------------------------------===//

#include "GraphTypes.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace amp;

namespace {
using TypesByName = llvm::StringMap<Type>;
} // namespace

/// The declared type of `name` with the element type its value has now.
static Attribute retype(StringRef name, Attribute declared,
                        const TypesByName &types) {
  auto type = dyn_cast_or_null<TypeAttr>(declared);
  auto entry = types.find(name);
  if (!type || entry == types.end())
    return declared;
  return TypeAttr::get(onnx::withElementType(type.getValue(), entry->second));
}

static Attribute retypeValueInfo(ArrayAttr infos, const TypesByName &types) {
  auto retyped = llvm::map_to_vector(infos, [&](Attribute info) -> Attribute {
    auto dictionary = dyn_cast<DictionaryAttr>(info);
    auto name =
        dictionary ? dictionary.getAs<StringAttr>("name") : StringAttr();
    if (!name)
      return info;
    NamedAttrList fields(dictionary);
    if (Attribute type = fields.get("type"))
      fields.set("type", retype(name, type, types));
    return fields.getDictionary(info.getContext());
  });
  return ArrayAttr::get(infos.getContext(), retyped);
}

static DictionaryAttr retypeGraph(DictionaryAttr graph,
                                  const TypesByName &types) {
  NamedAttrList entries(graph);
  if (auto infos = graph.getAs<ArrayAttr>("value_info"))
    entries.set("value_info", retypeValueInfo(infos, types));
  if (auto declared = graph.getAs<DictionaryAttr>("declared")) {
    NamedAttrList retyped;
    for (NamedAttribute entry : declared)
      retyped.append(entry.getName(),
                     retype(entry.getName(), entry.getValue(), types));
    entries.set("declared", retyped.getDictionary(graph.getContext()));
  }
  return entries.getDictionary(graph.getContext());
}

/// Whether the dictionary declares a type at all; most say names only.
static bool declaresTypes(DictionaryAttr graph) {
  if (!graph)
    return false;
  auto infos = graph.getAs<ArrayAttr>("value_info");
  return graph.contains("declared") ||
         (infos && llvm::any_of(infos, llvm::IsaPred<DictionaryAttr>));
}

static DictionaryAttr getGraph(Block *block) {
  if (auto function = dyn_cast<func::FuncOp>(block->getParentOp()))
    return function->getAttrOfType<DictionaryAttr>(
        onnx::OnnxDialect::getGraphAttrName());
  auto yield = dyn_cast<onnx::YieldOp>(block->getTerminator());
  return yield ? yield.getGraphAttr() : DictionaryAttr();
}

static void setGraph(Block *block, DictionaryAttr graph) {
  if (auto function = dyn_cast<func::FuncOp>(block->getParentOp()))
    function->setAttr(onnx::OnnxDialect::getGraphAttrName(), graph);
  else
    cast<onnx::YieldOp>(block->getTerminator()).setGraphAttr(graph);
}

void amp::updateDeclaredTypes(func::FuncOp function, ArrayRef<Value> values) {
  // Null for graphs that declare nothing.
  llvm::MapVector<Block *, std::unique_ptr<TypesByName>> typesByBlock;
  for (Value value : values) {
    Block *block = value.getParentBlock();
    auto [it, isNew] = typesByBlock.insert({block, nullptr});
    if (isNew && declaresTypes(getGraph(block)))
      it->second = std::make_unique<TypesByName>();
    if (!it->second)
      continue;
    StringRef name = onnx::getValueName(value);
    if (!name.empty())
      (*it->second)[name] = onnx::getTensorElementType(value.getType());
  }
  for (auto &[block, types] : typesByBlock)
    if (types)
      setGraph(block, retypeGraph(getGraph(block), *types));
}
