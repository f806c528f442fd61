//===- AxesTest.cpp - Axes, sizes and counts that became inputs
//------------===//
// Exact results of the rules in Axes.cpp, in both directions.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include <gtest/gtest.h>

TEST(Axes, ReduceSumRaisesAxes) {
  EXPECT_EQ(TestGraph().convert(
                "y = ReduceSum <axes = [1, -1], keepdims = 0> (x)", 11, 26),
            lines({"int64[2] y_axes {1,-1}",
                   "y = ReduceSum <keepdims: int = 0> (x, y_axes)"}));
  EXPECT_EQ(TestGraph().convert("y = ReduceSum (x)", 11, 26),
            lines({"y = ReduceSum (x)"}));
  EXPECT_EQ(TestGraph().convert("y = ReduceSum <axes : ints = []> (x)", 11, 26),
            lines({"y = ReduceSum (x)"}));
}

TEST(Axes, ReduceMeanStaysBefore18) {
  EXPECT_EQ(TestGraph().convert("y = ReduceMean <axes = [1]> (x)", 9, 17),
            lines({"y = ReduceMean <axes: ints = [1]> (x)"}));
  EXPECT_EQ(TestGraph().convert("y = ReduceMean <axes = [1]> (x)", 9, 18),
            lines({"int64[1] y_axes {1}", "y = ReduceMean (x, y_axes)"}));
}

TEST(Axes, ReduceLowersConstantAxes) {
  TestGraph graph;
  graph.constant("axes", "int64[2] {0, 1}")
      .constant("none", "int64[0] {}")
      .type("x", "float[2,3,4]");
  EXPECT_EQ(graph.convert("y = ReduceSum <noop_with_empty_axes = 1> (x, axes)",
                          26, 11),
            lines({"y = ReduceSum <axes: ints = [0, 1]> (x)"}));
  EXPECT_EQ(graph.convert("y = ReduceMax (x, none)", 26, 13),
            lines({"y = ReduceMax (x)"}));
  EXPECT_EQ(graph.convert("y = ReduceMax (x, dynamic)", 26, 18),
            lines({"y = ReduceMax (x, dynamic)"}));
  EXPECT_EQ(graph.convert("y = ReduceMax (x, dynamic)", 26, 17),
            lines({"error: ReduceMax: axes are not constant"}));
  EXPECT_EQ(
      graph.convert("y = ReduceMax <noop_with_empty_axes = 1> (x)", 26, 13),
      lines({"error: ReduceMax: no axes with noop_with_empty_axes cannot be "
             "said in the older opset"}));
}

TEST(Axes, TypesOfTheOlderSchemaAreRespected) {
  TestGraph graph;
  graph.type("x", "bfloat16[2]").type("b", "bool[2]");
  EXPECT_EQ(graph.convert("y = ReduceMean (x)", 26, 13),
            lines({"y = ReduceMean (x)"}));
  EXPECT_EQ(graph.convert("y = ReduceMean (x)", 26, 12),
            lines({"error: ReduceMean: opset 12 does not take tensor(bfloat16) "
                   "as input 0 ('data')"}));
  EXPECT_EQ(graph.convert("y = ReduceMax (b)", 26, 18),
            lines({"error: ReduceMax: opset 18 does not take tensor(bool) as "
                   "input 0 ('data')"}));
}

TEST(Axes, NegativeAxesNeedOpset11) {
  TestGraph graph;
  graph.constant("axes", "int64[2] {-1, 0}").type("x", "float[2,3,4]");
  EXPECT_EQ(graph.convert("y = ReduceMean (x, axes)", 26, 10),
            lines({"y = ReduceMean <axes: ints = [2, 0]> (x)"}));
  EXPECT_EQ(graph.convert("y = Unsqueeze (x, axes)", 26, 10),
            lines({"y = Unsqueeze <axes: ints = [4, 0]> (x)"}));
  EXPECT_EQ(graph.convert("y = Concat <axis = -1> (x, x)", 26, 10),
            lines({"y = Concat <axis: int = 2> (x, x)"}));
  EXPECT_EQ(graph.convert("y = Concat <axis = -1> (u, u)", 26, 10),
            lines({"error: Concat: axis is negative and the rank of the input "
                   "is not known"}));
}

TEST(Axes, SqueezeMovesBothWays) {
  EXPECT_EQ(TestGraph().convert("y = Squeeze <axes = [0]> (x)", 7, 26),
            lines({"int64[1] y_axes {0}", "y = Squeeze (x, y_axes)"}));
  EXPECT_EQ(TestGraph().convert("y = Squeeze (x)", 26, 7),
            lines({"y = Squeeze (x)"}));
  EXPECT_EQ(TestGraph().convert("y = Unsqueeze (x, a)", 26, 12),
            lines({"error: Unsqueeze: axes are not constant"}));
}

TEST(Axes, DftAxisKeepsItsOldDefault) {
  EXPECT_EQ(
      TestGraph().convert("y = DFT <onesided = 1> (x)", 17, 26),
      lines({"int64 y_axis {1}", "y = DFT <onesided: int = 1> (x, , y_axis)"}));
  TestGraph graph;
  graph.constant("axis", "int64 {2}");
  EXPECT_EQ(graph.convert("y = DFT (x, n, axis)", 26, 17),
            lines({"y = DFT <axis: int = 2> (x, n)"}));
  EXPECT_EQ(graph.convert("y = DFT (x)", 26, 17),
            lines({"y = DFT <axis: int = -2> (x)"}));
}

TEST(Axes, ReshapeShapeOfOpset1) {
  EXPECT_EQ(
      TestGraph().convert(
          "y = Reshape <shape = [0, -1], consumed_inputs = [0]> (x)", 1, 26),
      lines({"int64[2] y_shape {0,-1}", "y = Reshape (x, y_shape)"}));
  TestGraph graph;
  graph.constant("shape", "int64[2] {0, -1}");
  EXPECT_EQ(graph.convert("y = Reshape <allowzero = 0> (x, shape)", 26, 4),
            lines({"y = Reshape <shape: ints = [0, -1]> (x)"}));
  EXPECT_EQ(graph.convert("y = Reshape <allowzero = 1> (x, shape)", 26, 13),
            lines({"error: Reshape: attribute 'allowzero' needs opset 14 with "
                   "the value it has"}));
}

TEST(Axes, SliceRaises) {
  EXPECT_EQ(TestGraph().convert(
                "y = Slice <axes = [1], starts = [0], ends = [9]> (x)", 9, 26),
            lines({"int64[1] y_starts {0}", "int64[1] y_ends {9}",
                   "int64[1] y_axes {1}",
                   "y = Slice (x, y_starts, y_ends, y_axes)"}));
  EXPECT_EQ(
      TestGraph().convert("y = Slice <starts = [0], ends = [9]> (x)", 9, 26),
      lines({"int64[1] y_starts {0}", "int64[1] y_ends {9}",
             "y = Slice (x, y_starts, y_ends)"}));
}

TEST(Axes, SliceLowers) {
  TestGraph graph;
  graph.constant("one", "int64[1] {1}")
      .constant("two", "int64[1] {2}")
      .constant("minus", "int64[1] {-1}");
  graph.type("x", "float[N,3]");
  EXPECT_EQ(graph.convert("y = Slice (x, one, two, minus, one)", 26, 9),
            lines({"y = Slice <axes: ints = [1], ends: ints = [2], starts: "
                   "ints = [1]> (x)"}));
  EXPECT_EQ(graph.convert("y = Slice (x, one, two, , two)", 26, 10),
            lines({"y = Slice (x, one, two, , two)"}));
  EXPECT_EQ(graph.convert("y = Slice (x, one, two, , two)", 26, 9),
            lines({"error: Slice: steps are not constant ones"}));
  EXPECT_EQ(graph.convert("y = Slice (x, one, two, , minus)", 26, 10),
            lines({"error: Slice: steps are negative"}));
  EXPECT_EQ(graph.convert("y = Slice (x, start, two)", 26, 9),
            lines({"error: Slice: starts are not constant"}));
}

TEST(Axes, TopK) {
  EXPECT_EQ(
      TestGraph().convert("v, i = TopK <k = 3, axis = 0> (x)", 9, 26),
      lines({"int64[1] v_K {3}", "v, i = TopK <axis: int = 0> (x, v_K)"}));
  TestGraph graph;
  graph.constant("k", "int64[1] {3}").type("x", "float[2,9]");
  EXPECT_EQ(
      graph.convert("v, i = TopK <largest = 1, sorted = 0> (x, k)", 26, 9),
      lines({"v, i = TopK <k: int = 3> (x)"}));
  EXPECT_EQ(graph.convert("v, i = TopK <largest = 0> (x, k)", 26, 10),
            lines({"error: TopK: attribute 'largest' needs opset 11 with the "
                   "value it has"}));
}

TEST(Axes, SplitRaises) {
  EXPECT_EQ(TestGraph().convert("a, b = Split <axis = 1, split = [1, 2]> (x)",
                                11, 26),
            lines({"int64[2] a_split {1,2}",
                   "a, b = Split <axis: int = 1> (x, a_split)"}));
  EXPECT_EQ(TestGraph().convert("a, b = Split <axis = 1> (x)", 2, 26),
            lines({"a, b = Split <axis: int = 1, num_outputs: int = 2> (x)"}));
  EXPECT_EQ(TestGraph().convert("a, b = Split (x)", 1, 26),
            lines({"error: Split: attribute 'axis' is missing, and opset 1 has "
                   "no default"}));
}

TEST(Axes, SplitLowers) {
  TestGraph graph;
  graph.constant("sizes", "int64[2] {1, 2}").type("x", "float[2,5]");
  EXPECT_EQ(graph.convert("a, b = Split (x, sizes)", 26, 12),
            lines({"a, b = Split <split: ints = [1, 2]> (x)"}));
  EXPECT_EQ(graph.convert("a, b = Split <num_outputs = 2> (x)", 26, 11),
            lines({"a, b = Split (x)"}));
  EXPECT_EQ(
      graph.convert("a, b = Split <axis = 1, num_outputs = 2> (x)", 26, 11),
      lines({"a, b = Split <axis: int = 1, split: ints = [3, 2]> (x)"}));
  EXPECT_EQ(
      graph.convert("a, b = Split <axis = -1, num_outputs = 2> (x)", 26, 13),
      lines({"int64[2] a_split {3,2}",
             "a, b = Split <axis: int = -1> (x, a_split)"}));
  EXPECT_EQ(graph.convert("a, b = Split <num_outputs = 2> (u)", 26, 17),
            lines({"error: Split: the size of axis 0 is not known, so the "
                   "parts may differ"}));
}
