//===- OracleTest.cpp - The onnx library's version converter as a judge
//----===//
// Small models converted by both sides must be the same, up to names and to
// where constants are kept.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/defs/printer.h>
#include <onnx/defs/schema.h>
#include <onnx/defs/tensor_proto_util.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

using namespace amp::onnx_opset;

/// The newest opset that the converter goes to without a warning.
static constexpr int target = 24;

namespace {
/// A graph as text that depends on neither names nor the order of attributes.
class Canonical {
public:
  std::string print(const onnx::GraphProto &graph);

private:
  std::string printTensor(const onnx::TensorProto &tensor);
  std::string printValue(const std::string &name);
  std::string printNode(const onnx::NodeProto &node);

  std::map<std::string, const onnx::TensorProto *> constants;
  std::map<std::string, std::string> names;
};
} // namespace

std::string Canonical::printTensor(const onnx::TensorProto &tensor) {
  onnx::TensorProto plain;
  plain.set_data_type(tensor.data_type());
  *plain.mutable_dims() = tensor.dims();
  if (tensor.data_type() == onnx::TensorProto::INT64)
    for (int64_t value : onnx::ParseData<int64_t>(&tensor))
      plain.add_int64_data(value);
  else
    for (float value : onnx::ParseData<float>(&tensor))
      plain.add_float_data(value);
  return onnx::ProtoToString(plain);
}

std::string Canonical::printValue(const std::string &name) {
  auto constant = constants.find(name);
  if (constant != constants.end())
    return "{" + printTensor(*constant->second) + "}";
  auto known = names.find(name);
  return known == names.end() ? name : known->second;
}

/// Attributes that say what is the default are left out.
std::string Canonical::printNode(const onnx::NodeProto &node) {
  const onnx::OpSchema *schema =
      onnx::OpSchemaRegistry::Schema(node.op_type(), target);
  std::vector<std::string> attributes, inputs;
  for (const onnx::AttributeProto &attr : node.attribute()) {
    auto known = schema->attributes().find(attr.name());
    std::string text = onnx::ProtoToString(attr);
    if (known == schema->attributes().end() ||
        text != onnx::ProtoToString(known->second.default_value))
      attributes.push_back(text);
  }
  std::sort(attributes.begin(), attributes.end());
  for (const std::string &input : node.input())
    inputs.push_back(printValue(input));
  while (!inputs.empty() && inputs.back().empty())
    inputs.pop_back();
  for (const std::string &output : node.output())
    names.emplace(output, "%" + std::to_string(names.size()));
  return node.op_type() + " <" + llvm::join(attributes, ", ") + "> (" +
         llvm::join(inputs, ", ") + ")\n";
}

std::string Canonical::print(const onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    constants[tensor.name()] = &tensor;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() == "Constant")
      constants[node.output(0)] = &node.attribute(0).t();
  std::string text;
  for (const onnx::NodeProto &node : graph.node())
    if (node.op_type() != "Constant")
      text += printNode(node);
  return text;
}

/// Converts the only node of a graph our way.
static onnx::GraphProto convertOurs(const onnx::ModelProto &model, int from) {
  TestGraph around;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    around.type(input.name(), onnx::ProtoToString(input.type()));
  onnx::GraphProto graph;
  auto result = convertNode(model.graph().node(0), from, target, around);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return graph;
  }
  for (const onnx::TensorProto &constant : result->constants)
    *graph.add_initializer() = constant;
  for (const onnx::NodeProto &node : result->nodes)
    *graph.add_node() = node;
  return graph;
}

struct OracleCase {
  int opset;
  const char *graph;
};

class Oracle : public testing::TestWithParam<OracleCase> {};

TEST_P(Oracle, AgreesWithTheLibrary) {
  auto [opset, text] = GetParam();
  std::string source =
      "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
      "]>\n" + text;
  onnx::ModelProto model;
  auto status = onnx::OnnxParser::Parse(model, source.c_str());
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  onnx::shape_inference::InferShapes(model);
  onnx::ModelProto theirs =
      onnx::version_conversion::ConvertVersion(model, target);
  EXPECT_EQ(Canonical().print(convertOurs(model, opset)),
            Canonical().print(theirs.graph()));
}

// Not here: an inner `axis` of legacy broadcasting, on which the library
// throws, and Upsample and Resize 10, whose coordinates it forgets.
INSTANTIATE_TEST_SUITE_P(
    Steps, Oracle,
    testing::Values(
        OracleCase{11, "g (float[2,3] x) => (float[A,B] y) { y = ReduceSum "
                       "<axes = [1]> (x) }"},
        OracleCase{11, "g (float[2,3] x) => (float[A,B] y) { y = ReduceSum "
                       "<keepdims = 0> (x) }"},
        OracleCase{13, "g (float[2,3] x) => (float[A,B] y) { y = ReduceMean "
                       "<axes = [0, 1]> (x) }"},
        OracleCase{9, "g (float[2,3] x) => (float[A,B] y) { y = ReduceL2 <axes "
                      "= [0]> (x) }"},
        OracleCase{9, "g (float[2,1] x) => (float[A] y) { y = Squeeze <axes = "
                      "[1]> (x) }"},
        OracleCase{9, "g (float[2,3] x) => (float[A,B,C] y) { y = Unsqueeze "
                      "<axes = [1]> (x) }"},
        OracleCase{17, "g (float[1,6,1] x) => (float[A,B,C] y) { y = DFT <axis "
                       "= 1> (x) }"},
        OracleCase{11, "g (float[6,2] x) => (float[A,B] y, float[C,D] z) { y, "
                       "z = Split <split = [2, 4]> (x) }"},
        OracleCase{9, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax "
                      "<axis = 1> (x) }"},
        OracleCase{12, "g (float[2,3,4] x) => (float[2,3,4] y) { y = "
                       "LogSoftmax <axis = 0> (x) }"},
        OracleCase{9, "g (float[4,5] x) => (float[A,B] y) { y = Slice <axes = "
                      "[1], starts = [1], ends = [3]> (x) }"},
        OracleCase{9, "g (float[3,7] x) => (float[3,2] v, int64[3,2] i) { v, i "
                      "= TopK <k = 2> (x) }"},
        OracleCase{9, "g (float[2,3] x) => (float[A,B] y) { y = Pad <pads = "
                      "[0, 1, 2, 0], value = 7.0> (x) }"},
        OracleCase{6, "g (float[2,5] x) => (float[2,5] y) { y = Clip <min = "
                      "-0.25, max = 0.5> (x) }"},
        OracleCase{6, "g (float[2,3] x) => (float[2,3] y) { y = Dropout "
                      "<is_test = 1, ratio = 0.5> (x) }"},
        OracleCase{8, "g (float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y "
                      "= BatchNormalization <spatial = 1> (x, s, s, s, s) }"},
        OracleCase{6, "g (float[2,3,4] a, float[4] b) => (float[2,3,4] y) { y "
                      "= Mul <broadcast = 1> (a, b) }"},
        OracleCase{6, "g (float[2,3] a, float[3,4] b, float[4] c) => "
                      "(float[2,4] y) { y = Gemm <broadcast = 1> (a, b, c) }"},
        OracleCase{3, "g (float[2,3] a, float[2,3] b) => (float[2,6] y) { y = "
                      "Concat (a, b) }"},
        OracleCase{5, "g (float[2,3] x) => (float[2,3] y) { y = Relu "
                      "<consumed_inputs = [0]> (x) }"},
        OracleCase{4, "g (float[2,3] x) => (float[3,2] y) { y = Reshape <shape "
                      "= [3, 2]> (x) }"},
        OracleCase{10, "g (float[3,3] x, int64[2,3] i, float[2,3] u) => "
                       "(float[3,3] y) { y = Scatter <axis = 0> (x, i, u) }"},
        OracleCase{10, "g (float[1,2,6,6] x, float[1,4] r, int64[1] i) => "
                       "(float[A,B,C,D] y) { y = RoiAlign (x, r, i) }"},
        OracleCase{16,
                   "g (float[1,2,4,5] x, float[1,3,3,2] f) => (float[1,2,3,3] "
                   "y) { y = GridSample <mode = \"bicubic\"> (x, f) }"},
        OracleCase{11, "g (float[1,2,8] x) => (float[A,B,C] y) { y = LpPool "
                       "<kernel_shape = [2], p = 3> (x) }"}));
