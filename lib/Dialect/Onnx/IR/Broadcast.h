//===- Broadcast.h - Numpy's broadcasting of small constants --------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_IR_BROADCAST_H
#define AMP_LIB_DIALECT_ONNX_IR_BROADCAST_H

#include "SmallTensor.h"

namespace amp::onnx::detail {

/// Which elements of the operands make each element of a broadcast result.
struct Broadcast {
  llvm::SmallVector<int64_t> shape;
  int64_t count;

  /// std::nullopt when the shapes do not fit or the result is not small.
  static std::optional<Broadcast>
  get(llvm::ArrayRef<const SmallTensor *> operands);

  /// Index into each operand for result element `index`.
  llvm::SmallVector<size_t, 3> getSources(int64_t index) const;

private:
  /// Per operand and result dimension: elements to move on; 0 where repeated.
  llvm::SmallVector<llvm::SmallVector<int64_t>, 3> strides;
};

} // namespace amp::onnx::detail

#endif // AMP_LIB_DIALECT_ONNX_IR_BROADCAST_H
