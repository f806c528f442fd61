//===- Nodes.h - Operations as NodeProto ------------------------*- C++ -*-===//
// Turns one operation into one node of the pinned opset.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_NODES_H
#define AMP_LIB_TARGET_ONNX_NODES_H

#include "Names.h"
#include "amp/Onnx/Opset/Opset.h"
#include "onnx/onnx_pb.h"
#include <deque>

namespace amp::onnx_export {

/// What becomes one node: an operation, or (with `output` >= 0) the Identity
/// that gives operand `output` of the terminator `op` its name.
struct NodeSite {
  mlir::Operation *op;
  int output = -1;
};

/// Names and constants of a function, for all that writes nodes.
struct FunctionPlan {
  ConstantPlan constants;
  Names names{constants};
  onnx_opset::SchemaCache schemas;
};

/// Attributes of a NodeProto that stand for something larger carry the name
/// only: graphs (the op's regions) and tensors of more than a few bytes.
bool isGraphPlaceholder(const ::onnx::AttributeProto &attribute);
bool isTensorPlaceholder(const ::onnx::AttributeProto &attribute);

/// The region a graph attribute stands for.
mlir::Region &getGraphAttribute(mlir::Operation *op, llvm::StringRef name);

/// The tensor that an empty tensor in a node stands for.
mlir::ElementsAttr getTensorAttribute(mlir::Operation *op,
                                      llvm::StringRef name);

/// Writes the node of `site` into `proto`, which is cleared first.
void buildNode(NodeSite site, const FunctionPlan &plan,
               ::onnx::NodeProto &proto);

/// Whether `op` is a constant that stands for a sparse initializer of the file.
bool isSparseInitializer(mlir::Operation *op);

/// Whether the operation is written as a node; others are constants of the
/// graph, or nothing.
bool isNode(mlir::Operation *op, const FunctionPlan &plan);

/// Whether neither the file nor a pass named anything about an operation of one
/// result: import made it.
bool isAnonymous(mlir::Operation *op);

/// What the conversion between opsets may ask about a node.
class NodeView final : public onnx_opset::NodeContext {
public:
  /// With `isTrial`, names asked for are not used up.
  NodeView(NodeSite site, FunctionPlan &plan, bool isTrial);

  const ::onnx::TypeProto *getType(llvm::StringRef value) const override;
  const ::onnx::TensorProto *getConstant(llvm::StringRef value) const override;
  std::string freshName(llvm::StringRef base) override;
  llvm::StringRef getUnsqueezed(llvm::StringRef value) const override;
  bool isUsed(llvm::StringRef value) const override;

private:
  FunctionPlan &plan;
  bool isTrial;
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;
  // Deques: the pointers handed out stay valid.
  mutable std::deque<::onnx::TypeProto> types;
  mutable std::deque<::onnx::TensorProto> tensors;
};

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_NODES_H
