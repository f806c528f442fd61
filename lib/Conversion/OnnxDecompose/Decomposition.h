//===- Decomposition.h - What a decomposition rule works with -------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CONVERSION_ONNXDECOMPOSE_DECOMPOSITION_H
#define AMP_LIB_CONVERSION_ONNXDECOMPOSE_DECOMPOSITION_H

#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"
#include "llvm/ADT/StringMap.h"
#include <optional>

namespace amp::onnx {

/// One composite operation and the builder to write its parts with. Operands
/// and results are numbered by formal position.
class Decomposition : public OnnxBuilder {
public:
  Decomposition(mlir::OpBuilder &builder, mlir::Operation *op);

  mlir::Operation *getOp() const { return op; }

  /// The operand at `position`; null where absent.
  mlir::Value input(unsigned position) const {
    return position < inputs.size() ? inputs[position] : mlir::Value();
  }
  unsigned getNumInputs() const { return inputs.size(); }
  /// That operand in the type the operation computes in.
  mlir::Value wide(unsigned position) { return widen(input(position)); }
  /// Half types as f32, others as they are.
  mlir::Value widen(mlir::Value value);

  /// Whether somebody reads the result at `position`.
  bool wants(unsigned position) const;
  llvm::ArrayRef<int64_t> resultShape(unsigned position) const;
  /// `value`, rounded to the result's element type, is the result at
  /// `position`. A rule that sets no result leaves the operation alone.
  void set(unsigned position, mlir::Value value);

  /// Replaces the results. Fails with a diagnostic when a result that is read
  /// was not set, or has another shape than declared.
  mlir::LogicalResult replace();
  bool isSet() const { return llvm::is_contained(isSetFlags, true); }

  /// Elements of a constant operand; an error that names it when it is none.
  mlir::FailureOr<llvm::SmallVector<int64_t>> constantInts(unsigned position);
  /// The only element of a constant operand as a number; nothing if it is
  /// absent or not constant.
  std::optional<double> constantScalar(unsigned position);
  /// `axis` from the front; fails with a diagnostic when out of range.
  mlir::FailureOr<int64_t> axisOf(int64_t axis, int64_t rank);
  mlir::InFlightDiagnostic emitError();

  // What several families are made of. Operands are wide.
  mlir::Value reduceSum(mlir::Value value, llvm::ArrayRef<int64_t> axes) {
    return reduce("ReduceSum", value, axes);
  }
  mlir::Value reduceMean(mlir::Value value, llvm::ArrayRef<int64_t> axes) {
    return reduce("ReduceMean", value, axes);
  }
  mlir::Value greater(mlir::Value a, double b) {
    return create("Greater", {a, scalarLike(b, a)});
  }
  mlir::Value less(mlir::Value a, double b) {
    return create("Less", {a, scalarLike(b, a)});
  }
  mlir::Value addScalar(mlir::Value a, double b) {
    return b == 0 ? a : add(a, scalarLike(b, a));
  }
  /// min(max(value, low), high)
  mlir::Value clamp(mlir::Value value, double low, double high);
  /// exp(x) - 1 without cancellation near 0: tanh(x/2) (exp(x) + 1).
  mlir::Value expMinusOne(mlir::Value x);
  /// log(1 + u) for u >= 0, precise for small u.
  mlir::Value logOnePlus(mlir::Value u);
  /// log(1 + exp(x))
  mlir::Value softplus(mlir::Value x);
  /// 1 / sqrt(value + epsilon)
  mlir::Value inverseRoot(mlir::Value value, double epsilon);
  /// softmax over `axis`.
  mlir::Value softmax(mlir::Value value, int64_t axis);
  /// A one-dimensional value of `channels` as one that broadcasts along
  /// dimension `axis` of `rank` dimensions.
  mlir::Value alongAxis(mlir::Value value, int64_t axis, int64_t rank);
  /// A product with leading batch dimensions. `wideResult`: leave a half
  /// product in f32.
  mlir::Value product(mlir::Value a, mlir::Value b, bool transA = false,
                      bool transB = false, bool wideResult = false);

private:
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> outputs;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<bool> isSetFlags;
};

using DecompositionRule =
    std::function<mlir::LogicalResult(mlir::Operation *, Decomposition &)>;

/// Rules by operation name ("onnx.Softmax").
class RuleTable {
public:
  template <typename OpTy>
  void add(mlir::LogicalResult (*rule)(OpTy, Decomposition &)) {
    rules[OpTy::getOperationName()] = [rule](mlir::Operation *op,
                                             Decomposition &d) {
      return rule(mlir::cast<OpTy>(op), d);
    };
  }
  const DecompositionRule *lookup(mlir::Operation *op) const {
    auto found = rules.find(op->getName().getStringRef());
    return found == rules.end() ? nullptr : &found->second;
  }
  bool contains(llvm::StringRef name) const { return rules.contains(name); }

private:
  llvm::StringMap<DecompositionRule> rules;
};

// The families, one file each.
void addActivationRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addContractionRules(RuleTable &table);
void addEinsumRules(RuleTable &table);
void addLossRules(RuleTable &table);
void addMovementRules(RuleTable &table);
void addNormalizationRules(RuleTable &table);
void addRandomRules(RuleTable &table);
void addRecurrentRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addResizeRules(RuleTable &table);
void addSoftmaxRules(RuleTable &table);

} // namespace amp::onnx

#endif // AMP_LIB_CONVERSION_ONNXDECOMPOSE_DECOMPOSITION_H
