//===- LegacyTest.cpp - What changed up to opset 8, and the rest
//-----------===//
// Exact results of the rules in Broadcast.cpp and Attributes.cpp, in both
// directions.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include <gtest/gtest.h>

TEST(Broadcast, AxisBecomesUnsqueeze) {
  TestGraph graph;
  graph.type("a", "float[2,3,4,5]")
      .type("b", "float[3,4]")
      .type("c", "float[5]")
      .type("one", "float[1]");
  EXPECT_EQ(graph.convert("y = Add <broadcast = 1, axis = 1> (a, b)", 6, 26),
            lines({"int64[1] y_aligned_axes {2}",
                   "y_aligned = Unsqueeze (b, y_aligned_axes)",
                   "y = Add (a, y_aligned)"}));
  EXPECT_EQ(graph.convert("y = Pow <broadcast = 1, axis = 1> (a, b)", 1, 7),
            lines({"y_aligned = Unsqueeze <axes: ints = [2]> (b)",
                   "y = Pow (a, y_aligned)"}));
  EXPECT_EQ(graph.convert("y = Mul <broadcast = 1, axis = 3> (a, c)", 6, 26),
            lines({"y = Mul (a, c)"}));
  EXPECT_EQ(graph.convert("y = Mul <broadcast = 1> (u, v)", 6, 26),
            lines({"y = Mul (u, v)"}));
  EXPECT_EQ(graph.convert("y = Mul <broadcast = 1, axis = 0> (u, one)", 6, 26),
            lines({"y = Mul (u, one)"}));
  EXPECT_EQ(graph.convert("y = Less <broadcast = 1, axis = 0> (u, b)", 1, 26),
            lines({"error: Less: the ranks of the inputs are not known, so "
                   "'axis' cannot be replaced"}));
}

TEST(Broadcast, ComesBack) {
  TestGraph graph;
  graph.type("a", "float[N,3,4,5]")
      .type("same", "float[N,3,4,5]")
      .type("c", "float[4,5]")
      .type("s", "float");
  graph.type("column", "float[3,1,1]").type("other", "float[M,3,4,5]");
  EXPECT_EQ(graph.convert("y = Add (a, same)", 26, 6),
            lines({"y = Add (a, same)"}));
  EXPECT_EQ(graph.convert("y = Add (a, c)", 26, 6),
            lines({"y = Add <broadcast: int = 1> (a, c)"}));
  EXPECT_EQ(graph.convert("y = Sub (a, s)", 26, 6),
            lines({"y = Sub <broadcast: int = 1> (a, s)"}));
  EXPECT_EQ(
      graph.convert("y = Div (a, column)", 26, 6),
      lines({"y_squeezed = Squeeze <axes: ints = [1, 2]> (column)",
             "y = Div <broadcast: int = 1, axis: int = 1> (a, y_squeezed)"}));
  EXPECT_EQ(graph.convert("y = Mul (c, a)", 26, 6),
            lines({"y = Mul <broadcast: int = 1> (a, c)"}));
  EXPECT_EQ(graph.convert("y = Sub (c, a)", 26, 6),
            lines({"error: Sub: broadcasting before opset 7 cannot combine "
                   "these shapes"}));
  EXPECT_EQ(graph.convert("y = Add (a, other)", 26, 6),
            lines({"error: Add: broadcasting before opset 7 cannot combine "
                   "these shapes"}));
  EXPECT_EQ(graph.convert("y = Sum (a, c)", 26, 7),
            lines({"error: Sum: inputs that are not known to have equal shapes "
                   "need opset 8"}));
  EXPECT_EQ(graph.convert("y = Max (a, same)", 26, 6),
            lines({"y = Max (a, same)"}));
}

TEST(Broadcast, PReluSlopePerChannel) {
  TestGraph graph;
  graph.type("x", "float[N,3,4,5]")
      .type("slope", "float[3]")
      .type("one", "float[1]")
      .type("aligned", "float[3,1,1]");
  EXPECT_EQ(graph.convert("y = PRelu (x, slope)", 6, 7),
            lines({"y_slope = Unsqueeze <axes: ints = [1, 2]> (slope)",
                   "y = PRelu (x, y_slope)"}));
  EXPECT_EQ(graph.convert("y = PRelu (u, one)", 6, 26),
            lines({"y = PRelu (u, one)"}));
  EXPECT_EQ(graph.convert("y = PRelu (x, aligned)", 26, 6),
            lines({"int64[1] y_row {-1}", "y_slope = Reshape (aligned, y_row)",
                   "y = PRelu (x, y_slope)"}));
  EXPECT_EQ(graph.convert("y = PRelu (x, slope)", 26, 6),
            lines({"error: PRelu: a slope that is neither one number nor one "
                   "per channel needs opset 7"}));
}

TEST(Broadcast, Gemm) {
  TestGraph graph;
  graph.type("a", "float[2,3]")
      .type("row", "float[4]")
      .type("matrix", "float[2,4]")
      .type("column", "float[2,1]");
  EXPECT_EQ(
      graph.convert("y = Gemm <broadcast = 1, transB = 1> (a, b, row)", 6, 26),
      lines({"y = Gemm <transB: int = 1> (a, b, row)"}));
  EXPECT_EQ(graph.convert("y = Gemm (a, b, row)", 26, 6),
            lines({"y = Gemm <broadcast: int = 1> (a, b, row)"}));
  EXPECT_EQ(graph.convert("y = Gemm (a, b, matrix)", 26, 6),
            lines({"y = Gemm <broadcast: int = 0> (a, b, matrix)"}));
  EXPECT_EQ(graph.convert("y = Gemm (a, b, column)", 26, 6),
            lines({"error: Gemm: broadcasting before opset 7 cannot combine "
                   "these shapes"}));
  EXPECT_EQ(graph.convert("y = Gemm (a, b)", 26, 9),
            lines({"float[1] y_C {0}", "y = Gemm (a, b, y_C)"}));
}

TEST(Legacy, ConsumedInputsGo) {
  EXPECT_EQ(TestGraph().convert("y = Relu <consumed_inputs = [0]> (x)", 1, 26),
            lines({"y = Relu (x)"}));
  EXPECT_EQ(
      TestGraph().convert("y = Sum <consumed_inputs = [0, 0]> (x, z)", 5, 26),
      lines({"y = Sum (x, z)"}));
}

TEST(Legacy, SeluKeepsItsOldDefaults) {
  EXPECT_EQ(
      TestGraph().convert("y = Selu (x)", 1, 26),
      lines({"y = Selu <alpha: float = 1.6732, gamma: float = 1.0507> (x)"}));
}

TEST(Legacy, CastNamesItsType) {
  EXPECT_EQ(TestGraph().convert("y = Cast <to = \"FLOAT16\"> (x)", 1, 26),
            lines({"y = Cast <to: int = 10> (x)"}));
  EXPECT_EQ(TestGraph().convert("y = Cast <to = 1, saturate = 1> (x)", 26, 5),
            lines({"y = Cast <to: string = \"FLOAT\"> (x)"}));
  EXPECT_EQ(TestGraph().convert("y = Cast <to = 17> (x)", 26, 18),
            lines({"error: Cast: opset 18 does not take tensor(float8e4m3fn) "
                   "as output 0 ('output')"}));
  EXPECT_EQ(TestGraph().convert("y = Cast <to = 16> (x)", 26, 9),
            lines({"error: Cast: opset 9 does not take tensor(bfloat16) as "
                   "output 0 ('output')"}));
  EXPECT_EQ(TestGraph().convert("y = Cast <to = \"NUMBER\"> (x)", 1, 26),
            lines({"error: Cast: 'NUMBER' is not a type to cast to"}));
}

TEST(Legacy, ConcatAxis) {
  EXPECT_EQ(TestGraph().convert("y = Concat (a, b)", 1, 26),
            lines({"y = Concat <axis: int = 1> (a, b)"}));
  EXPECT_EQ(TestGraph().convert("y = Concat <axis = 0> (a, b)", 1, 26),
            lines({"y = Concat <axis: int = 0> (a, b)"}));
}

TEST(Legacy, TileRepeatsOneAxis) {
  TestGraph graph;
  graph.type("x", "float[2,3]")
      .constant("n", "float[1] {4}")
      .constant("k", "float[1] {1}");
  graph.constant("repeats", "int64[2] {1, 4}")
      .constant("both", "int64[2] {2, 4}");
  EXPECT_EQ(graph.convert("y = Tile (x, n, k)", 1, 26),
            lines({"int64[2] y_repeats {1,4}", "y = Tile (x, y_repeats)"}));
  EXPECT_EQ(graph.convert("y = Tile (x, repeats)", 26, 5),
            lines({"float[1] y_tiles {4}", "float[1] y_axis {1}",
                   "y = Tile (x, y_tiles, y_axis)"}));
  EXPECT_EQ(graph.convert("y = Tile (x, both)", 26, 5),
            lines({"error: Tile: repeats are not constant, or repeat more than "
                   "one axis"}));
}

TEST(Legacy, ScatterBecomesScatterElements) {
  EXPECT_EQ(TestGraph().convert("y = Scatter <axis = 1> (x, i, u)", 9, 26),
            lines({"y = ScatterElements <axis: int = 1> (x, i, u)"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y = ScatterElements <axis = 1, reduction = \"none\"> (x, i, u)", 26,
          9),
      lines({"y = Scatter <axis: int = 1> (x, i, u)"}));
  EXPECT_EQ(TestGraph().convert("y = ScatterND <reduction = \"max\"> (x, i, u)",
                                26, 17),
            lines({"error: ScatterND: reduction \"max\" needs opset 18"}));
  EXPECT_EQ(TestGraph().convert("y = Scatter (x, i, u)", 11, 26),
            lines({"error: Scatter: is not an operator of opset 11"}));
}

TEST(Legacy, ScanOfOpset8IsRefused) {
  EXPECT_EQ(TestGraph().convert("y = Scan <num_scan_inputs = 1> (, x)", 8, 26),
            lines({"error: Scan: nothing in the other opset means the same "
                   "(opset 9: the batch axis and the lengths of "
                   "sequences went)"}));
}

TEST(Types, ThoseThatWentAreRefused) {
  TestGraph graph;
  graph.type("i", "int32[2]").type("x", "float[2]");
  EXPECT_EQ(graph.convert("y = Erf (x)", 9, 26), lines({"y = Erf (x)"}));
  EXPECT_EQ(graph.convert("y = Erf (i)", 9, 26),
            lines({"error: Erf: opset 26 does not take tensor(int32) as input "
                   "0 ('input')"}));
}

TEST(Types, OneTypeVariableHasOneType) {
  TestGraph graph;
  graph.type("x", "float[2]").type("i", "int32[2]").type("y", "float[2]");
  EXPECT_EQ(graph.convert("y = Pow (x, i)", 26, 12), lines({"y = Pow (x, i)"}));
  EXPECT_EQ(graph.convert("y = Pow (x, i)", 26, 11),
            lines({"error: Pow: opset 11 does not take tensor(int32) as input "
                   "1 ('Y')"}));
  graph.type("d", "double[2]");
  EXPECT_EQ(graph.convert("y = Pow (x, d)", 26, 11),
            lines({"error: Pow: opset 11 needs the types of input 0 and input "
                   "1 to be the same, and they are "
                   "tensor(float) and tensor(double)"}));
}

TEST(Quantization, ScalePerAxisNeeds13) {
  TestGraph graph;
  graph.type("scalar", "float")
      .type("vector", "float[3]")
      .type("x", "float[2,3]");
  EXPECT_EQ(
      graph.convert(
          "y = QuantizeLinear <axis = 1, saturate = 1> (x, scalar, z)", 26, 10),
      lines({"y = QuantizeLinear (x, scalar, z)"}));
  EXPECT_EQ(
      graph.convert("y = QuantizeLinear <axis = 1> (x, vector, z)", 26, 13),
      lines({"y = QuantizeLinear <axis: int = 1> (x, vector, z)"}));
  EXPECT_EQ(
      graph.convert("y = QuantizeLinear <axis = 1> (x, vector, z)", 26, 12),
      lines({"error: QuantizeLinear: a scale for each index of an axis needs "
             "opset 13"}));
  EXPECT_EQ(
      graph.convert("y = DequantizeLinear <block_size = 2> (x, s)", 26, 19),
      lines({"error: DequantizeLinear: attribute 'block_size' needs opset 21 "
             "with the value it has"}));
}

TEST(Constant, ValueAttributesBecomeATensor) {
  EXPECT_EQ(
      TestGraph().convert("y = Constant <value_ints = [1, 2]> ()", 26, 11),
      lines({"y = Constant <value: tensor = int64[2] {1,2}> ()"}));
  EXPECT_EQ(TestGraph().convert("y = Constant <value_float = 0.5> ()", 26, 9),
            lines({"y = Constant <value: tensor = float {0.5}> ()"}));
  EXPECT_EQ(
      TestGraph().convert("y = Constant <value_string = \"a\"> ()", 26, 9),
      lines({"y = Constant <value: tensor = string{\"a\"}> ()"}));
}

TEST(Shape, RangeBecomesSlice) {
  EXPECT_EQ(
      TestGraph().convert("y = Shape <start = 1, end = -1> (x)", 26, 13),
      lines({"int64[1] y_starts {1}", "int64[1] y_ends {-1}",
             "y_shape = Shape (x)", "y = Slice (y_shape, y_starts, y_ends)"}));
  EXPECT_EQ(TestGraph().convert("y = Shape <start = 1> (x)", 26, 9),
            lines({"y_shape = Shape (x)",
                   "y = Slice <ends: ints = [9223372036854775807], starts: "
                   "ints = [1]> (y_shape)"}));
  EXPECT_EQ(TestGraph().convert("y = Shape <start = 0> (x)", 26, 13),
            lines({"y = Shape (x)"}));
}

TEST(Malformed, NodesAreRefused) {
  EXPECT_EQ(TestGraph().convert("y = Softmax ()", 9, 26),
            lines({"error: Softmax: input 0 is missing"}));
  EXPECT_EQ(TestGraph().convert("y = Softmax <axis = 1.0> (x)", 9, 26),
            lines({"error: Softmax: attribute 'axis' is not of the type it "
                   "must have"}));
  EXPECT_EQ(
      TestGraph().convert("y = Relu <slope = 1> (x)", 1, 26),
      lines({"error: Relu: attribute 'slope' does not exist in opset 26"}));
  EXPECT_EQ(TestGraph().convert("y, z = Split <num_outputs = 900000000000> (x)",
                                26, 13),
            lines({"error: Split: num_outputs is not the number of outputs"}));
  TestGraph graph;
  graph.type("a", "float[2,3]").type("b", "float[3]");
  EXPECT_EQ(
      graph.convert(
          "y = Add <broadcast = 1, axis = -9223372036854775807> (a, b)", 6, 26),
      lines({"error: Add: the second input does not fit the first one from "
             "axis -9223372036854775807 on"}));
  onnx::NodeProto node = parseNode("y = Softmax (x)");
  node.clear_output();
  auto raised = amp::onnx_opset::raiseNode(node, 9, graph);
  ASSERT_FALSE(bool(raised));
  EXPECT_EQ(llvm::toString(raised.takeError()), "Softmax: output 0 is missing");
}

TEST(Versions, WhatDidNotExist) {
  EXPECT_EQ(TestGraph().convert("y = Gelu (x)", 26, 17),
            lines({"error: Gelu: there is no such operator before opset 20"}));
  EXPECT_EQ(TestGraph().convert("y = Gelu (x)", 17, 26),
            lines({"error: Gelu: is not an operator of opset 17"}));
  EXPECT_EQ(TestGraph().convert("y = Affine <alpha = 1.0> (x)", 5, 26),
            lines({"error: Affine: is not an operator of opset 5"}));
}

TEST(Versions, NewerThanThePinnedOpset) {
  EXPECT_EQ(TestGraph().convert("y = Relu (x)", 27, 26),
            lines({"y = Relu (x)"}));
  EXPECT_EQ(TestGraph().convert("y = Range <stash_type = 1> (a, b, c)", 27, 26),
            lines({"y = Range (a, b, c)"}));
  EXPECT_EQ(TestGraph().convert("y = LinearAttention (a, b, c)", 27, 26),
            lines({"error: LinearAttention: there is no such operator before "
                   "opset 27"}));
}

TEST(Versions, NeedsConversionIsExact) {
  using amp::onnx_opset::needsConversion;
  EXPECT_FALSE(needsConversion("Conv", 7, 26));
  EXPECT_TRUE(needsConversion("Softmax", 12, 26));
  EXPECT_FALSE(needsConversion("Softmax", 13, 26));
  EXPECT_FALSE(needsConversion("Conv", 26, 22));
  EXPECT_TRUE(needsConversion("Conv", 26, 21));
  EXPECT_TRUE(needsConversion("NoSuchOp", 13, 26));
}

TEST(Versions, OtherDomainsAreLeftAlone) {
  onnx::NodeProto node = parseNode("y = Softmax (x)");
  node.set_domain("com.example");
  TestGraph graph;
  auto same = amp::onnx_opset::convertNode(node, 1, 26, graph);
  ASSERT_TRUE(bool(same));
  ASSERT_EQ(same->nodes.size(), 1u);
  EXPECT_EQ(same->nodes[0].SerializeAsString(), node.SerializeAsString());
}

TEST(Versions, NamesStayOnTheNodeThatTookThePlace) {
  onnx::NodeProto node = parseNode("y = Softmax (x)");
  node.set_name("probabilities");
  TestGraph graph;
  auto raised = amp::onnx_opset::raiseNode(node, 9, graph);
  ASSERT_TRUE(bool(raised));
  std::vector<std::string> names;
  for (const onnx::NodeProto &made : raised->nodes)
    names.push_back(made.name());
  EXPECT_EQ(names, (std::vector<std::string>{"", "", "probabilities", ""}));
}
