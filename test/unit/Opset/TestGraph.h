//===- TestGraph.h - A graph around a node, for tests -----------*- C++ -*-===//
// Nodes, types and constants are written in ONNX's text syntax, and results are
// printed in it.
//===----------------------------------------------------------------------===//

#ifndef AMP_TEST_UNIT_OPSET_TESTGRAPH_H
#define AMP_TEST_UNIT_OPSET_TESTGRAPH_H

#include "amp/Onnx/Opset/Opset.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

/// Types and constants of the values a test's node reads and writes.
class TestGraph final : public amp::onnx_opset::NodeContext {
public:
  TestGraph() : NodeContext(ownSchemas) {}

  /// "float[2,N]"
  TestGraph &type(llvm::StringRef value, llvm::StringRef text);
  /// "int64[2] {0, 1}"
  TestGraph &constant(llvm::StringRef value, llvm::StringRef text);
  TestGraph &unused(llvm::StringRef value);

  const onnx::TypeProto *getType(llvm::StringRef value) const override;
  const onnx::TensorProto *getConstant(llvm::StringRef value) const override;
  std::string freshName(llvm::StringRef base) override;
  bool isUsed(llvm::StringRef value) const override {
    return !unusedValues.contains(value);
  }

  /// Converts a node and prints what came of it, one constant or node a line;
  /// or "error: <reason>".
  std::string convert(llvm::StringRef node, int from, int to);

private:
  amp::onnx_opset::SchemaCache ownSchemas;
  llvm::StringMap<onnx::TypeProto> types;
  llvm::StringMap<onnx::TensorProto> constants;
  llvm::StringSet<> unusedValues, taken;
};

onnx::NodeProto parseNode(llvm::StringRef text);

/// Lines as `TestGraph::convert` prints them.
std::string lines(std::initializer_list<llvm::StringRef> parts);

#endif // AMP_TEST_UNIT_OPSET_TESTGRAPH_H
