//===- ImageTest.cpp - Upsample, Resize, Clip, Pad, RoiAlign, GridSample
//---===//
// Exact results of the rules in Resize.cpp, ClipPad.cpp and Attributes.cpp, in
// both directions.
//===----------------------------------------------------------------------===//

#include "TestGraph.h"

#include <gtest/gtest.h>

static const char asymmetricNearest[] =
    "coordinate_transformation_mode: string = \"asymmetric\"> ";

TEST(Upsample, BecomesResize) {
  EXPECT_EQ(
      TestGraph().convert(
          "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0], mode = \"linear\"> (x)",
          7, 26),
      lines({"float[4] y_scales {1,1,2,2}",
             std::string("y = Resize <mode: string = \"linear\", ") +
                 asymmetricNearest + "(x, , y_scales)"}));
  EXPECT_EQ(
      TestGraph().convert("y = Upsample (x, s)", 9, 26),
      lines({std::string("y = Resize <nearest_mode: string = \"floor\", ") +
             asymmetricNearest + "(x, , s)"}));
  EXPECT_EQ(
      TestGraph().convert("y = Upsample (x, s)", 9, 11),
      lines({"float[0] y_roi {}",
             std::string("y = Resize <nearest_mode: string = \"floor\", ") +
                 asymmetricNearest + "(x, y_roi, s)"}));
  EXPECT_EQ(TestGraph().convert("y = Upsample <height_scale = 2.0, width_scale "
                                "= 3.0, mode = \"bilinear\"> (x)",
                                1, 7),
            lines({"y = Upsample <mode: string = \"linear\", scales: floats = "
                   "[1, 1, 2, 3]> (x)"}));
}

TEST(Upsample, ComesBackFromResize) {
  TestGraph graph;
  graph.constant("s", "float[4] {1, 1, 2, 3}")
      .constant("half", "float[4] {1, 1, 0.5, 0.5}");
  const char *node = "y = Resize <coordinate_transformation_mode = "
                     "\"asymmetric\", nearest_mode = \"floor\"> (x, , s)";
  EXPECT_EQ(graph.convert(node, 26, 10), lines({"y = Resize (x, s)"}));
  EXPECT_EQ(graph.convert(node, 26, 9), lines({"y = Upsample (x, s)"}));
  EXPECT_EQ(graph.convert(node, 26, 7),
            lines({"y = Upsample <scales: floats = [1, 1, 2, 3]> (x)"}));
  EXPECT_EQ(graph.convert(node, 26, 6),
            lines({"y = Upsample <height_scale: float = 2, width_scale: float "
                   "= 3> (x)"}));
  EXPECT_EQ(
      graph.convert("y = Resize <coordinate_transformation_mode = "
                    "\"asymmetric\", mode = \"linear\"> (x, , half)",
                    26, 9),
      lines({"error: Resize: there are scales below 1, which need opset 10"}));
}

TEST(Resize, ImpliedRoundingOfOpset10) {
  TestGraph graph;
  graph.constant("up", "float[2] {1, 2}")
      .constant("down", "float[2] {1, 0.5}")
      .constant("both", "float[2] {2, 0.5}");
  EXPECT_EQ(
      graph.convert("y = Resize (x, down)", 10, 26),
      lines({std::string("y = Resize <nearest_mode: string = \"ceil\", ") +
             asymmetricNearest + "(x, , down)"}));
  EXPECT_EQ(graph.convert("y = Resize (x, both)", 10, 26),
            lines({"error: Resize: nearest mode that enlarges one axis and "
                   "shrinks another cannot be said since opset 11"}));
  EXPECT_EQ(graph.convert("y = Resize <coordinate_transformation_mode = "
                          "\"asymmetric\", nearest_mode = \"ceil\"> (x, , up)",
                          26, 10),
            lines({"error: Resize: nearest_mode is not that of the versions "
                   "before opset 11"}));
  EXPECT_EQ(graph.convert("y = Resize (x, , up)", 26, 10),
            lines({"error: Resize: coordinate_transformation_mode is not "
                   "\"asymmetric\", the only one before opset 11"}));
}

TEST(Resize, InputsWithoutElements) {
  TestGraph graph;
  graph.constant("none", "float[0] {}");
  EXPECT_EQ(graph.convert("y = Resize (x, none, none, sizes)", 11, 26),
            lines({"y = Resize (x, none, , sizes)"}));
  EXPECT_EQ(graph.convert("y = Resize (x, , , sizes)", 26, 11),
            lines({"float[0] y_roi {}", "float[0] y_scales {}",
                   "y = Resize (x, y_roi, y_scales, sizes)"}));
}

TEST(Resize, TfHalfPixel) {
  const char *node = "y = Resize <coordinate_transformation_mode = "
                     "\"tf_half_pixel_for_nn\", nearest_mode = \"floor\"> "
                     "(x, roi, s)";
  EXPECT_EQ(TestGraph().convert(node, 11, 26),
            lines({"y = Resize <coordinate_transformation_mode: string = "
                   "\"half_pixel\", nearest_mode: string = "
                   "\"round_prefer_ceil\"> (x, roi, s)"}));
  EXPECT_EQ(TestGraph().convert("y = Resize <coordinate_transformation_mode = "
                                "\"tf_half_pixel_for_nn\"> (x, roi, s)",
                                11, 26),
            lines({"error: Resize: tf_half_pixel_for_nn ended with opset 13 "
                   "(it has an equivalent for nearest_mode = "
                   "\"floor\" only)"}));
}

TEST(Resize, AxesAreSpreadOverAll) {
  TestGraph graph;
  graph.type("x", "float[1,3,8,9]")
      .type("dynamic", "float[N,3,8,9]")
      .constant("s", "float[2] {2, 4}");
  graph.constant("z", "int64[2] {16, 18}");
  EXPECT_EQ(
      graph.convert("y = Resize <axes = [-2, 3], antialias = 0> (dynamic, , s)",
                    26, 13),
      lines(
          {"float[4] y_scales {1,1,2,4}", "y = Resize (dynamic, , y_scales)"}));
  EXPECT_EQ(
      graph.convert("y = Resize <axes = [3, 2]> (x, , , z)", 26, 13),
      lines({"int64[4] y_sizes {1,3,18,16}", "y = Resize (x, , , y_sizes)"}));
  EXPECT_EQ(
      graph.convert("y = Resize <axes = [3, 2]> (dynamic, , , z)", 26, 13),
      lines({"error: Resize: axes with sizes need opset 18 where the size of "
             "another axis is not known"}));
  EXPECT_EQ(graph.convert("y = Resize <antialias = 1> (x, , s)", 26, 13),
            lines({"error: Resize: attribute 'antialias' needs opset 18 with "
                   "the value it has"}));
  EXPECT_EQ(graph.convert("y = Resize <coordinate_transformation_mode = "
                          "\"half_pixel_symmetric\"> (x, , s)",
                          26, 18),
            lines({"error: Resize: coordinate_transformation_mode "
                   "\"half_pixel_symmetric\" needs opset 19"}));
}

TEST(Clip, BoundsBecomeInputs) {
  TestGraph graph;
  graph.type("x", "float[2]").type("h", "float16[2]");
  EXPECT_EQ(graph.convert("y = Clip <min = 0.0, max = 6.0> (x)", 6, 26),
            lines({"float y_min {0}", "float y_max {6}",
                   "y = Clip (x, y_min, y_max)"}));
  EXPECT_EQ(graph.convert("y = Clip <max = 6.0> (x)", 6, 26),
            lines({"float y_max {6}", "y = Clip (x, , y_max)"}));
  EXPECT_EQ(
      graph.convert("y = Clip <min = -3.4028234663852886e+38> (x)", 6, 26),
      lines({"y = Clip (x)"}));
  EXPECT_EQ(graph.convert("y = Clip <min = 1.0> (u)", 6, 26),
            lines({"error: Clip: the type of the input is not known, so 'min' "
                   "cannot become a constant of that type"}));
  auto raised = amp::onnx_opset::raiseNode(
      parseNode("y = Clip <min = 1.0> (h)"), 6, graph);
  ASSERT_TRUE(bool(raised));
  ASSERT_EQ(raised->constants.size(), 1u);
  EXPECT_EQ(raised->constants[0].data_type(), onnx::TensorProto::FLOAT16);
  EXPECT_EQ(raised->constants[0].int32_data(0), 0x3c00);
}

TEST(Clip, ConstantBoundsBecomeAttributes) {
  TestGraph graph;
  graph.type("x", "float[2]")
      .constant("zero", "float {0}")
      .constant("six", "float {6}")
      .type("i", "int32[2]");
  EXPECT_EQ(graph.convert("y = Clip (x, zero, six)", 26, 6),
            lines({"y = Clip <min: float = 0, max: float = 6> (x)"}));
  EXPECT_EQ(graph.convert("y = Clip (x, zero, dynamic)", 26, 6),
            lines({"error: Clip: max is not a floating-point constant"}));
  EXPECT_EQ(graph.convert("y = Clip (i)", 26, 11),
            lines({"error: Clip: opset 11 does not take tensor(int32) as input "
                   "0 ('input')"}));
}

TEST(Pad, PadsBecomeAnInput) {
  TestGraph graph;
  graph.type("x", "float[2]");
  EXPECT_EQ(
      graph.convert("y = Pad <pads = [1, 2], mode = \"edge\", value = 0.0> (x)",
                    2, 26),
      lines({"int64[2] y_pads {1,2}",
             "y = Pad <mode: string = \"edge\"> (x, y_pads)"}));
  EXPECT_EQ(
      graph.convert("y = Pad <paddings = [1, 2], value = 3.0> (x)", 1, 26),
      lines({"int64[2] y_pads {1,2}", "float y_constant_value {3}",
             "y = Pad (x, y_pads, y_constant_value)"}));
}

TEST(Pad, Lowers) {
  TestGraph graph;
  graph.type("x", "float[2,3]")
      .constant("pads", "int64[2] {1, 2}")
      .constant("v", "float {3}");
  graph.constant("axes", "int64[1] {-1}")
      .constant("all", "int64[4] {1, 2, 3, 4}");
  EXPECT_EQ(graph.convert("y = Pad (x, pads, v, axes)", 26, 11),
            lines({"int64[4] y_pads {0,1,0,2}", "y = Pad (x, y_pads, v)"}));
  EXPECT_EQ(
      graph.convert("y = Pad (x, pads, v, axes)", 26, 10),
      lines({"y = Pad <pads: ints = [0, 1, 0, 2], value: float = 3> (x)"}));
  EXPECT_EQ(graph.convert("y = Pad (x, all)", 26, 1),
            lines({"y = Pad <paddings: ints = [1, 2, 3, 4]> (x)"}));
  EXPECT_EQ(graph.convert("y = Pad (x, dynamic)", 26, 10),
            lines({"error: Pad: pads are not constant"}));
  EXPECT_EQ(graph.convert("y = Pad <mode = \"wrap\"> (x, all)", 26, 18),
            lines({"error: Pad: mode \"wrap\" needs opset 19"}));
}

TEST(RoiAlign, KeepsItsOldCoordinates) {
  EXPECT_EQ(TestGraph().convert("y = RoiAlign (x, r, b)", 10, 26),
            lines({"y = RoiAlign <coordinate_transformation_mode: string = "
                   "\"output_half_pixel\"> (x, r, b)"}));
  EXPECT_EQ(TestGraph().convert("y = RoiAlign <coordinate_transformation_mode "
                                "= \"output_half_pixel\"> (x, r, b)",
                                26, 10),
            lines({"y = RoiAlign (x, r, b)"}));
  EXPECT_EQ(TestGraph().convert("y = RoiAlign (x, r, b)", 26, 10),
            lines({"error: RoiAlign: coordinate_transformation_mode "
                   "\"half_pixel\" needs opset 16"}));
}

TEST(GridSample, ModesAreRenamed) {
  TestGraph graph;
  graph.type("x", "float[1,2,3,4]").type("volume", "float[1,2,3,4,5]");
  EXPECT_EQ(graph.convert("y = GridSample <mode = \"bicubic\"> (x, g)", 16, 26),
            lines({"y = GridSample <mode: string = \"cubic\"> (x, g)"}));
  EXPECT_EQ(graph.convert("y = GridSample <mode = \"linear\"> (x, g)", 26, 19),
            lines({"y = GridSample <mode: string = \"bilinear\"> (x, g)"}));
  EXPECT_EQ(graph.convert("y = GridSample (volume, g)", 26, 19),
            lines({"error: GridSample: an input that is not known to be an "
                   "image (rank 4) needs opset 20"}));
}
