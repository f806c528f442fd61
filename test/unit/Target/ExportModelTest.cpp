//===- ExportModelTest.cpp - Models, opsets and errors of export ----------===//
// What stands around the nodes, and what cannot be written.
//===----------------------------------------------------------------------===//

#include "ExportTestBase.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using ::onnx::ModelProto;
using ::onnx::TensorProto;

namespace {

class ExportModel : public ExportTest {};

TEST_F(ExportModel, fields_come_out) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 8 opsets [#onnx.opset<"", 17>, #onnx.opset<"com.example", 3>]
      {producer_name = "pytorch", producer_version = "2.1", model_domain = "d", model_version = 5 : i64,
       doc_string = "doc", metadata_props = [["k", "v"]]}
    func.func @main(%x: tensor<2x?xf32, #onnx.dims<"", "N">> {onnx.name = "x"})
        -> (tensor<2x?xf32, #onnx.dims<"", "N">> {onnx.name = "y"})
        attributes {onnx.graph = {name = "g", doc_string = "graph"}} {
      %0 = onnx.Relu(%x) {onnx.name = "relu", onnx.outputs = ["y"], onnx.doc_string = "node"}
        : (tensor<2x?xf32, #onnx.dims<"", "N">>) -> tensor<2x?xf32, #onnx.dims<"", "N">>
      return %0 : tensor<2x?xf32, #onnx.dims<"", "N">>
    })mlir");
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 2);
  EXPECT_EQ(model.opset_import(0).version(), 17);
  EXPECT_EQ(model.opset_import(1).domain(), "com.example");
  EXPECT_EQ(model.opset_import(1).version(), 3);
  EXPECT_EQ(model.producer_name() + model.producer_version() + model.domain() +
                model.doc_string(),
            "pytorch2.1ddoc");
  EXPECT_EQ(model.model_version(), 5);
  ASSERT_EQ(model.metadata_props_size(), 1);
  EXPECT_EQ(model.metadata_props(0).key() + model.metadata_props(0).value(),
            "kv");
  const ::onnx::GraphProto &graph = model.graph();
  EXPECT_EQ(graph.name() + graph.doc_string(), "ggraph");
  EXPECT_EQ(describe(graph), "Relu(x)->y");
  EXPECT_EQ(graph.node(0).name() + graph.node(0).doc_string(), "relunode");
  const auto &shape = graph.input(0).type().tensor_type().shape();
  EXPECT_EQ(shape.dim(0).dim_value(), 2);
  EXPECT_EQ(shape.dim(1).dim_param(), "N");
  EXPECT_EQ(said, "");
}

TEST_F(ExportModel, hand_written_module_gets_names_and_versions) {
  ModelProto model = write(R"mlir(
    func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %0 = onnx.Add(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %1 = onnx.Abs(%0) : (tensor<2xf32>) -> tensor<2xf32>
      %2 = onnx.Abs(%1) : (tensor<2xf32>) -> tensor<2xf32>
      return %2 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(model.graph().name(), "f");
  EXPECT_EQ(describe(model.graph()),
            "Add(arg0,arg1)->Add_out Abs(Add_out)->Abs_out Abs(Abs_out)->out0");
  EXPECT_EQ(model.opset_import(0).version(), 21);
  EXPECT_EQ(model.ir_version(), 10);
}

TEST_F(ExportModel, same_input_gives_same_bytes) {
  StringRef text = R"mlir(
    func.func @f(%a: tensor<2xf32>) -> (tensor<2xf16>, tensor<2xf32>) {
      %0 = amp.cast %a : tensor<2xf32> to tensor<2xf16>
      return %0, %a : tensor<2xf16>, tensor<2xf32>
    })mlir";
  write(text);
  std::string first = read("out.onnx");
  write(text);
  EXPECT_EQ(first, read("out.onnx"));
}

TEST_F(ExportModel, unmodelled_fields_are_merged_back) {
  // Bytes: ModelProto.functions[0].name = "F"; NodeProto.overload = "o";
  // GraphProto.input[0] = {name = "x", doc_string = "d"}.
  ModelProto model = write(R"mlir(
    onnx.model ir_version 10 opsets [#onnx.opset<"", 21>] {verbatim = "\CA\01\03\0A\01F"}
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"})
        attributes {onnx.graph = {name = "g", verbatim = "\5A\06\0A\01x\1A\01d"}} {
      %0 = onnx.Abs(%x) {onnx.outputs = ["y"], onnx.verbatim = "\42\01o"} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  ASSERT_EQ(model.functions_size(), 1);
  EXPECT_EQ(model.functions(0).name(), "F");
  EXPECT_EQ(model.graph().node(0).overload(), "o");
  ASSERT_EQ(model.graph().input_size(), 1);
  EXPECT_EQ(model.graph().input(0).doc_string(), "d");
  EXPECT_TRUE(model.graph().input(0).has_type());
}

//===----------------------------------------------------------------------===//
// Opsets
//===----------------------------------------------------------------------===//

TEST_F(ExportModel, opset_goes_up_where_a_node_needs_it) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 6 opsets [#onnx.opset<"", 11>]
    func.func @f(%x: tensor<1x1x4xbf16> {onnx.name = "x"}, %w: tensor<1x1x1xbf16> {onnx.name = "w"})
        -> (tensor<1x1x4xbf16> {onnx.name = "y"}) {
      %0 = onnx.Conv(%x, %w) {onnx.name = "conv1", onnx.outputs = ["y"]}
        : (tensor<1x1x4xbf16>, tensor<1x1x1xbf16>) -> tensor<1x1x4xbf16>
      return %0 : tensor<1x1x4xbf16>
    })mlir");
  EXPECT_EQ(model.opset_import(0).version(), 22);
  EXPECT_EQ(model.ir_version(), 10);
  EXPECT_TRUE(hasSaid("opset raised from 11 to 22: node 'conv1' (Conv): opset "
                      "11 does not take tensor(bfloat16) as input 0"))
      << said;
}

TEST_F(ExportModel, requested_opset_is_kept_or_refused) {
  StringRef text = R"mlir(
    onnx.model ir_version 8 opsets [#onnx.opset<"", 20>]
    func.func @f(%x: tensor<2x3xf32> {onnx.name = "x"}) -> (tensor<2x3xf32> {onnx.name = "y"}) {
      %0 = onnx.Gelu(%x) {onnx.name = "gelu", onnx.outputs = ["y"]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    })mlir";
  amp::ExportOnnxOptions options;
  options.opset = 24;
  EXPECT_EQ(write(text, options).opset_import(0).version(), 24);
  options.opset = 13;
  EXPECT_TRUE(failed(run(text, options)));
  EXPECT_TRUE(hasSaid("node 'gelu' (Gelu) cannot be written for opset 13"))
      << said;
}

TEST_F(ExportModel, lowered_node_takes_its_older_form) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 6 opsets [#onnx.opset<"", 11>]
    func.func @f(%x: tensor<2x1xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %axes = onnx.initializer dense<1> : tensor<1xi64> {onnx.outputs = ["axes"]}
      %0 = onnx.Squeeze(%x, %axes) {onnx.name = "s", onnx.outputs = ["y"]}
        : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(model.opset_import(0).version(), 11);
  EXPECT_EQ(describe(model.graph()), "Squeeze(x)->y");
  EXPECT_EQ(model.graph().node(0).name(), "s");
  EXPECT_EQ(model.graph().node(0).attribute(0).ints(0), 1);
}

TEST_F(ExportModel, constant_of_a_removed_input_is_left_out) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 6 opsets [#onnx.opset<"", 11>]
    func.func @f(%x: tensor<2x1xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %axes = onnx.Constant() {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
      %0 = onnx.Squeeze(%x, %axes) {onnx.name = "s", onnx.outputs = ["y"]}
        : (tensor<2x1xf32>, tensor<1xi64>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()), "Squeeze(x)->y");
}

TEST_F(ExportModel, integer_constant_is_kept_or_an_initializer_before_opset_9) {
  ModelProto model = write(R"mlir(
    onnx.model ir_version 3 opsets [#onnx.opset<"", 8>]
    func.func @f(%x: tensor<2x1xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %a = onnx.Constant() {value = dense<[1, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
      %b = onnx.Constant() {value = dense<2> : tensor<1xi64>, onnx.outputs = ["b"]} : () -> tensor<1xi64>
      %0 = onnx.Reshape(%x, %a) {onnx.outputs = ["z"]} : (tensor<2x1xf32>, tensor<2xi64>) -> tensor<1x2xf32>
      %1 = onnx.Reshape(%0, %b) {onnx.outputs = ["y"]} : (tensor<1x2xf32>, tensor<1xi64>) -> tensor<2xf32>
      return %1 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(model.opset_import(0).version(), 8);
  EXPECT_EQ(describe(model.graph()),
            "Constant()->b Reshape(x,Constant_out)->z Reshape(z,b)->y");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  EXPECT_EQ(model.graph().initializer(0).name(), "Constant_out");
  EXPECT_EQ(model.graph().input(1).name(), "Constant_out");
}

TEST_F(ExportModel, sparse_initializer_comes_back_as_one) {
  // SparseTensorProto{values {name: "s"}}.
  ModelProto model = write(R"mlir(
    onnx.model ir_version 8 opsets [#onnx.opset<"", 17>]
    func.func @f(%x: tensor<2xf32> {onnx.name = "x"}) -> (tensor<2xf32> {onnx.name = "y"}) {
      %s = onnx.Constant() {sparse_value = #onnx.proto<"SparseTensorProto", "\0A\03\42\01s">, onnx.outputs = ["s"]}
        : () -> tensor<2xf32>
      %0 = onnx.Add(%x, %s) {onnx.outputs = ["y"]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir");
  EXPECT_EQ(describe(model.graph()), "Add(x,s)->y");
  ASSERT_EQ(model.graph().sparse_initializer_size(), 1);
  EXPECT_EQ(model.graph().sparse_initializer(0).values().name(), "s");
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(ExportModel, foreign_operation_is_named) {
  EXPECT_TRUE(failed(run(R"mlir(
    func.func private @g(tensor<2xf32>) -> tensor<2xf32>
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })mlir")));
  EXPECT_TRUE(hasSaid("'func.call' cannot be written to an ONNX file")) << said;
}

TEST_F(ExportModel, two_public_functions_are_refused) {
  EXPECT_TRUE(failed(run(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
    func.func @g(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
    )mlir")));
  EXPECT_TRUE(hasSaid("expects one public function")) << said;
}

TEST_F(ExportModel, unwritable_target_is_named) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {"
      "  return %x : tensor<2xf32> }",
      &context);
  EXPECT_TRUE(failed(amp::exportOnnx(*module, getPath("no/out.onnx"))));
  EXPECT_TRUE(hasSaid("no/out.onnx': No such file or directory")) << said;
  EXPECT_TRUE(failed(amp::exportOnnx(*module, "/dev/full")));
  EXPECT_TRUE(hasSaid("'/dev/full': No space left on device")) << said;
}

} // namespace
