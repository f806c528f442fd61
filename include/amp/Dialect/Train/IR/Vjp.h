//===- Vjp.h - What a gradient rule works with ----------------------------===//
//
// Cotangents in, cotangents out, and the builder to write the rule with.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_TRAIN_IR_VJP_H
#define AMP_DIALECT_TRAIN_IR_VJP_H

#include "amp/Dialect/Onnx/Utils/Expr.h"
#include "llvm/ADT/SmallBitVector.h"

namespace amp::train {

/// One application of a gradient rule to one operation. It is an OnnxBuilder,
/// so a rule reads as its formula: `vjp.set(0, vjp.mul(vjp.cotangent(0), y))`.
class Vjp : public onnx::OnnxBuilder {
public:
  Vjp(mlir::OpBuilder &builder, mlir::Operation *op,
      llvm::ArrayRef<mlir::Value> cotangents,
      const llvm::SmallBitVector &needed, bool wideWeights = true)
      : OnnxBuilder(builder, op->getLoc()), op(op), cotangents(cotangents),
        needed(needed), wideWeights(wideWeights),
        gradients(op->getNumOperands()) {}

  mlir::Operation *getOp() const { return op; }
  mlir::Value operand(unsigned index) const { return op->getOperand(index); }
  mlir::Value result(unsigned index) const { return op->getResult(index); }

  /// The cotangent of result `index`, in that result's type; null when zero.
  mlir::Value cotangent(unsigned index) const { return cotangents[index]; }
  /// The cotangent of a result, which may be absent.
  mlir::Value cotangentOf(mlir::Value result) const {
    if (!result)
      return mlir::Value();
    return cotangent(mlir::cast<mlir::OpResult>(result).getResultNumber());
  }
  // The same in float32 where they are half, for formulas that round more than
  // once: the result is rounded when it is handed over.
  onnx::Expr wideOperand(unsigned index) {
    return {*this, widen(operand(index))};
  }
  onnx::Expr wideResult(unsigned index) {
    return {*this, widen(result(index))};
  }
  onnx::Expr wideCotangent(unsigned index) {
    return {*this, widen(cotangent(index))};
  }

  /// Whether somebody asks for the cotangent of operand `index`.
  bool needs(unsigned index) const {
    return index < needed.size() && needed[index];
  }
  /// The cotangent of operand `index`.
  void set(unsigned index, mlir::Value gradient) {
    gradients[index] = gradient;
  }
  /// The cotangent of the operand at formal input `position`, if there is one
  /// and it is asked for.
  void setFormal(unsigned position, mlir::Value gradient);
  /// Hands over the cotangent of operand `index` from a `gradient` that has the
  /// shape the operand was broadcast to, and may be wide: sums the broadcast
  /// dimensions in float32 and rounds once to `getGradientType`.
  void setSummed(unsigned index, mlir::Value gradient);
  /// Whether `setSummed` would sum a tensor of the shape of `like`.
  bool sums(unsigned index, mlir::Value like) const {
    return onnx::getStaticShape(operand(index)) != onnx::getStaticShape(like);
  }
  /// The element type that the cotangent of operand `index` is made in: the
  /// operand's, but float32 for weights of a half type.
  mlir::Type getGradientType(unsigned index) const;
  /// Whether operand `index` is a parameter, seen through casts and data
  /// movement: its gradient is made in float32. Never with
  /// `half-weight-gradients`.
  bool isWeight(unsigned index) const;
  llvm::ArrayRef<mlir::Value> getGradients() const { return gradients; }

private:
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> cotangents;
  const llvm::SmallBitVector &needed;
  bool wideWeights;
  llvm::SmallVector<mlir::Value> gradients;
};

} // namespace amp::train

#endif // AMP_DIALECT_TRAIN_IR_VJP_H
