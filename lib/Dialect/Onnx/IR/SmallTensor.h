//===- SmallTensor.h - Constants that folders compute with ----------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_IR_SMALLTENSOR_H
#define AMP_LIB_DIALECT_ONNX_IR_SMALLTENSOR_H

#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace amp::onnx::detail {

/// A constant of at most 1 KiB: numbers or bools of 1 or at least 8 bits.
/// Folders compute with these and decline anything else, so that no fold makes
/// a model grow.
struct SmallTensor {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> shape;
  /// Bits of the elements in row-major order.
  llvm::SmallVector<llvm::APInt> elements;

  /// The constant behind `value`, if it is small.
  static std::optional<SmallTensor> get(mlir::Value value);

  /// Element `index` as a number; integers only, unsigned 64-bit ones beyond
  /// int64 excluded.
  std::optional<int64_t> getInt(size_t index) const;

  /// All elements as numbers, if `getInt` has each.
  std::optional<llvm::SmallVector<int64_t>> getInts() const;

  /// As a fold's result: null unless `type` is the type of this tensor (it may
  /// have an encoding) and the tensor is small.
  mlir::OpFoldResult getAs(mlir::Type type) const;
};

/// Number of elements of a shape; std::nullopt when a size is dynamic or there
/// are more than a SmallTensor may have.
std::optional<int64_t> countSmall(llvm::ArrayRef<int64_t> shape);

/// `operand` in place of `result`, if their types are the same. A result that
/// ends a graph stays: it gives a graph output its name.
mlir::OpFoldResult foldToOperand(mlir::OpResult result, mlir::Value operand);

/// `axis` counted from the front; std::nullopt when it is not in [-rank, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// Elements of a 1-D (or 0-D) int64 value as far as shape arithmetic tells
/// them: constants, and sizes taken from `Shape` of partly static types.
std::optional<llvm::SmallVector<std::optional<int64_t>>>
getPartialInts(mlir::Value value);

/// Those elements as a fold's result, if all are known.
mlir::OpFoldResult foldPartialInts(mlir::Value value);

/// Bounds of a slice along one axis of a given size, as numpy clamps them.
struct SliceRange {
  int64_t start, step, count;
};
/// std::nullopt for step 0 and where engines differ.
std::optional<SliceRange> clampSlice(int64_t size, int64_t start, int64_t end,
                                     int64_t step);

} // namespace amp::onnx::detail

#endif // AMP_LIB_DIALECT_ONNX_IR_SMALLTENSOR_H
