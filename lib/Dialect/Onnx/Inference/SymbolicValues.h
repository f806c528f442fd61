//===- SymbolicValues.h - Values of shape arithmetic ----------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_INFERENCE_SYMBOLICVALUES_H
#define AMP_LIB_DIALECT_ONNX_INFERENCE_SYMBOLICVALUES_H

#include "OpFields.h"

namespace amp::onnx::detail {

/// What is known about the elements of int tensors of rank 0 and 1, found by
/// running the library's data propagation over the operations behind them.
/// Each value is computed once: shape arithmetic shares operands, and walking
/// every path would take exponential time.
class SymbolicValues {
public:
  SymbolicValues(TypeProtos &types, Schemas &schemas)
      : types(types), schemas(schemas) {}

  /// A dimension per element, without a value where nothing is known; null when
  /// even their number is not known (or exceeds `maxFollowedLength`).
  const ::onnx::TensorShapeProto *get(mlir::Value value);

  /// The value of `value` if `get` has computed it, else null.
  const ::onnx::TensorShapeProto *getComputed(mlir::Value value) const;

private:
  void compute(mlir::OpResult result);

  TypeProtos &types;
  Schemas &schemas;
  llvm::DenseMap<mlir::Value, std::unique_ptr<::onnx::TensorShapeProto>> known;
};

} // namespace amp::onnx::detail

#endif // AMP_LIB_DIALECT_ONNX_INFERENCE_SYMBOLICVALUES_H
