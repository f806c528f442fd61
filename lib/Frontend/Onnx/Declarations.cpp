//===- Declarations.cpp - What a graph says beside its values -------------===//
//
// Declared types of inputs, outputs and inner values, kept where they say more
// than the IR, and told where they are wrong.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"

using namespace mlir;
using namespace amp::importer;
using amp::onnx::UnknownType;

/// Name and type of a ValueInfoProto; what the IR does not model of it goes to
/// the graph's verbatim part.
FailureOr<DeclaredType> ModelImporter::readInfo(StringRef bytes, uint32_t field,
                                                GraphSpine &graph,
                                                StringRef &name) {
  ValueInfoSpine info;
  if (failed(report(scanValueInfo(bytes, info))))
    return failure();
  name = info.name;
  DeclaredType declared{UnknownType::get(context), true};
  if (info.type) {
    FailureOr<DeclaredType> read = readType(*info.type);
    if (failed(read))
      return failure();
    declared = *read;
  }
  if (declared.exact && info.rest.empty())
    return declared;
  std::string partial;
  appendField(partial, 1, name);
  if (!declared.exact)
    appendField(partial, 2, *info.type);
  partial += info.rest;
  appendField(graph.verbatim, field, partial);
  return declared;
}

/// Whether a declaration says what cannot be true of `value`: there was a
/// warning, and the file that is written says what is.
static bool contradicts(Type declared, Value value) {
  return !amp::onnx::mergeTypes(declared, value.getType());
}

LogicalResult ModelImporter::addDeclared(ArrayRef<StringRef> infos,
                                         uint32_t field, GraphSpine &graph,
                                         const Scope &scope,
                                         NamedAttrList &declared) {
  for (StringRef bytes : infos) {
    StringRef name;
    FailureOr<DeclaredType> type = readInfo(bytes, field, graph, name);
    if (failed(type))
      return failure();
    Value value = scope.lookup(name);
    if (name.empty() || !value || value.getType() == type->type)
      continue;
    if (contradicts(type->type, value))
      tellContradiction(name, type->type, value.getType(), /*always=*/true);
    else
      declared.set(name, TypeAttr::get(type->type));
  }
  return success();
}

LogicalResult
ModelImporter::addValueInfos(GraphSpine &graph, const Scope &scope,
                             SmallVectorImpl<Attribute> &entries) {
  for (StringRef bytes : graph.valueInfos) {
    StringRef name;
    FailureOr<DeclaredType> type = readInfo(bytes, 13, graph, name);
    if (failed(type))
      return failure();
    Value value = scope.values.lookup(name);
    StringAttr nameAttr = builder.getStringAttr(name);
    if (value &&
        (value.getType() == type->type || contradicts(type->type, value)))
      entries.push_back(nameAttr);
    else
      entries.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("name", nameAttr),
           builder.getNamedAttr("type", TypeAttr::get(type->type))}));
  }
  return success();
}

FailureOr<DictionaryAttr>
ModelImporter::buildGraphDictionary(GraphSpine &graph, const Scope &scope,
                                    NamedAttrList entries) {
  NamedAttrList declared;
  SmallVector<Attribute> valueInfos;
  if (failed(addDeclared(graph.inputs, 11, graph, scope, declared)) ||
      failed(addDeclared(graph.outputs, 12, graph, scope, declared)) ||
      failed(addValueInfos(graph, scope, valueInfos)))
    return failure();
  if (graph.name)
    entries.set("name", builder.getStringAttr(*graph.name));
  if (graph.docString)
    entries.set("doc_string", builder.getStringAttr(*graph.docString));
  if (!valueInfos.empty())
    entries.set("value_info", builder.getArrayAttr(valueInfos));
  if (!declared.empty())
    entries.set("declared", declared.getDictionary(context));
  if (!graph.verbatim.empty())
    entries.set("verbatim", builder.getStringAttr(graph.verbatim));
  return entries.getDictionary(context);
}
