//===- NeuralTest.cpp - Softmax, normalization, pooling, recurrent nets
//----===//
// Exact results of the rules in Softmax.cpp, Normalization.cpp and
// Attributes.cpp, in both directions.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include <gtest/gtest.h>

TEST(Softmax, LastAxisIsKept) {
  TestGraph graph;
  graph.type("x", "float[N,10]");
  EXPECT_EQ(graph.convert("y = Softmax (x)", 9, 26),
            lines({"y = Softmax <axis: int = 1> (x)"}));
  EXPECT_EQ(graph.convert("y = Softmax <axis = -1> (u)", 11, 26),
            lines({"y = Softmax <axis: int = -1> (u)"}));
}

TEST(Softmax, OneLongAxisAmongOnes) {
  TestGraph graph;
  graph.type("x", "float[N,1000,1,1]");
  EXPECT_EQ(graph.convert("y = LogSoftmax (x)", 9, 26),
            lines({"y = LogSoftmax <axis: int = 1> (x)"}));
  EXPECT_EQ(graph.convert("y = LogSoftmax <axis = 1> (x)", 26, 9),
            lines({"y = LogSoftmax <axis: int = 1> (x)"}));
}

TEST(Softmax, SeveralAxesAreFlattened) {
  TestGraph graph;
  graph.type("x", "float[2,3,4]");
  std::string expected =
      lines({"y_shape = Shape (x)", "y_flat = Flatten <axis: int = 1> (x)",
             "y_matrix = Softmax <axis: int = -1> (y_flat)",
             "y = Reshape (y_matrix, y_shape)"});
  EXPECT_EQ(graph.convert("y = Softmax <axis = 1> (x)", 9, 26), expected);
  EXPECT_EQ(graph.convert("y = Softmax (unranked)", 12, 26),
            lines({"y_shape = Shape (unranked)",
                   "y_flat = Flatten <axis: int = 1> (unranked)",
                   "y_matrix = Softmax <axis: int = -1> (y_flat)",
                   "y = Reshape (y_matrix, y_shape)"}));
  EXPECT_EQ(
      graph.convert("y = Softmax <axis = 3> (x)", 12, 26),
      lines({"error: Softmax: axis 3 is not one of the 3 axes of the input"}));
}

TEST(Softmax, InnerAxisIsTransposed) {
  TestGraph graph;
  graph.type("x", "float[2,3,4]");
  EXPECT_EQ(graph.convert("y = Softmax <axis = 1> (x)", 26, 12),
            lines({"y_turned = Transpose <perm: ints = [0, 2, 1]> (x)",
                   "y_along_last = Softmax <axis: int = 2> (y_turned)",
                   "y = Transpose <perm: ints = [0, 2, 1]> (y_along_last)"}));
  EXPECT_EQ(graph.convert("y = Hardmax (x)", 26, 11),
            lines({"y = Hardmax <axis: int = -1> (x)"}));
  EXPECT_EQ(graph.convert("y = Hardmax (x)", 26, 9),
            lines({"y = Hardmax <axis: int = 2> (x)"}));
  EXPECT_EQ(graph.convert("y = Softmax <axis = 1> (u)", 26, 12),
            lines({"error: Softmax: the rank of the input is not known, and "
                   "axis is not the last one"}));
}

TEST(BatchNormalization, TestMode) {
  EXPECT_EQ(
      TestGraph().convert("y = BatchNormalization <is_test = 1, spatial = 1, "
                          "epsilon = 0.5> (x, s, b, m, v)",
                          6, 26),
      lines({"y = BatchNormalization <epsilon: float = 0.5> (x, s, b, m, v)"}));
  EXPECT_EQ(
      TestGraph().convert("y = BatchNormalization <is_test = 1, "
                          "consumed_inputs = [0, 0, 0, 1, 1]> (x, s, b, m, v)",
                          1, 26),
      lines({"y = BatchNormalization (x, s, b, m, v)"}));
  EXPECT_EQ(TestGraph().convert(
                "y = BatchNormalization <spatial = 0> (x, s, b, m, v)", 7, 26),
            lines({"error: BatchNormalization: spatial = 0 (statistics for "
                   "each element) ended with opset 9"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y = BatchNormalization <training_mode = 0> (x, s, b, m, v)", 26, 6),
      lines({"y = BatchNormalization <is_test: int = 1> (x, s, b, m, v)"}));
}

TEST(BatchNormalization, TrainingMode) {
  TestGraph graph;
  graph.unused("sm").unused("sv");
  EXPECT_EQ(graph.convert("y, m1, v1, sm, sv = BatchNormalization <momentum = "
                          "0.5> (x, s, b, m, v)",
                          9, 26),
            lines({"y, m1, v1 = BatchNormalization <momentum: float = 0.5, "
                   "training_mode: int = 1> (x, s, b, m, v)"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y, m1, v1, sm, sv = BatchNormalization (x, s, b, m, v)", 9, 26),
      lines({"error: BatchNormalization: output 3 is used, and has no "
             "equivalent"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y, m1, v1 = BatchNormalization <training_mode = 1> (x, s, b, m, v)",
          26, 9),
      lines({"y, m1, v1, y_saved_mean, y_saved_var = BatchNormalization (x, s, "
             "b, m, v)"}));
}

TEST(Dropout, Inference) {
  EXPECT_EQ(TestGraph().convert("y = Dropout <ratio = 0.25> (x)", 7, 26),
            lines({"float y_ratio {0.25}", "y = Dropout (x, y_ratio)"}));
  EXPECT_EQ(TestGraph().convert(
                "y = Dropout <is_test = 1, consumed_inputs = [0]> (x)", 1, 26),
            lines({"y = Dropout (x)"}));
  TestGraph graph;
  graph.constant("r", "float {0.25}")
      .constant("off", "bool {0}")
      .constant("on", "bool {1}");
  EXPECT_EQ(graph.convert("y = Dropout <seed = 1> (x, r, off)", 26, 10),
            lines({"y = Dropout <ratio: float = 0.25> (x)"}));
  EXPECT_EQ(graph.convert("y = Dropout (x)", 26, 6),
            lines({"y = Dropout <is_test: int = 1> (x)"}));
  EXPECT_EQ(graph.convert("y = Dropout (x, r, on)", 26, 10),
            lines({"error: Dropout: training_mode is not a constant false"}));
}

TEST(Dropout, Training) {
  EXPECT_EQ(TestGraph().convert("y = Dropout <ratio = 0.25> (x)", 6, 26),
            lines({"float y_ratio {0.25}", "bool y_training_mode {1}",
                   "y = Dropout (x, y_ratio, y_training_mode)"}));
  EXPECT_EQ(TestGraph().convert("y = Dropout (x)", 6, 9),
            lines({"error: Dropout: training mode (is_test = 0) cannot be said "
                   "in opsets 7 to 11"}));
}

TEST(Dropout, MaskChangesItsType) {
  TestGraph graph;
  graph.type("x", "float[2]").unused("nobody");
  EXPECT_EQ(
      graph.convert("y, mask = Dropout (x)", 7, 26),
      lines({"y, y_mask = Dropout (x)", "mask = Cast <to: int = 1> (y_mask)"}));
  EXPECT_EQ(graph.convert("y, nobody = Dropout (x)", 7, 26),
            lines({"y = Dropout (x)"}));
  EXPECT_EQ(graph.convert("y, mask = Dropout (u)", 7, 26),
            lines({"error: Dropout: the mask is used, and the type of the "
                   "input is not known"}));
}

TEST(Dropout, MaskOfInferenceIsSpelledOutBefore12) {
  TestGraph graph;
  graph.unused("nobody");
  EXPECT_EQ(
      graph.convert("y, mask = Dropout (x)", 26, 9),
      lines(
          {"y = Dropout (x)", "y_shape = Shape (x)",
           "mask = ConstantOfShape <value: tensor = bool[1] {1}> (y_shape)"}));
  EXPECT_EQ(graph.convert("y, nobody = Dropout (x)", 26, 7),
            lines({"y = Dropout (x)"}));
  EXPECT_EQ(graph.convert("y, mask = Dropout (x)", 26, 7),
            lines({"error: ConstantOfShape: there is no such operator before "
                   "opset 9"}));
}

TEST(GroupNormalization, ScalePerGroupBecomesPerChannel) {
  TestGraph graph;
  graph.type("x", "float[N,6,8]");
  EXPECT_EQ(
      graph.convert("y = GroupNormalization <num_groups = 2> (x, s, b)", 18,
                    26),
      lines({"int64[2] y_column {2,1}", "int64[2] y_table {2,3}",
             "int64[1] y_row {6}", "y_scale_grouped = Reshape (s, y_column)",
             "y_scale_spread = Expand (y_scale_grouped, y_table)",
             "y_scale = Reshape (y_scale_spread, y_row)",
             "y_bias_grouped = Reshape (b, y_column)",
             "y_bias_spread = Expand (y_bias_grouped, y_table)",
             "y_bias = Reshape (y_bias_spread, y_row)",
             "y = GroupNormalization <num_groups: int = 2> (x, y_scale, "
             "y_bias)"}));
  EXPECT_EQ(graph.convert("y = GroupNormalization <num_groups = 6> (x, s, b)",
                          18, 26),
            lines({"y = GroupNormalization <num_groups: int = 6> (x, s, b)"}));
  EXPECT_EQ(
      graph.convert("y = GroupNormalization <num_groups = 2> (u, s, b)", 18,
                    26),
      lines(
          {"error: GroupNormalization: the number of channels is not known"}));
}

TEST(GroupNormalization, ScalePerChannelIsAppliedAfterwards) {
  TestGraph graph;
  graph.type("x", "float[N,6,8]");
  EXPECT_EQ(
      graph.convert(
          "y = GroupNormalization <num_groups = 2, stash_type = 1> (x, s, b)",
          26, 20),
      lines({"int64[2] y_column {-1,1}", "float[2] y_ones {1,1}",
             "float[2] y_zeros {0,0}", "y_scale = Reshape (s, y_column)",
             "y_bias = Reshape (b, y_column)",
             "y_normalized = GroupNormalization <num_groups: int = 2> (x, "
             "y_ones, y_zeros)",
             "y_scaled = Mul (y_normalized, y_scale)",
             "y = Add (y_scaled, y_bias)"}));
}

TEST(Pooling, AttributesThatSayNothingGo) {
  EXPECT_EQ(TestGraph().convert("y = AveragePool <kernel_shape = [2], "
                                "dilations = [1], ceil_mode = 0> (x)",
                                26, 7),
            lines({"y = AveragePool <kernel_shape: ints = [2]> (x)"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y = AveragePool <kernel_shape = [2], dilations = [2]> (x)", 26, 18),
      lines({"error: AveragePool: dilations need a newer opset"}));
  EXPECT_EQ(
      TestGraph().convert(
          "y = MaxPool <kernel_shape = [2], storage_order = 1> (x)", 26, 7),
      lines({"y = MaxPool <kernel_shape: ints = [2]> (x)"}));
  EXPECT_EQ(
      TestGraph().convert("y, i = MaxPool <kernel_shape = [2]> (x)", 26, 8),
      lines({"y, i = MaxPool <kernel_shape: ints = [2]> (x)"}));
  EXPECT_EQ(
      TestGraph().convert("y, i = MaxPool <kernel_shape = [2]> (x)", 26, 7),
      lines({"error: MaxPool: opset 7 has no output 1"}));
}

TEST(Pooling, NormIsAnIntegerSinceOpset2) {
  EXPECT_EQ(TestGraph().convert("y = GlobalLpPool <p = 3.0> (x)", 1, 26),
            lines({"y = GlobalLpPool <p: int = 3> (x)"}));
  EXPECT_EQ(TestGraph().convert("y = GlobalLpPool <p = 3> (x)", 26, 1),
            lines({"y = GlobalLpPool <p: float = 3> (x)"}));
  EXPECT_EQ(TestGraph().convert("y = GlobalLpPool <p = 1.5> (x)", 1, 26),
            lines({"error: GlobalLpPool: p is not a whole number, which it "
                   "must be since opset 2"}));
  EXPECT_EQ(TestGraph().convert("y = LpPool (x)", 1, 26),
            lines({"error: LpPool: attribute 'kernel_shape' is missing"}));
}

TEST(Recurrent, OutputsTellWhatIsWanted) {
  EXPECT_EQ(TestGraph().convert(
                "y, h = LSTM <hidden_size = 4, output_sequence = 1> (x, w, r)",
                1, 26),
            lines({"y, h = LSTM <hidden_size: int = 4> (x, w, r)"}));
  EXPECT_EQ(TestGraph().convert(
                "y = GRU <hidden_size = 4, layout = 0> (x, w, r)", 26, 1),
            lines({"y, y_Y_h = GRU <hidden_size: int = 4, output_sequence: int "
                   "= 1, direction: string = \"forward\"> (x, w, r)"}));
  EXPECT_EQ(TestGraph().convert("y = RNN <layout = 1> (x, w, r)", 26, 13),
            lines({"error: RNN: attribute 'layout' needs opset 14 with the "
                   "value it has"}));
}

TEST(Attention, LengthsNeed24) {
  EXPECT_EQ(
      TestGraph().convert("y = Attention <is_causal = 1> (q, k, v, m)", 26, 23),
      lines({"y = Attention <is_causal: int = 1> (q, k, v, m)"}));
  EXPECT_EQ(TestGraph().convert("y = Attention (q, k, v, , , , n)", 26, 23),
            lines({"error: Attention: opset 23 has no input 6"}));
  EXPECT_EQ(
      TestGraph().convert("y = Attention (q, k, v)", 26, 22),
      lines({"error: Attention: there is no such operator before opset 23"}));
}
