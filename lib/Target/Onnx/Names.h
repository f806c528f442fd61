//===- Names.h - Names of values and nodes in the file ----------*- C++ -*-===//
// Keeps the names that values came with, and finds new ones where there is none
// or where passes made two values of one name.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_NAMES_H
#define AMP_LIB_TARGET_ONNX_NAMES_H

#include "Constants.h"

namespace amp::onnx_export {

/// An output of a graph: the value behind it has this name, or an Identity node
/// gives it that name.
struct GraphOutput {
  mlir::StringAttr name;
  bool needsIdentity;
};

/// The names of one function's values. Kept names are unique in their graph and
/// differ from the outer values used there; new ones differ from every name in
/// the model.
class Names {
public:
  explicit Names(const ConstantPlan &constants) : constants(constants) {}

  /// Names everything in `function`. `verbatim` are bytes of a ModelProto whose
  /// names must not be used for anything new. Emits an error where the names of
  /// inputs and outputs contradict each other.
  mlir::LogicalResult build(mlir::func::FuncOp function,
                            mlir::StringAttr verbatim);

  mlir::StringAttr get(mlir::Value value) const { return names.lookup(value); }

  /// The outputs of a graph, one per operand of its terminator.
  llvm::ArrayRef<GraphOutput> getOutputs(mlir::Block *block) const {
    return outputs.find(block)->second;
  }

  /// A value of this name, or null.
  mlir::Value find(mlir::StringAttr name) const { return values.lookup(name); }

  /// A name that no other value has: `base`, or `base` with a number.
  mlir::StringAttr makeValueName(const llvm::Twine &base);
  mlir::StringAttr makeNodeName(const llvm::Twine &base);

private:
  using NameSet = llvm::DenseSet<mlir::StringAttr>;

  /// One graph while its values are named.
  struct Scope {
    /// Results that must have the name of a graph output, and those names.
    llvm::DenseMap<mlir::Value, mlir::StringAttr> claims;
    NameSet reserved;
    mlir::Block *block;
    /// Names defined here, and the outer values they hide.
    llvm::SmallVector<std::pair<mlir::StringAttr, mlir::Value>> defined;
  };

  void collect(mlir::func::FuncOp function, mlir::StringAttr verbatim);
  void collectTraining(mlir::StringAttr verbatim);
  mlir::LogicalResult nameGraph(mlir::Block *block,
                                mlir::func::FuncOp function);
  void nameArguments(mlir::Block *block, Scope &scope);
  mlir::LogicalResult claimOutputs(mlir::Block *block,
                                   mlir::func::FuncOp function, Scope &scope);
  mlir::LogicalResult nameResults(mlir::Operation *op, Scope &scope);
  void define(mlir::Value value, mlir::StringAttr name, Scope &scope);
  bool isFree(mlir::StringAttr name, const Scope &scope) const;
  bool isUsedIn(mlir::Value value, mlir::Region &region) const;
  std::string makeBase(mlir::OpResult result, mlir::StringAttr wanted,
                       const Scope &scope) const;
  static mlir::StringAttr
  makeUnique(const llvm::Twine &base, NameSet &taken,
             llvm::DenseMap<mlir::StringAttr, unsigned> &next,
             mlir::MLIRContext *context);

  const ConstantPlan &constants;
  mlir::MLIRContext *context = nullptr;
  /// The attribute that lists an op's names, as a key that is fast to look up.
  mlir::StringAttr outputsKey;
  llvm::DenseMap<mlir::Value, mlir::StringAttr> names;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> values;
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<GraphOutput, 2>> outputs;
  /// All names there are, and the values that the current point sees by them.
  NameSet takenValues, takenNodes;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> visible;
  /// The next number to try after a base.
  llvm::DenseMap<mlir::StringAttr, unsigned> nextValue, nextNode;
};

/// The graph dictionary of a function's or region's graph; null when absent.
mlir::DictionaryAttr getGraphDictionary(mlir::Block *block);

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_NAMES_H
