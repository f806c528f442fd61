//===- Lint.h - What would go wrong in half -------------------------------===//
//
// The rules of amp-lint and what they share.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_AMP_TRANSFORMS_LINT_H
#define AMP_LIB_DIALECT_AMP_TRANSFORMS_LINT_H

#include "amp/Dialect/Amp/Policy/OpFacts.h"
#include "amp/Support/HalfConversion.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace amp::lint {

/// Something that would go wrong.
struct Finding {
  /// The rule's name, as in `docs/lint.md`.
  llvm::StringLiteral rule;
  mlir::Operation *op;
  std::string message;
};

/// Runs all rules on one function.
class Linter {
public:
  Linter(mlir::func::FuncOp function, HalfFormat format, const OpFacts &facts,
         std::vector<Finding> &findings)
      : function(function), format(format), facts(facts), findings(findings) {}

  void run();

private:
  /// LintConstants.cpp: constants that vanish or become infinite.
  void checkGuards();
  void checkMasks();
  void checkWeights();
  /// LintSums.cpp: sums of more elements than the type can count.
  void checkSums();
  /// LintPositions.cpp: positions computed with in half.
  void checkPositions();

  void checkGuard(mlir::Operation *holder);
  mlir::Operation *findProtected(mlir::Value value);
  llvm::DenseSet<mlir::Operation *> findSoftmaxFeeders();

  void report(llvm::StringLiteral rule, mlir::Operation *op,
              const llvm::Twine &message);
  bool isFloat16() const { return format == HalfFormat::Float16; }
  llvm::StringRef getTypeName() const { return isFloat16() ? "f16" : "bf16"; }
  /// Integers up to this are exact.
  int64_t getMaxExactInteger() const { return isFloat16() ? 2048 : 256; }

  mlir::func::FuncOp function;
  HalfFormat format;
  const OpFacts &facts;
  std::vector<Finding> &findings;
  /// Constants that a rule has spoken about.
  llvm::DenseSet<mlir::Value> reportedConstants;
};

/// What to call a node: its name and operator.
std::string describe(mlir::Operation *op);

/// Whether `op` gives the elements of its first operand in another order,
/// shape, number or type.
bool isTransparent(mlir::Operation *op);

/// The one value all elements of a float32 constant have.
std::optional<float> getSplatValue(mlir::Value constant);

/// The value in the half type.
float roundToHalf(float value, HalfFormat format);

/// A short decimal: 1e-12.
std::string formatFloat(float value);

} // namespace amp::lint

#endif // AMP_LIB_DIALECT_AMP_TRANSFORMS_LINT_H
