//===- AssignPrecisionOverrides.h - Types that the user fixed -------------===//
//
// Pins of nodes and of single operands, by name.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONOVERRIDES_H
#define AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONOVERRIDES_H

#include "AssignPrecisionGraph.h"
#include "llvm/Support/Regex.h"

namespace amp::assign {

/// One pin: nodes whose whole name matches take a type, or one of their inputs
/// does.
struct Pin {
  /// As the user spelled it.
  std::string text;
  llvm::Regex pattern;
  Kind kind = Kind::Other;
  /// Position among the node's inputs.
  std::optional<unsigned> input;
  bool used = false;
  /// A remark said that it wins over allow or deny.
  bool told = false;
};

/// All pins of a run.
class Pins {
public:
  /// Reads `<regex>=<type>`, or `<regex>:<input>=<type>` where `ofSlot`.
  llvm::Error add(llvm::StringRef text, bool ofSlot);

  /// Sets what must be as the user says in one function. Emits what cannot be.
  mlir::LogicalResult apply(mlir::func::FuncOp function, Graph &graph);

  /// Fails when a pin matched nothing in any function.
  mlir::LogicalResult checkUsed(mlir::ModuleOp module) const;

private:
  mlir::LogicalResult applyTo(mlir::Operation *op, llvm::StringRef name,
                              Graph &graph);
  mlir::LogicalResult pinNode(Node &node, Pin &pin);
  mlir::LogicalResult pinInput(Node &node, Pin &pin, Graph &graph);

  std::vector<Pin> pins;
  /// Nodes of the function at hand.
  llvm::DenseMap<mlir::Operation *, uint32_t> nodeOf;
  /// The pin a node has got its type from.
  llvm::DenseMap<const Node *, const Pin *> pinOf;
};

} // namespace amp::assign

#endif // AMP_DIALECT_AMP_TRANSFORMS_ASSIGNPRECISIONOVERRIDES_H
