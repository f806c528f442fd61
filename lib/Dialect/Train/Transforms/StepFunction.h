//===- StepFunction.h - The signature of a step ---------------------------===//
//
// Adds arguments and results with their roles, and finds them by name.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_TRANSFORMS_STEPFUNCTION_H
#define AMP_LIB_DIALECT_TRAIN_TRANSFORMS_STEPFUNCTION_H

#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "llvm/Support/Regex.h"

namespace amp::train {

/// The name of an argument or result, empty when it has none.
llvm::StringRef getArgumentName(mlir::func::FuncOp function, unsigned index);
llvm::StringRef getResultName(mlir::func::FuncOp function, unsigned index);

/// The argument called `name`, or null.
mlir::BlockArgument findArgument(mlir::func::FuncOp function,
                                 llvm::StringRef name);

/// What is said about an argument or result.
struct ValueFacts {
  Role role;
  std::string name;
  /// The parameter it belongs to.
  std::string of = {};
  /// Of arguments: the value to start from.
  mlir::ElementsAttr init = {};
};

/// Appends an argument.
mlir::BlockArgument addArgument(mlir::func::FuncOp function,
                                mlir::RankedTensorType type,
                                const ValueFacts &facts);
/// Says what an argument that is there already is.
void setArgumentFacts(mlir::func::FuncOp function, unsigned index,
                      const ValueFacts &facts);
/// Inserts a result before result `index`.
void insertResult(mlir::func::FuncOp function, unsigned index,
                  mlir::Value value, const ValueFacts &facts);
/// Appends the new value of an argument, named `next.<its name>`.
void addNextValue(mlir::func::FuncOp function, mlir::BlockArgument argument,
                  mlir::Value value);
void eraseResult(mlir::func::FuncOp function, unsigned index);
/// Makes `values` the results, with their attributes.
void setResults(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values,
                llvm::ArrayRef<mlir::DictionaryAttr> attributes);
/// Erases arguments that nothing uses and nothing is written over, except
/// `kept`; the numbers of aliased ones follow.
void eraseUnusedArguments(mlir::func::FuncOp function,
                          mlir::BlockArgument kept = {});
/// The attributes of an argument or result.
mlir::DictionaryAttr getFactAttributes(mlir::MLIRContext *context,
                                       const ValueFacts &facts);

/// Reads the configuration of a pass; the errors are emitted at `op`.
llvm::FailureOr<TrainingConfig> loadConfig(mlir::Operation *op,
                                           llvm::StringRef option);

/// Regular expressions that match whole names.
class NamePatterns {
public:
  explicit NamePatterns(llvm::ArrayRef<std::string> patterns);

  bool empty() const { return patterns.empty(); }
  /// Whether some pattern matches.
  bool match(llvm::StringRef name);
  /// The patterns that matched nothing so far.
  std::vector<std::string> getUnused() const;

private:
  struct Pattern {
    std::string text;
    llvm::Regex regex;
    bool used = false;
  };
  std::vector<Pattern> patterns;
};

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_TRANSFORMS_STEPFUNCTION_H
