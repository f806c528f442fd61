//===- MovementKernels.h - Kernels of single operations -------------------===//
//
// What moves, selects and orders elements, and the copies other parts need.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_MOVEMENTKERNELS_H
#define AMP_CODEGEN_CPU_MOVEMENTKERNELS_H

#include "Emitter.h"
#include "amp/Codegen/Plan/Fusion.h"

namespace amp::cpu {

/// Adds the kernels of this room for everything that is not fused.
void addMovementKernels(KernelRegistry &registry);

// The parts of it, by file.
void addCopyKernels(KernelRegistry &registry);
void addGatherKernels(KernelRegistry &registry);
void addScatterKernels(KernelRegistry &registry);
void addGeneratorKernels(KernelRegistry &registry);
void addLineKernels(KernelRegistry &registry);
void addPoolingKernels(KernelRegistry &registry);

/// Copies `bytes` from the first buffer to the second. Operands are the
/// caller's.
KernelCall makeByteCopy(KernelModule &kernels, int64_t bytes);

/// Elements of `elementType` moved from one place to another over a space.
struct Movement {
  mlir::Type elementType;
  llvm::SmallVector<int64_t> sizes;
  plan::Access from;
  plan::Access to;
};

/// A movement from one tensor to another.
struct Move {
  mlir::Value from, to;
  Movement movement;
};

/// What Concat, Expand, Slice, Split, Tile and Transpose move; a diagnostic if
/// something that must be constant is not.
mlir::FailureOr<llvm::SmallVector<Move>> findMoves(mlir::Operation *op);

/// The call that moves elements from the first buffer to the second. Operands
/// are the caller's.
KernelCall makeMovement(KernelModule &kernels, Movement movement);

/// The integer type that an element's bits are moved in.
mlir::Type getBitsType(mlir::Type elementType);

/// The elements of an integer constant that `op` wants to know while code is
/// generated; a diagnostic if operand `index` is none. `what` names it.
mlir::FailureOr<llvm::SmallVector<int64_t>>
getConstantOperand(mlir::Operation *op, unsigned index, llvm::StringRef what);

/// Operand at formal position `index`, or null.
mlir::Value getInput(mlir::Operation *op, unsigned index);

int64_t getIntAttr(mlir::Operation *op, llvm::StringRef name,
                   int64_t otherwise);

/// `axis` counted from the front.
inline int64_t normalizeAxis(int64_t axis, int64_t rank) {
  return axis < 0 ? axis + rank : axis;
}

/// What an axis cuts a shape into: the product of the sizes before it, its
/// size, the product of those after it.
struct AxisSplit {
  int64_t before, size, after;
};
AxisSplit splitAtAxis(llvm::ArrayRef<int64_t> shape, int64_t axis);

/// A key for kernels that depend on numbers and types alone.
std::string makeKey(llvm::StringRef name, llvm::ArrayRef<int64_t> numbers,
                    llvm::ArrayRef<mlir::Type> types);

/// A kernel whose buffers are `operands`, called over `iterations`.
KernelCall makeKernelCall(KernelModule &kernels, llvm::StringRef key,
                          llvm::StringRef name,
                          llvm::ArrayRef<mlir::Value> operands,
                          int64_t iterations, int64_t grain,
                          KernelModule::Body body);

/// An index of `size` elements along an axis, loaded as i64: counted from the
/// end if negative, and kept within the axis whatever it is.
mlir::Value emitIndex(Emitter &e, mlir::Value pointer, mlir::Value address,
                      mlir::Type indexType, int64_t size);

mlir::Type getElement(mlir::Value value);

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_MOVEMENTKERNELS_H
