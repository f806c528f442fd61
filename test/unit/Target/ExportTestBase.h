//===- ExportTestBase.h - Exports modules given as text ---------*- C++ -*-===//
// What the tests of the exporter share.
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_TARGET_EXPORTTESTBASE_H
#define AMP_TEST_UNIT_TARGET_EXPORTTESTBASE_H

#include "amp/Target/Onnx/ExportOnnx.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/SmallString.h"
#include "gtest/gtest.h"
#include <cstring>

/// A folder of its own for each test, removed at the end, and a context whose
/// diagnostics are gathered.
class ExportTest : public testing::Test {
protected:
  ExportTest();
  void SetUp() override;
  void TearDown() override;

  std::string getPath(llvm::StringRef name) const;
  /// A file's content; empty when there is none.
  std::string read(llvm::StringRef name) const;

  /// Exports to out.onnx.
  mlir::LogicalResult run(llvm::StringRef text,
                          const amp::ExportOnnxOptions &options = {});
  /// The model that `text` is written as.
  ::onnx::ModelProto write(llvm::StringRef text,
                           const amp::ExportOnnxOptions &options = {});
  bool hasSaid(llvm::StringRef part) const {
    return llvm::StringRef(said).contains(part);
  }

  mlir::MLIRContext context;
  /// Diagnostics, a line each.
  std::string said;
  llvm::SmallString<128> folder;
};

/// "Type(inputs)->outputs" of each node.
std::string describe(const ::onnx::GraphProto &graph);

template <typename T>
std::vector<T> getData(const ::onnx::TensorProto &tensor) {
  std::vector<T> values(tensor.raw_data().size() / sizeof(T));
  std::memcpy(values.data(), tensor.raw_data().data(),
              tensor.raw_data().size());
  return values;
}

#endif // AMP_TEST_UNIT_TARGET_EXPORTTESTBASE_H
