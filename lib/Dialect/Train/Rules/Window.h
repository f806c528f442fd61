//===- Window.h - The window of a convolution or pooling ------------------===//
//
// ONNX leaves most of it implicit; gradient operations have it all explicit.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_TRAIN_RULES_WINDOW_H
#define AMP_LIB_DIALECT_TRAIN_RULES_WINDOW_H

#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::train {

/// A window that slides over spatial dimensions; pads as in ONNX.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, pads;

  /// What the kernel covers of dimension `i`.
  int64_t extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }

  /// Splits `total` padding of dimension `i` as `autoPad` says.
  void splitPads(size_t i, int64_t total, bool moreAtStart) {
    total = std::max<int64_t>(total, 0);
    pads[i] = moreAtStart ? total - total / 2 : total / 2;
    pads[i + kernel.size()] = total - pads[i];
  }
};

/// The attributes of `op` with their defaults; padding as written.
template <typename OpTy>
Window readWindow(OpTy op, llvm::ArrayRef<int64_t> kernel) {
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  auto read = [](std::optional<llvm::ArrayRef<int64_t>> values, size_t size,
                 int64_t value) {
    return values ? llvm::SmallVector<int64_t>(*values)
                  : llvm::SmallVector<int64_t>(size, value);
  };
  window.strides = read(op.getStrides(), kernel.size(), 1);
  window.dilations = read(op.getDilations(), kernel.size(), 1);
  window.pads = read(op.getPads(), 2 * kernel.size(), 0);
  return window;
}

/// The window of an operation that reads `input` through it (Conv, pooling),
/// automatic padding resolved.
template <typename OpTy>
Window getWindow(OpTy op, mlir::Value input, llvm::ArrayRef<int64_t> kernel) {
  Window window = readWindow(op, kernel);
  llvm::StringRef autoPad = op.getAutoPad();
  if (autoPad == "VALID")
    window.pads.assign(2 * kernel.size(), 0);
  if (!autoPad.starts_with("SAME"))
    return window;
  llvm::ArrayRef<int64_t> shape = onnx::getStaticShape(input).drop_front(2);
  for (size_t i = 0; i < kernel.size(); ++i) {
    int64_t stride = window.strides[i];
    int64_t size = (shape[i] + stride - 1) / stride;
    window.splitPads(i, (size - 1) * stride + window.extent(i) - shape[i],
                     /*moreAtStart=*/autoPad == "SAME_LOWER");
  }
  return window;
}

} // namespace amp::train

#endif // AMP_LIB_DIALECT_TRAIN_RULES_WINDOW_H
