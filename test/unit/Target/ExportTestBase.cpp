//===- ExportTestBase.cpp - Exports modules given as text -----------------===//
// What the tests of the exporter share.
//===----------------------------------------------------------------------===//

#include "ExportTestBase.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

ExportTest::ExportTest() {
  context.loadDialect<amp::onnx::OnnxDialect, amp::AmpDialect,
                      func::FuncDialect>();
  context.getDiagEngine().registerHandler(
      [&](Diagnostic &diagnostic) { said += diagnostic.str() + "\n"; });
}

void ExportTest::SetUp() {
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("export-onnx", folder));
}

void ExportTest::TearDown() { llvm::sys::fs::remove_directories(folder); }

std::string ExportTest::getPath(StringRef name) const {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

std::string ExportTest::read(StringRef name) const {
  auto buffer = llvm::MemoryBuffer::getFile(getPath(name));
  return buffer ? (*buffer)->getBuffer().str() : "";
}

LogicalResult ExportTest::run(StringRef text,
                              const amp::ExportOnnxOptions &options) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(bool(module)) << said;
  return module ? amp::exportOnnx(*module, getPath("out.onnx"), options)
                : failure();
}

::onnx::ModelProto ExportTest::write(StringRef text,
                                     const amp::ExportOnnxOptions &options) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(succeeded(run(text, options))) << said;
  EXPECT_TRUE(model.ParseFromString(read("out.onnx")));
  return model;
}

std::string describe(const ::onnx::GraphProto &graph) {
  std::string text;
  for (const ::onnx::NodeProto &node : graph.node())
    text += (text.empty() ? "" : " ") + node.op_type() + "(" +
            llvm::join(node.input(), ",") + ")->" +
            llvm::join(node.output(), ",");
  return text;
}
