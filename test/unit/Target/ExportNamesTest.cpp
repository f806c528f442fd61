//===- ExportNamesTest.cpp - Names and types of values in export ----------===//
// Kept names, new ones, and the lists of values with their types.
//===----------------------------------------------------------------------===//

#include "ExportTestBase.h"

using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

class ExportNames : public ExportTest {};

TEST_F(ExportNames, output_name_goes_to_the_cast_in_front_of_it) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %0 = amp.cast %x : tensor<2xf32> to tensor<2xf16>
      %1 = onnx.Relu(%0) {onnx.name = "relu", onnx.outputs = ["y"]} : (tensor<2xf16>) -> tensor<2xf16>
      %2 = amp.cast %1 : tensor<2xf16> to tensor<2xf32>
      return %2 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Cast(x)->x_f16 Relu(x_f16)->y_f16 Cast(y_f16)->y");
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), TensorProto::FLOAT16);
  EXPECT_EQ(model.graph().node(0).name(), "cast_x_f16");
}

TEST_F(ExportNames, what_gave_its_name_to_a_cast_is_named_after_it) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf16> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %0 = onnx.Abs(%x) {onnx.name = "abs"} : (tensor<2xf16>) -> tensor<2xf16>
      %1 = amp.cast %0 {onnx.outputs = ["a"]} : tensor<2xf16> to tensor<2xf32>
      %2 = onnx.Exp(%1) : (tensor<2xf32>) -> tensor<2xf32>
      %3 = amp.cast %2 : tensor<2xf32> to tensor<2xf16>
      %4 = onnx.Abs(%3) : (tensor<2xf16>) -> tensor<2xf16>
      %5 = amp.cast %4 : tensor<2xf16> to tensor<2xf32>
      return %5 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Abs(x)->a_f16 Cast(a_f16)->a Exp(a)->Exp_out Cast(Exp_out)->"
            "Exp_out_f16 Abs(Exp_out_f16)->y_f16 Cast(y_f16)->y");
}

TEST_F(ExportNames, identity_gives_a_second_public_name) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"})
        -> (tensor<2xf32> {onnx.name = "x"}, tensor<2xf32> {onnx.name = "copy"}, tensor<2xf32> {onnx.name = "a"},
            tensor<2xf32> {onnx.name = "b"}, tensor<2xf32> {onnx.name = "c"}) {
      %w = onnx.initializer dense<1.0> : tensor<2xf32> {onnx.outputs = ["w"]}
      %0 = onnx.Abs(%x) {onnx.outputs = ["a"]} : (tensor<2xf32>) -> tensor<2xf32>
      return %x, %x, %0, %0, %w : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Abs(x)->a Identity(x)->copy Identity(a)->b Identity(w)->c");
}

TEST_F(ExportNames, new_names_differ_from_all_others) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %c: tensor<i1> {onnx.name = "c"})
        -> (tensor<2xf16> {onnx.name = "o"}, tensor<2xf32> {onnx.name = "r"}) {
      %0 = amp.cast %x : tensor<2xf32> to tensor<2xf16>
      %1 = onnx.Abs(%0) {onnx.outputs = ["x_f16"]} : (tensor<2xf16>) -> tensor<2xf16>
      %2 = onnx.If(%c) ({
        %3 = onnx.Neg(%x) {onnx.outputs = ["x_f16_1"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %3 {graph = {name = "then", outputs = ["x_f16_1"]}} : tensor<2xf32>
      }, {
        onnx.yield %x {graph = {name = "else", outputs = ["e"]}} : tensor<2xf32>
      }) {onnx.outputs = ["r"]} : (tensor<i1>) -> tensor<2xf32>
      return %1, %2 : tensor<2xf16>, tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Cast(x)->x_f16_2 Abs(x_f16_2)->o If(c)->r");
  const NodeProto &node = model.graph().node(2);
  ASSERT_EQ(node.attribute_size(), 2);
  for (const auto &attribute : node.attribute())
    EXPECT_EQ(describe(attribute.g()), attribute.name() == "then_branch"
                                           ? "Neg(x)->x_f16_1"
                                           : "Identity(x)->e");
}

TEST_F(ExportNames, sibling_bodies_keep_equal_names) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %c: tensor<i1> {onnx.name = "c"})
        -> (tensor<2xf32> {onnx.name = "r"}) {
      %2 = onnx.If(%c) ({
        %3 = onnx.Neg(%x) {onnx.outputs = ["r"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %3 {graph = {name = "then", outputs = ["r"]}} : tensor<2xf32>
      }, {
        %3 = onnx.Abs(%x) {onnx.outputs = ["r"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %3 {graph = {name = "else", outputs = ["r"]}} : tensor<2xf32>
      }) {onnx.outputs = ["r"]} : (tensor<i1>) -> tensor<2xf32>
      return %2 : tensor<2xf32>
    })mlir");
  for (const auto &attribute : model.graph().node(0).attribute()) {
    EXPECT_EQ(attribute.g().node(0).output(0), "r");
    EXPECT_EQ(attribute.g().output(0).name(), "r");
  }
}

TEST_F(ExportNames, body_hides_only_what_it_does_not_use) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %c: tensor<i1> {onnx.name = "c"})
        -> (tensor<2xf32> {onnx.name = "r"}) {
      %a = onnx.Abs(%x) {onnx.outputs = ["a"]} : (tensor<2xf32>) -> tensor<2xf32>
      %b = onnx.Abs(%a) {onnx.outputs = ["b"]} : (tensor<2xf32>) -> tensor<2xf32>
      %2 = onnx.If(%c) ({
        %3 = onnx.Neg(%b) {onnx.outputs = ["a"]} : (tensor<2xf32>) -> tensor<2xf32>
        %4 = onnx.Neg(%3) {onnx.outputs = ["b"]} : (tensor<2xf32>) -> tensor<2xf32>
        onnx.yield %4 {graph = {name = "then", outputs = ["t"]}} : tensor<2xf32>
      }, {
        onnx.yield %a {graph = {name = "else", outputs = ["a"]}} : tensor<2xf32>
      }) {onnx.outputs = ["r"]} : (tensor<i1>) -> tensor<2xf32>
      return %2 : tensor<2xf32>
    })mlir");
  for (const auto &attribute : model.graph().node(2).attribute())
    EXPECT_EQ(describe(attribute.g()),
              attribute.name() == "then_branch" ? "Neg(b)->a Neg(a)->t" : "");
}

TEST_F(ExportNames, contradicting_public_names_are_refused) {
  EXPECT_TRUE(failed(run(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "x"}) {
      %0 = onnx.Abs(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir")));
  EXPECT_TRUE(hasSaid("output 'x' has the name of another")) << said;
  EXPECT_EQ(read("out.onnx"), "");
}

TEST_F(ExportNames, value_info_follows_the_element_type) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf16> {onnx.name = "x"}) -> (tensor<2xf16> {onnx.name = "z"})
        attributes {onnx.graph = {name = "g", declared = {x = tensor<?xf16>},
          value_info = ["a", {name = "b", type = tensor<?xf32>}, "gone"]}} {
      %0 = onnx.Abs(%x) {onnx.outputs = ["a"]} : (tensor<2xf16>) -> tensor<2xf16>
      %1 = onnx.Abs(%0) {onnx.outputs = ["b"]} : (tensor<2xf16>) -> tensor<2xf16>
      %2 = onnx.Abs(%1) {onnx.outputs = ["z"]} : (tensor<2xf16>) -> tensor<2xf16>
      return %2 : tensor<2xf16>
    })mlir");
  const ::onnx::GraphProto &graph = model.graph();
  ASSERT_EQ(graph.value_info_size(), 2);
  EXPECT_EQ(graph.value_info(0).name(), "a");
  EXPECT_EQ(graph.value_info(0).type().tensor_type().shape().dim(0).dim_value(),
            2);
  const auto &declared = graph.value_info(1).type().tensor_type();
  EXPECT_EQ(declared.elem_type(), TensorProto::FLOAT16);
  EXPECT_FALSE(declared.shape().dim(0).has_dim_value());
  EXPECT_FALSE(
      graph.input(0).type().tensor_type().shape().dim(0).has_dim_value());
}

TEST_F(ExportNames, absent_operands_keep_their_positions) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %m: tensor<f32> {onnx.name = "m"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %0 = onnx.Clip(%x, _, %m) {onnx.outputs = ["c"]} : (tensor<2xf32>, _, tensor<f32>) -> tensor<2xf32>
      %1 = onnx.node "com.example" "Foo" (%0) {onnx.outputs = ["y"], operand_present = array<i1: false, true, false>,
        opset = 1 : i64, fields = {k = 3 : i64}} : (tensor<2xf32>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()), "Clip(x,,m)->c Foo(,c,)->y");
  EXPECT_EQ(model.graph().node(1).domain(), "com.example");
  EXPECT_EQ(model.graph().node(1).attribute(0).i(), 3);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(1).domain(), "com.example");
}

} // namespace
