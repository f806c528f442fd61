//===- ExportConstantsTest.cpp - Tensors of exported models ---------------===//
// Initializers, narrowed constants and external data.
//===----------------------------------------------------------------------===//

#include "ExportTestBase.h"

using namespace mlir;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

namespace {

class ExportConstants : public ExportTest {};

TEST_F(ExportConstants, read_through_casts_only_is_narrowed) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<3xf16> {onnx.name = "x"}) -> (tensor<3xf16> {onnx.name = "y"}) {
      %w = onnx.initializer dense<[1.0, -0.0, 65536.0]> : tensor<3xf32> {onnx.outputs = ["w"]}
      %c = onnx.Constant() {value_float = 0.5 : f32, onnx.outputs = ["c"]} : () -> tensor<f32>
      %0 = amp.cast %w : tensor<3xf32> to tensor<3xf16>
      %1 = amp.cast %c : tensor<f32> to tensor<f16>
      %2 = onnx.Add(%x, %0) {onnx.outputs = ["s"]} : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>
      %3 = onnx.Add(%2, %1) {onnx.outputs = ["y"]} : (tensor<3xf16>, tensor<f16>) -> tensor<3xf16>
      return %3 : tensor<3xf16>
    })mlir");
  EXPECT_EQ(describe(model.graph()), "Constant()->c Add(x,w)->s Add(s,c)->y");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  const TensorProto &w = model.graph().initializer(0);
  EXPECT_EQ(w.name(), "w");
  EXPECT_EQ(w.data_type(), TensorProto::FLOAT16);
  EXPECT_EQ(getData<uint16_t>(w),
            (std::vector<uint16_t>{0x3c00, 0x8000, 0x7c00}));
  const NodeProto &constant = model.graph().node(0);
  ASSERT_EQ(constant.attribute_size(), 1);
  EXPECT_EQ(constant.attribute(0).name(), "value");
  EXPECT_EQ(constant.attribute(0).t().data_type(), TensorProto::FLOAT16);
  EXPECT_EQ(getData<uint16_t>(constant.attribute(0).t()),
            (std::vector<uint16_t>{0x3800}));
}

TEST_F(ExportConstants, small_one_with_other_uses_is_copied) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"})
        -> (tensor<2xf32> {onnx.name = "y"}, tensor<2xbf16> {onnx.name = "z"}) {
      %w = onnx.initializer dense<[1.0, 3.4e38]> : tensor<2xf32> {onnx.outputs = ["w"]}
      %0 = amp.cast %w clamp : tensor<2xf32> to tensor<2xbf16>
      %1 = onnx.Add(%x, %w) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %2 = onnx.Abs(%0) {onnx.outputs = ["z"]} : (tensor<2xbf16>) -> tensor<2xbf16>
      return %1, %2 : tensor<2xf32>, tensor<2xbf16>
    })mlir");
  EXPECT_EQ(describe(model.graph()), "Add(x,w)->y Abs(w_bf16)->z");
  ASSERT_EQ(model.graph().initializer_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).data_type(), TensorProto::FLOAT);
  EXPECT_EQ(model.graph().initializer(1).name(), "w_bf16");
  EXPECT_EQ(getData<uint16_t>(model.graph().initializer(1)),
            (std::vector<uint16_t>{0x3f80, 0x7f7f}));
}

TEST_F(ExportConstants, large_one_with_other_uses_gets_a_cast) {
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<2000xf32> {onnx.name = "x"})
        -> (tensor<2000xf32> {onnx.name = "y"}, tensor<2000xf16> {onnx.name = "z"}) {
      %w = onnx.initializer dense<2.0> : tensor<2000xf32> {onnx.outputs = ["w"]}
      %0 = amp.cast %w : tensor<2000xf32> to tensor<2000xf16>
      %1 = onnx.Add(%x, %w) {onnx.outputs = ["y"]} : (tensor<2000xf32>, tensor<2000xf32>) -> tensor<2000xf32>
      %2 = onnx.Abs(%0) {onnx.outputs = ["z"]} : (tensor<2000xf16>) -> tensor<2000xf16>
      return %1, %2 : tensor<2000xf32>, tensor<2000xf16>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Cast(w)->w_f16 Add(x,w)->y Abs(w_f16)->z");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(getData<float>(model.graph().initializer(0)),
            std::vector<float>(2000, 2.0f));
}

TEST_F(ExportConstants, large_narrowed_data_is_converted_on_the_way) {
  ModelProto model = write(R"mlir(
    func.func @f() -> (tensor<300000xf16> {onnx.name = "z"}, tensor<5000xf16> {onnx.name = "c"}) {
      %w = onnx.initializer dense<-2.0> : tensor<300000xf32> {onnx.outputs = ["w"]}
      %c = onnx.Constant() {value = dense<1.5> : tensor<5000xf32>, onnx.tensor_names = {value = "t"}}
        : () -> tensor<5000xf32>
      %0 = amp.cast %w : tensor<300000xf32> to tensor<300000xf16>
      %1 = amp.cast %c : tensor<5000xf32> to tensor<5000xf16>
      %2 = onnx.Abs(%0) {onnx.outputs = ["z"]} : (tensor<300000xf16>) -> tensor<300000xf16>
      %3 = onnx.Abs(%1) {onnx.outputs = ["c"]} : (tensor<5000xf16>) -> tensor<5000xf16>
      return %2, %3 : tensor<300000xf16>, tensor<5000xf16>
    })mlir");
  EXPECT_EQ(getData<uint16_t>(model.graph().initializer(0)),
            std::vector<uint16_t>(300000, 0xc000));
  const TensorProto &constant = model.graph().node(0).attribute(0).t();
  EXPECT_EQ(constant.name(), "t");
  EXPECT_EQ(getData<uint16_t>(constant), std::vector<uint16_t>(5000, 0x3e00));
}

TEST_F(ExportConstants, missing_data_is_an_error) {
  EXPECT_TRUE(failed(run(R"mlir(
    func.func @f() -> tensor<2xf32> {
      %w = onnx.initializer dense_resource<gone> : tensor<2xf32>
      return %w : tensor<2xf32>
    })mlir")));
  EXPECT_TRUE(hasSaid("has 0 bytes of data")) << said;
}

static std::string getExternal(const TensorProto &tensor, StringRef key) {
  for (const auto &entry : tensor.external_data())
    if (entry.key() == key)
      return entry.value();
  return "";
}

TEST_F(ExportConstants, go_to_a_data_file_on_request) {
  amp::ExportOnnxOptions options;
  options.externalDataThreshold = 100;
  ModelProto model = write(R"mlir(
    func.func @f(%x: tensor<25xf32> {onnx.name = "x"}) -> (tensor<25xf32> {onnx.name = "y"}) {
      %v = onnx.initializer dense<2.0> : tensor<5xf32> {onnx.outputs = ["v"]}
      %w = onnx.initializer dense<3.0> : tensor<25xf32> {onnx.outputs = ["w"]}
      %u = onnx.initializer dense<4.0> : tensor<20000xf32> {onnx.outputs = ["u"]}
      %0 = onnx.Add(%x, %w) {onnx.outputs = ["y"]} : (tensor<25xf32>, tensor<25xf32>) -> tensor<25xf32>
      return %0 : tensor<25xf32>
    })mlir",
                           options);
  const ::onnx::GraphProto &graph = model.graph();
  EXPECT_EQ(graph.initializer(0).data_location(), TensorProto::DEFAULT);
  const TensorProto &w = graph.initializer(1), &u = graph.initializer(2);
  EXPECT_EQ(w.data_location(), TensorProto::EXTERNAL);
  EXPECT_FALSE(w.has_raw_data());
  EXPECT_EQ(getExternal(w, "location"), "out.onnx.data");
  EXPECT_EQ(getExternal(w, "offset") + "+" + getExternal(w, "length"), "0+100");
  EXPECT_EQ(getExternal(u, "offset") + "+" + getExternal(u, "length"),
            "4096+80000");
  std::string data = read("out.onnx.data");
  ASSERT_EQ(data.size(), 84096u);
  std::vector<float> first(25), second(20000);
  std::memcpy(first.data(), data.data(), 100);
  std::memcpy(second.data(), data.data() + 4096, 80000);
  EXPECT_EQ(first, std::vector<float>(25, 3.0f));
  EXPECT_EQ(second, std::vector<float>(20000, 4.0f));
}

TEST_F(ExportConstants, old_ir_lists_initializers_as_inputs) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 3 opsets [#onnx.opset<"", 8>]
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}, %y: tensor<2xf32> {onnx.name = "y"})
        -> (tensor<2xf32> {onnx.name = "z"}) {
      %v = onnx.initializer dense<2.0> : tensor<2xf32> {input_index = 0 : i64, onnx.outputs = ["v"]}
      %w = onnx.initializer dense<3.0> : tensor<2xf32> {input_index = 2 : i64, onnx.outputs = ["w"]}
      %0 = onnx.Sum(%x, %y, %v, %w) {onnx.outputs = ["z"]}
        : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  std::string inputs;
  for (const auto &input : model.graph().input())
    inputs += input.name();
  EXPECT_EQ(inputs, "vxwy");
  EXPECT_EQ(model.ir_version(), 3);
  EXPECT_EQ(model.opset_import(0).version(), 8);
}

TEST_F(ExportConstants, new_ones_of_old_ir_are_nodes) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 3 opsets [#onnx.opset<"", 8>]
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"})
        -> (tensor<2xf32> {onnx.name = "y"}, tensor<2xf16> {onnx.name = "z"}) {
      %w = onnx.initializer dense<1.0> : tensor<2xf32> {input_index = 1 : i64, onnx.outputs = ["w"]}
      %0 = amp.cast %w : tensor<2xf32> to tensor<2xf16>
      %1 = onnx.Add(%x, %w) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %2 = onnx.Abs(%0) {onnx.outputs = ["z"]} : (tensor<2xf16>) -> tensor<2xf16>
      return %1, %2 : tensor<2xf32>, tensor<2xf16>
    })mlir");
  EXPECT_EQ(describe(model.graph()),
            "Constant()->w_f16 Add(x,w)->y Abs(w_f16)->z");
  EXPECT_EQ(getData<uint16_t>(model.graph().node(0).attribute(0).t()),
            (std::vector<uint16_t>{0x3c00, 0x3c00}));
  EXPECT_EQ(model.graph().input_size(), 2);
}

TEST_F(ExportConstants, default_of_an_input_is_an_initializer) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 8 opsets [#onnx.opset<"", 17>]
    func.func @f(%x: tensor<2xf32> {onnx.name = "x", onnx.default = dense<[1.0, 2.0]> : tensor<2xf32>})
        -> (tensor<2xf32> {onnx.name = "z"}) {
      %0 = onnx.Abs(%x) {onnx.outputs = ["z"]} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).name(), "x");
  EXPECT_EQ(getData<float>(model.graph().initializer(0)),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(model.graph().input(0).name(), "x");
}

} // namespace
