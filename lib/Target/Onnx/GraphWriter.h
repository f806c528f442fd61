//===- GraphWriter.h - Graphs as serialized GraphProto ----------*- C++ -*-===//
// Serializes a function and the bodies in it; tensor data stays where it is.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_GRAPHWRITER_H
#define AMP_LIB_TARGET_ONNX_GRAPHWRITER_H

#include "OpsetPlan.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace amp::onnx_export {

/// IR versions before this one want initializers among the inputs.
inline constexpr int64_t firstFreeInitializers = 4;

/// The data file beside a model.
struct ExternalData {
  /// Name of the file, as the model spells it; empty: all data is inline.
  std::string location;
  /// Smallest tensor that goes there.
  uint64_t threshold = 0;
  /// Its content: tensors, with zeros between them for alignment.
  std::vector<Payload> pieces;
  uint64_t size = 0;

  /// Adds data and gives its offset.
  uint64_t add(const Payload &payload);
};

class GraphWriter {
public:
  GraphWriter(FunctionPlan &plan, OpsetPlan &opsets, ExternalData &external,
              llvm::BumpPtrAllocator &arena)
      : plan(plan), opsets(opsets), external(external), arena(arena) {}

  /// The graph whose nodes are in `block`. Errors are emitted.
  mlir::FailureOr<WireBuffer> write(mlir::Block *block);

private:
  /// A graph while it is written.
  struct Graph {
    mlir::Block *block;
    /// Null for a body.
    mlir::func::FuncOp function;
    mlir::DictionaryAttr dictionary;
    WireBuffer message;
    /// Initializers, written after the nodes.
    WireBuffer tensors;
    /// Initializers that older IR versions want listed as inputs, beside those
    /// that say so themselves.
    std::vector<std::pair<mlir::StringAttr, mlir::Type>> listed;
    /// Fields that the IR does not model, and what they say of values, by the
    /// field that lists these.
    ::onnx::GraphProto verbatim;
    std::map<unsigned, llvm::StringMap<const ::onnx::ValueInfoProto *>> said;
    /// Arguments with a default that is yet to be written, and its position
    /// among the initializers, the first one last.
    std::vector<std::pair<int64_t, unsigned>> defaults;
    int64_t numInitializers = 0;
  };

  // Nodes.
  mlir::LogicalResult writeOperation(mlir::Operation &op, Graph &graph);
  mlir::LogicalResult writeSite(NodeSite site, Graph &graph);
  mlir::LogicalResult writeNode(mlir::Operation *op,
                                const ::onnx::NodeProto &proto, Graph &graph);
  mlir::LogicalResult writeLargeAttribute(mlir::Operation *op,
                                          const ::onnx::AttributeProto &proto,
                                          WireBuffer &node);

  // Tensors.
  mlir::LogicalResult writeInitializer(mlir::Operation *op, Graph &graph);
  void addConstant(Graph &graph, mlir::StringAttr name, mlir::TensorType type,
                   WireBuffer &&tensor);
  mlir::LogicalResult writeCopy(CastOp cast, Graph &graph);
  void collectDefaults(Graph &graph);
  mlir::LogicalResult writeDefaults(Graph &graph, int64_t before);
  mlir::LogicalResult writeDefault(unsigned argument, Graph &graph);
  mlir::LogicalResult writeTensor(mlir::Operation *op, llvm::StringRef name,
                                  mlir::ElementsAttr value,
                                  const Narrowing *narrowing,
                                  WireBuffer &tensor);
  mlir::FailureOr<Payload> getPayload(mlir::Operation *op,
                                      mlir::ElementsAttr value,
                                      const Narrowing *narrowing);
  void writeData(const Payload &payload, WireBuffer &tensor);

  // The rest of the graph.
  void readVerbatim(Graph &graph);
  void writeName(Graph &graph);
  void writeInputs(Graph &graph);
  void writeOutputs(Graph &graph);
  void writeValueInfo(Graph &graph);
  void writeVerbatim(Graph &graph);
  void writeValue(Graph &graph, unsigned field, mlir::StringAttr name,
                  mlir::Type type);

  llvm::StringRef getTypeBytes(mlir::Type type);

  FunctionPlan &plan;
  OpsetPlan &opsets;
  ExternalData &external;
  llvm::BumpPtrAllocator &arena;
  /// The node being written; reused, which saves allocations.
  ::onnx::NodeProto scratch;
  /// Serialized types, most of which occur often.
  llvm::DenseMap<mlir::Type, std::string> typeBytes;
  /// Data that had to be laid out anew.
  std::deque<llvm::SmallVector<char, 0>> laidOut;
};

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_GRAPHWRITER_H
