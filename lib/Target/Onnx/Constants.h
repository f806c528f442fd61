//===- Constants.h - Constants that leave in a narrower type ----*- C++ -*-===//
// Decides which casts of constants are carried out while the file is written.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_TARGET_ONNX_CONSTANTS_H
#define AMP_LIB_TARGET_ONNX_CONSTANTS_H

#include "WireBuffer.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"

namespace amp::onnx_export {

/// How an amp.cast is written.
enum class CastForm : uint8_t {
  /// As a Cast node.
  Node,
  /// Not at all: the constant it reads is written in the narrow type.
  Merged,
  /// As a constant of its own.
  Copy
};

/// A constant that is written in another type than it has.
struct Narrowing {
  mlir::Type elementType;
  HalfRange range;

  HalfFormat getFormat() const {
    return elementType.isF16() ? HalfFormat::Float16 : HalfFormat::BFloat16;
  }
};

/// The casts and constants of a function. A constant is an onnx.initializer or
/// an onnx.Constant.
class ConstantPlan {
public:
  void build(mlir::func::FuncOp function);

  CastForm getForm(CastOp cast) const { return forms.lookup(cast); }

  /// How a constant is narrowed, if it is.
  const Narrowing *getNarrowing(mlir::Operation *constant) const {
    auto found = narrowed.find(constant);
    return found == narrowed.end() ? nullptr : &found->second;
  }

  /// The type a value has in the file.
  mlir::Type getType(mlir::Value value) const;

private:
  void decide(mlir::Operation *constant);

  llvm::DenseMap<mlir::Operation *, CastForm> forms;
  llvm::DenseMap<mlir::Operation *, Narrowing> narrowed;
};

/// The tensor of a constant: its `value`, or the float32 number or list of an
/// onnx.Constant; null for other constants.
mlir::ElementsAttr getTensorValue(mlir::Operation *constant);

} // namespace amp::onnx_export

#endif // AMP_LIB_TARGET_ONNX_CONSTANTS_H
