//===- Expr.h - Formulas over tensor values -------------------------------===//
//
// Arithmetic operators that build onnx operations: `g * (1 - y * y)`.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_UTILS_EXPR_H
#define AMP_DIALECT_ONNX_UTILS_EXPR_H

#include "amp/Dialect/Onnx/Utils/OnnxBuilder.h"

namespace amp::onnx {

/// A value of a formula. Each operator builds one operation; a number beside a
/// value becomes a rank-0 constant of the value's element type.
class Expr {
public:
  Expr(OnnxBuilder &builder, mlir::Value value)
      : builder(&builder), value(value) {}

  operator mlir::Value() const { return value; }
  /// The operator `name` of one operand.
  Expr apply(llvm::StringRef name) const {
    return {*builder, builder->unary(name, value)};
  }
  /// The operator `name` of `value` and `other`.
  Expr apply(llvm::StringRef name, mlir::Value other) const {
    return {*builder, builder->create(name, {value, other})};
  }
  Expr apply(llvm::StringRef name, double other) const {
    return apply(name, number(other));
  }
  /// The number `number` in this value's element type.
  Expr number(double number) const {
    return {*builder, builder->scalarLike(number, value)};
  }

  Expr operator-() const { return apply("Neg"); }
  friend Expr operator+(Expr a, Expr b) { return a.apply("Add", b); }
  friend Expr operator-(Expr a, Expr b) { return a.apply("Sub", b); }
  friend Expr operator*(Expr a, Expr b) { return a.apply("Mul", b); }
  friend Expr operator/(Expr a, Expr b) { return a.apply("Div", b); }
  friend Expr operator+(Expr a, double b) { return a + a.number(b); }
  friend Expr operator-(Expr a, double b) { return a - a.number(b); }
  friend Expr operator*(Expr a, double b) { return a * a.number(b); }
  friend Expr operator/(Expr a, double b) { return a / a.number(b); }
  friend Expr operator+(double a, Expr b) { return b.number(a) + b; }
  friend Expr operator-(double a, Expr b) { return b.number(a) - b; }
  friend Expr operator*(double a, Expr b) { return b.number(a) * b; }
  friend Expr operator/(double a, Expr b) { return b.number(a) / b; }

  friend Expr exp(Expr a) { return a.apply("Exp"); }
  friend Expr sqrt(Expr a) { return a.apply("Sqrt"); }
  friend Expr abs(Expr a) { return a.apply("Abs"); }
  friend Expr tanh(Expr a) { return a.apply("Tanh"); }
  friend Expr sigmoid(Expr a) { return a.apply("Sigmoid"); }

  // Comparisons build tensors of i1.
  friend Expr operator>(Expr a, Expr b) { return a.apply("Greater", b); }
  friend Expr operator<(Expr a, Expr b) { return a.apply("Less", b); }
  friend Expr operator>(Expr a, double b) { return a > a.number(b); }
  friend Expr operator<(Expr a, double b) { return a < a.number(b); }
  friend Expr operator>=(Expr a, Expr b) {
    return a.apply("GreaterOrEqual", b);
  }
  friend Expr operator<=(Expr a, Expr b) { return a.apply("LessOrEqual", b); }
  friend Expr operator>=(Expr a, double b) { return a >= a.number(b); }
  friend Expr operator<=(Expr a, double b) { return a <= a.number(b); }
  friend Expr equal(Expr a, Expr b) { return a.apply("Equal", b); }
  friend Expr equal(Expr a, double b) { return equal(a, a.number(b)); }
  friend Expr operator&(Expr a, Expr b) { return a.apply("And", b); }
  friend Expr operator|(Expr a, Expr b) { return a.apply("Or", b); }

  /// `a` where `condition` holds, else `b`.
  friend Expr select(Expr condition, Expr a, Expr b) {
    return {*a.builder, a.builder->where(condition, a, b)};
  }
  friend Expr select(Expr condition, Expr a, double b) {
    return select(condition, a, a.number(b));
  }
  friend Expr select(Expr condition, double a, Expr b) {
    return select(condition, b.number(a), b);
  }

private:
  OnnxBuilder *builder;
  mlir::Value value;
};

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_UTILS_EXPR_H
