//===- GraphValues.cpp - What a graph says about its values ---------------===//
// Inputs, outputs and value_info, with the types that values have by now.
//===----------------------------------------------------------------------===//

#include "GraphWriter.h"
#include "amp/Onnx/Proto/Proto.h"

using namespace mlir;
using namespace amp;
using namespace amp::onnx_export;
using ::onnx::GraphProto;
using ::onnx::TypeProto;
using ::onnx::ValueInfoProto;

//===----------------------------------------------------------------------===//
// One value
//===----------------------------------------------------------------------===//

/// Copies what a type message says beside the type.
static void mergeDenotations(const TypeProto &from, TypeProto &to) {
  if (from.has_denotation())
    to.set_denotation(from.denotation());
  if (from.has_sequence_type() && to.has_sequence_type())
    mergeDenotations(from.sequence_type().elem_type(),
                     *to.mutable_sequence_type()->mutable_elem_type());
  if (from.has_optional_type() && to.has_optional_type())
    mergeDenotations(from.optional_type().elem_type(),
                     *to.mutable_optional_type()->mutable_elem_type());
  if (from.has_map_type() && to.has_map_type())
    mergeDenotations(from.map_type().value_type(),
                     *to.mutable_map_type()->mutable_value_type());
  if (!from.has_tensor_type() || !to.has_tensor_type())
    return;
  const auto &dims = from.tensor_type().shape().dim();
  auto &target = *to.mutable_tensor_type();
  for (int i = 0, e = std::min(dims.size(), target.shape().dim_size()); i < e;
       ++i)
    if (dims[i].has_denotation())
      target.mutable_shape()->mutable_dim(i)->set_denotation(
          dims[i].denotation());
}

void GraphWriter::readVerbatim(Graph &graph) {
  auto bytes = graph.dictionary ? graph.dictionary.getAs<StringAttr>("verbatim")
                                : StringAttr();
  if (!bytes || !graph.verbatim.ParseFromString(bytes.str()))
    return;
  auto index = [&](unsigned field, const auto &list) {
    for (const ValueInfoProto &value : list)
      graph.said[field].try_emplace(value.name(), &value);
  };
  index(GraphProto::kInputFieldNumber, graph.verbatim.input());
  index(GraphProto::kOutputFieldNumber, graph.verbatim.output());
  index(GraphProto::kValueInfoFieldNumber, graph.verbatim.value_info());
}

/// The serialized TypeProto; empty for an unknown type.
StringRef GraphWriter::getTypeBytes(Type type) {
  auto [entry, isNew] = typeBytes.try_emplace(type);
  if (isNew) {
    TypeProto proto;
    proto::exportType(type, proto);
    proto.SerializeToString(&entry->second);
  }
  return entry->second;
}

void GraphWriter::writeValue(Graph &graph, unsigned field, StringAttr name,
                             Type type) {
  auto said = graph.said.find(field);
  const ValueInfoProto *more =
      said == graph.said.end() ? nullptr : said->second.lookup(name);
  if (!more)
    return graph.message.addPair(field, name, getTypeBytes(type));
  ValueInfoProto value = *more;
  // What the file says is right as long as it says the same.
  bool saysType = more->has_type() &&
                  proto::importType(more->type(), type.getContext()) == type;
  if (!saysType) {
    value.clear_type();
    proto::exportType(type, *value.mutable_type());
    mergeDenotations(more->type(), *value.mutable_type());
  }
  graph.message.addMessage(field, value);
}

/// The declared type, with the element type that the value has by now.
static Type withCurrentElement(Type declared, Type current) {
  Type declaredElement = amp::onnx::getTensorElementType(declared);
  Type element = amp::onnx::getTensorElementType(current);
  if (!declaredElement || !element || declaredElement == element)
    return declared;
  return amp::onnx::withElementType(declared, element);
}

/// The type to declare for an input or output.
static Type getDeclaredType(DictionaryAttr dictionary, StringAttr name,
                            Type current) {
  auto declared = dictionary ? dictionary.getAs<DictionaryAttr>("declared")
                             : DictionaryAttr();
  auto type = declared ? declared.getAs<TypeAttr>(name) : TypeAttr();
  return type ? withCurrentElement(type.getValue(), current) : current;
}

//===----------------------------------------------------------------------===//
// Lists of values
//===----------------------------------------------------------------------===//

void GraphWriter::writeName(Graph &graph) {
  auto get = [&](StringRef key) {
    return graph.dictionary ? graph.dictionary.getAs<StringAttr>(key)
                            : StringAttr();
  };
  if (StringAttr name = get("name"))
    graph.message.addString(GraphProto::kNameFieldNumber, name);
  else if (!graph.dictionary)
    graph.message.addString(GraphProto::kNameFieldNumber,
                            graph.function ? graph.function.getName() : "body");
  if (StringAttr doc = get("doc_string"))
    graph.message.addString(GraphProto::kDocStringFieldNumber, doc);
}

void GraphWriter::writeInputs(Graph &graph) {
  constexpr unsigned field = GraphProto::kInputFieldNumber;
  bool listsInitializers = opsets.getIrVersion() < firstFreeInitializers;
  std::map<int64_t, Value> initializers;
  if (listsInitializers)
    for (auto op : graph.block->getOps<amp::onnx::InitializerOp>())
      if (std::optional<int64_t> index = op.getInputIndex())
        initializers.emplace(*index, op.getResult());
  int64_t position = 0;
  auto write = [&](Value value) {
    StringAttr name = plan.names.get(value);
    writeValue(
        graph, field, name,
        getDeclaredType(graph.dictionary, name, plan.constants.getType(value)));
    ++position;
  };
  auto next = initializers.begin();
  auto writeInitializers = [&](bool isRest) {
    for (; next != initializers.end() && (isRest || next->first <= position);
         ++next)
      write(next->second);
  };
  for (BlockArgument argument : graph.block->getArguments()) {
    writeInitializers(/*isRest=*/false);
    write(argument);
  }
  writeInitializers(/*isRest=*/true);
  if (listsInitializers)
    for (auto [name, type] : graph.listed)
      writeValue(graph, field, name, type);
}

void GraphWriter::writeOutputs(Graph &graph) {
  ValueRange values = graph.block->getTerminator()->getOperands();
  for (auto [output, value] :
       llvm::zip_equal(plan.names.getOutputs(graph.block), values))
    writeValue(graph, GraphProto::kOutputFieldNumber, output.name,
               getDeclaredType(graph.dictionary, output.name,
                               plan.constants.getType(value)));
}

void GraphWriter::writeValueInfo(Graph &graph) {
  auto entries = graph.dictionary
                     ? graph.dictionary.getAs<ArrayAttr>("value_info")
                     : ArrayAttr();
  if (!entries)
    return;
  llvm::DenseMap<StringAttr, Value> values;
  auto add = [&](Value value) { values[plan.names.get(value)] = value; };
  llvm::for_each(graph.block->getArguments(), add);
  for (Operation &op : *graph.block) {
    auto cast = dyn_cast<CastOp>(op);
    if (!cast || plan.constants.getForm(cast) != CastForm::Merged)
      llvm::for_each(op.getResults(), add);
  }
  for (Attribute entry : entries) {
    auto name = dyn_cast<StringAttr>(entry);
    TypeAttr declared;
    if (auto pair = dyn_cast<DictionaryAttr>(entry)) {
      name = pair.getAs<StringAttr>("name");
      declared = pair.getAs<TypeAttr>("type");
    }
    if (!name)
      continue;
    Value value = values.lookup(name);
    if (!value)
      value = plan.names.find(name);
    if (!value && !declared)
      continue;
    Type current = value ? plan.constants.getType(value) : declared.getValue();
    writeValue(graph, GraphProto::kValueInfoFieldNumber, name,
               declared ? withCurrentElement(declared.getValue(), current)
                        : current);
  }
}

void GraphWriter::writeVerbatim(Graph &graph) {
  graph.verbatim.clear_input();
  graph.verbatim.clear_output();
  graph.verbatim.clear_value_info();
  graph.message.addFields(graph.verbatim);
}
