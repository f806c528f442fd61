//===- OpsetPlan.h - The opset a model is written for -----------*- C++ -*-===//
// Finds the lowest opset, at least the model's own, at which every node is
// legal.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_OPSETPLAN_H
#define AMP_LIB_TARGET_ONNX_OPSETPLAN_H

#include "Nodes.h"

namespace amp::onnx_export {

class OpsetPlan {
public:
  OpsetPlan(FunctionPlan &plan) : plan(plan) {}

  /// Chooses. `requested` is the opset the user asks for, 0 for none; `model`
  /// may be null. Emits a remark at each node that raises the opset and an
  /// error at one that cannot be written.
  mlir::LogicalResult choose(mlir::func::FuncOp function, onnx::ModelOp model,
                             int64_t requested);

  /// Version of the default domain.
  int getOpset() const { return opset; }
  /// Whether that is the model's own.
  bool isOwnOpset() const { return opset == own; }
  /// Whether the model must import the default domain although it did not.
  bool addsImport() const { return added; }
  int64_t getIrVersion() const { return irVersion; }

  /// Whether the node of `site`, written for the pinned opset (an onnx.node:
  /// for the model's), is the same at the chosen one.
  bool isUnchanged(NodeSite site) const;

  /// Whether `op` is a constant or an Unsqueeze that import made for a node of
  /// the pinned opset and that no node needs at the chosen one.
  bool isLeftOut(mlir::Operation *op) const;

  /// Whether `op` is a constant that no node of the chosen opset can hold, so
  /// that it becomes an initializer.
  bool isInitializer(mlir::Operation *op) const;

  /// The nodes that take the place of `node` at the chosen opset.
  onnx_opset::Rewritten convert(NodeSite site, const ::onnx::NodeProto &node);

private:
  /// What the conversion makes of nodes of one operation.
  struct Work {
    bool isNeeded, hasRule;
  };

  int getWrittenFor(NodeSite site) const;
  Work getWork(NodeSite site, int version) const;
  llvm::Error check(NodeSite site, int version);
  void noteDropped(NodeSite site, const onnx_opset::Rewritten &result);
  bool keepConstant(NodeSite site, int version);
  bool isRead(mlir::Value value) const;
  mlir::LogicalResult raise(NodeSite site, int64_t requested,
                            llvm::Error error);
  std::string makeKey(NodeSite site) const;

  FunctionPlan &plan;
  /// The opset of the file the model came from; nodes that the dialect does not
  /// model are written for it.
  int own = 0;
  int opset = 0;
  int64_t irVersion = 0;
  bool added = false;
  /// What is known about nodes that look alike, for the current opset: whether
  /// they come out of the conversion as they went in.
  llvm::StringMap<bool> unchanged;
  /// Constants of types that their operator does not allow at this opset.
  llvm::DenseSet<mlir::Operation *> illegalConstants;
  /// How many uses of a value the conversion removes.
  llvm::DenseMap<mlir::Value, unsigned> dropped;
  mutable llvm::DenseMap<std::pair<const void *, int>, Work> work;
};

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_OPSETPLAN_H
