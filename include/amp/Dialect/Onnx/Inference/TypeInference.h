//===- TypeInference.h - Result types of onnx operations ------------------===//
//
// Runs the onnx library's inference functions over IR. Nothing here shows an onnx header.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_ONNX_INFERENCE_TYPEINFERENCE_H
#define AMP_DIALECT_ONNX_INFERENCE_TYPEINFERENCE_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

namespace amp::onnx {

/// Infers result types, op by op. Keeps memoised symbolic shape values, so one object serves one walk over a function in
/// program order; values may gain uses meanwhile but must not be erased.
class TypeInference {
public:
  TypeInference();
  ~TypeInference();

  /// Types of the results of schema op `op` (its operands' types and its regions' types are final; its own result types are
  /// ignored). An entry is null when nothing is known about that result. Text of the library's error on failure.
  llvm::Error infer(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Type> &types);

  /// Types that the arguments of region `region` of schema op `op` get from its operands (Loop, Scan, SequenceMap); `!onnx.unknown`
  /// where the operands do not tell. The region may still be empty. No types when the operator says nothing about them.
  llvm::Error inferRegionArguments(mlir::Operation *op, unsigned region, llvm::SmallVectorImpl<mlir::Type> &types);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The more specific of a declared and an inferred type, dimension by dimension (declared names win); null when they
/// contradict each other. Either may be null or `!onnx.unknown`.
mlir::Type mergeTypes(mlir::Type declared, mlir::Type inferred);

} // namespace amp::onnx

#endif // AMP_DIALECT_ONNX_INFERENCE_TYPEINFERENCE_H
