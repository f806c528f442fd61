//===- ImportOnnxTest.cpp - What a text test can't see --------------------===//
//
// Where tensor data lies, how long it lives, and files of odd form.
//
//===----------------------------------------------------------------------===//

#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"
#include "gtest/gtest.h"

using namespace mlir;
using onnx::ModelProto;
using onnx::TensorProto;

namespace {

/// A model with one node, `Y = Add(X, W)`, and W of `size` floats.
ModelProto makeModel(int64_t size) {
  ModelProto model;
  model.set_ir_version(9);
  model.add_opset_import()->set_version(26);
  auto &graph = *model.mutable_graph();
  graph.set_name("g");
  auto &node = *graph.add_node();
  node.set_op_type("Add");
  node.add_input("X");
  node.add_input("W");
  node.add_output("Y");
  auto declare = [&](onnx::ValueInfoProto &info, const char *name) {
    info.set_name(name);
    auto &type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_value(size);
  };
  declare(*graph.add_input(), "X");
  declare(*graph.add_output(), "Y");
  auto &tensor = *graph.add_initializer();
  tensor.set_name("W");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(size);
  return model;
}

class ImportOnnxTest : public ::testing::Test {
protected:
  OwningOpRef<ModuleOp> import(const std::string &bytes) {
    buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, "model");
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    return amp::importOnnx(buffer, "", &context);
  }

  OwningOpRef<ModuleOp> import(const ModelProto &model) {
    return import(model.SerializeAsString());
  }

  ElementsAttr getWeight(ModuleOp module) {
    ElementsAttr value;
    module.walk([&](amp::onnx::InitializerOp op) { value = op.getValue(); });
    return value;
  }

  ArrayRef<char> getResource(ModuleOp module) {
    auto value =
        dyn_cast_or_null<DenseResourceElementsAttr>(getWeight(module));
    return value ? value.getRawHandle().getBlob()->getData() : ArrayRef<char>();
  }

  bool isInBuffer(ArrayRef<char> data) const {
    return data.begin() >= buffer->getBufferStart() &&
           data.end() <= buffer->getBufferEnd();
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::shared_ptr<llvm::MemoryBuffer> buffer;
  std::string messages;
};

TEST_F(ImportOnnxTest, LargeDataStaysInTheFile) {
  ModelProto model = makeModel(1000);
  std::string data(4000, '\x01');
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(data);
  OwningOpRef<ModuleOp> module = import(model);
  ASSERT_TRUE(module) << messages;
  ArrayRef<char> resource = getResource(*module);
  EXPECT_EQ(StringRef(resource.data(), resource.size()), data);
  EXPECT_TRUE(isInBuffer(resource));
}

TEST_F(ImportOnnxTest, PackedFloatsStayInTheFile) {
  ModelProto model = makeModel(1000);
  for (int i = 0; i < 1000; ++i)
    model.mutable_graph()->mutable_initializer(0)->add_float_data(i);
  OwningOpRef<ModuleOp> module = import(model);
  ASSERT_TRUE(module) << messages;
  ArrayRef<char> resource = getResource(*module);
  ASSERT_EQ(resource.size(), 4000u);
  EXPECT_TRUE(isInBuffer(resource));
  float last;
  memcpy(&last, resource.data() + 3996, 4);
  EXPECT_EQ(last, 999.0f);
}

/// Two chunks of packed floats are one list, which only a copy can be.
TEST_F(ImportOnnxTest, PackedFloatsInChunksAreJoined) {
  ModelProto model = makeModel(1000), more = makeModel(1000);
  auto &graph = *more.mutable_graph();
  TensorProto first = graph.initializer(0), second;
  for (int i = 0; i < 500; ++i) {
    first.add_float_data(i);
    second.add_float_data(500 + i);
  }
  graph.clear_initializer();
  // A serialized message may be cut between fields: the halves merge.
  std::string tensor = first.SerializeAsString() + second.SerializeAsString();
  graph.mutable_unknown_fields()->AddLengthDelimited(5, tensor);
  OwningOpRef<ModuleOp> module = import(more);
  ASSERT_TRUE(module) << messages;
  ArrayRef<char> resource = getResource(*module);
  ASSERT_EQ(resource.size(), 4000u);
  float last;
  memcpy(&last, resource.data() + 3996, 4);
  EXPECT_EQ(last, 999.0f);
}

TEST_F(ImportOnnxTest, TheModuleKeepsTheFileAlive) {
  ModelProto model = makeModel(1000);
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(
      std::string(4000, '\x01'));
  OwningOpRef<ModuleOp> module = import(model);
  ASSERT_TRUE(module) << messages;
  std::weak_ptr<llvm::MemoryBuffer> watch = buffer;
  buffer.reset();
  EXPECT_FALSE(watch.expired());
}

TEST_F(ImportOnnxTest, SmallDataIsCopied) {
  ModelProto model = makeModel(2);
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(
      std::string(8, '\0'));
  OwningOpRef<ModuleOp> module = import(model);
  ASSERT_TRUE(module) << messages;
  EXPECT_TRUE(isa<DenseElementsAttr>(getWeight(*module)));
  std::weak_ptr<llvm::MemoryBuffer> watch = buffer;
  buffer.reset();
  EXPECT_TRUE(watch.expired());
}

/// Bytes that say nothing about a size are not trusted with one.
TEST_F(ImportOnnxTest, HugeShapesWithoutDataAreRefused) {
  ModelProto model = makeModel(2);
  auto &tensor = *model.mutable_graph()->mutable_initializer(0);
  tensor.add_dims(int64_t(1) << 40);
  EXPECT_FALSE(import(model));
  EXPECT_NE(messages.find("tensor 'W': expected 8796093022208 bytes"),
            std::string::npos)
      << messages;
}

TEST_F(ImportOnnxTest, TruncatedAnywhereIsRefusedOrRead) {
  ModelProto model = makeModel(2);
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(
      std::string(8, '\0'));
  std::string bytes = model.SerializeAsString();
  unsigned refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    messages.clear();
    if (!import(bytes.substr(0, size))) {
      ++refused;
      EXPECT_FALSE(messages.empty()) << size;
    }
  }
  // Only what follows the graph may be missing.
  EXPECT_GT(refused, bytes.size() - 8);
}

TEST_F(ImportOnnxTest, TellsModelsFromText) {
  EXPECT_TRUE(amp::isOnnxModel(makeModel(2).SerializeAsString()));
  ModelProto reordered = makeModel(2);
  reordered.clear_ir_version();
  EXPECT_TRUE(amp::isOnnxModel(reordered.SerializeAsString()));
  EXPECT_FALSE(amp::isOnnxModel(""));
  EXPECT_FALSE(amp::isOnnxModel("module {\n}\n"));
  EXPECT_FALSE(amp::isOnnxModel("// a comment\n"));
  EXPECT_FALSE(amp::isOnnxModel("\n#map = affine_map<(d0) -> (d0)>"));
  EXPECT_FALSE(amp::isOnnxModel("ML\xefR"));
}

} // namespace
