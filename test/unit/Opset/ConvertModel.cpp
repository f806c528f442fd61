//===- ConvertModel.cpp - Convert a whole model to another opset
//-----------===//
// amp-convert-opset (IN OUT OPSET)...: for the tests, which run both models and
// compare. Every node goes through convertNode; the types come from the onnx
// library's inference. Exit code 3 and a line per node where something is
// refused.
//===----------------------------------------------------------------------===//

#include "amp/Onnx/Opset/Opset.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

#include <deque>
#include <fstream>
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>

using namespace amp::onnx_opset;

namespace {
/// Types and constants of all graphs of a model; names are unique enough for
/// the tests' models.
class ModelContext final : public NodeContext {
public:
  explicit ModelContext(const onnx::ModelProto &model)
      : NodeContext(ownSchemas) {
    add(model.graph());
  }

  const onnx::TypeProto *getType(llvm::StringRef value) const override {
    auto found = types.find(value);
    return found == types.end() ? nullptr : found->second;
  }
  const onnx::TensorProto *getConstant(llvm::StringRef value) const override {
    return constants.lookup(value);
  }
  bool isUsed(llvm::StringRef value) const override {
    return read.contains(value);
  }
  std::string freshName(llvm::StringRef base) override {
    std::string name = base.str();
    for (int i = 2; !taken.insert(name).second; ++i)
      name = base.str() + std::to_string(i);
    return name;
  }

private:
  void add(const onnx::GraphProto &graph);

  SchemaCache ownSchemas;
  llvm::StringMap<const onnx::TypeProto *> types;
  llvm::StringMap<const onnx::TensorProto *> constants;
  std::deque<onnx::TypeProto> constantTypes;
  llvm::StringSet<> read, taken;
};

class ModelConverter {
public:
  ModelConverter(const onnx::ModelProto &typed, int from, int to)
      : context(typed), from(from), to(to) {}

  void convert(onnx::GraphProto &graph);

  int refused = 0;

private:
  ModelContext context;
  int from, to;
};
} // namespace

void ModelContext::add(const onnx::GraphProto &graph) {
  for (const auto *list :
       {&graph.input(), &graph.output(), &graph.value_info()})
    for (const onnx::ValueInfoProto &info : *list) {
      types[info.name()] = &info.type();
      taken.insert(info.name());
    }
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    constants[tensor.name()] = &tensor;
    auto *type = constantTypes.emplace_back().mutable_tensor_type();
    type->set_elem_type(tensor.data_type());
    type->mutable_shape();
    for (int64_t size : tensor.dims())
      type->mutable_shape()->add_dim()->set_dim_value(size);
    types[tensor.name()] = &constantTypes.back();
    taken.insert(tensor.name());
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    read.insert(output.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &input : node.input())
      read.insert(input);
    for (const std::string &output : node.output())
      taken.insert(output);
    for (const onnx::AttributeProto &attr : node.attribute()) {
      if (node.op_type() == "Constant" && attr.name() == "value")
        constants[node.output(0)] = &attr.t();
      if (attr.has_g())
        add(attr.g());
    }
  }
}

void ModelConverter::convert(onnx::GraphProto &graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> old;
  old.Swap(graph.mutable_node());
  for (onnx::NodeProto &node : old) {
    for (onnx::AttributeProto &attr : *node.mutable_attribute())
      if (attr.has_g())
        convert(*attr.mutable_g());
    llvm::Expected<Rewritten> result = convertNode(node, from, to, context);
    if (!result) {
      llvm::outs() << "refused: " << llvm::toString(result.takeError()) << "\n";
      ++refused;
      continue;
    }
    for (onnx::TensorProto &constant : result->constants)
      *graph.add_initializer() = std::move(constant);
    for (onnx::NodeProto &made : result->nodes)
      *graph.add_node() = std::move(made);
  }
}

static int run(const char *in, const char *out, int to) {
  onnx::ModelProto model;
  std::ifstream input(in, std::ios::binary);
  if (!model.ParseFromIstream(&input)) {
    llvm::errs() << in << ": not a model\n";
    return 1;
  }
  int from = 1;
  for (onnx::OperatorSetIdProto &import : *model.mutable_opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      from = import.version();
      import.set_version(to);
    }
  onnx::ModelProto typed = model;
  for (onnx::OperatorSetIdProto &import : *typed.mutable_opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx")
      import.set_version(from);
  try {
    onnx::shape_inference::InferShapes(
        typed, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions{/*check_type_val=*/false,
                                    /*strict_mode_val=*/0,
                                    /*data_prop_val=*/true});
  } catch (const std::exception &) {
    // An operator that the library does not know: go on with declared types.
  }
  ModelConverter converter(typed, from, to);
  converter.convert(*model.mutable_graph());
  // Initializers need not be inputs from IR version 4 on.
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 4));
  std::ofstream output(out, std::ios::binary);
  if (!model.SerializeToOstream(&output))
    return 1;
  return converter.refused ? 3 : 0;
}

int main(int argc, char **argv) {
  if (argc < 4 || argc % 3 != 1) {
    llvm::errs() << "usage: amp-convert-opset (IN OUT OPSET)...\n";
    return 2;
  }
  int worst = 0;
  for (int i = 1; i + 2 < argc; i += 3) {
    int code = 1;
    try {
      code = run(argv[i], argv[i + 1], std::atoi(argv[i + 2]));
    } catch (const std::exception &error) {
      llvm::errs() << error.what() << "\n";
    }
    // One line per model, for a caller that gives many.
    llvm::outs() << code << " " << argv[i + 1] << "\n";
    worst = std::max(worst, code);
  }
  return worst;
}
