//===- PtxCompiler.h - Kernels to PTX ---------------------------*- C++ -*-===//
// Lowers modules of kernels through LLVM's NVPTX target, in this process.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_BACKEND_PTXCOMPILER_H
#define AMP_CODEGEN_CUDA_BACKEND_PTXCOMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace amp::cuda {

/// What a context must know before kernels are built in it: the dialects that
/// kernels consist of, and how they become LLVM IR.
void registerBackend(mlir::DialectRegistry &registry);

/// One kernel as text that a driver or `ptxas` takes.
struct PtxKernel {
  std::string name;
  std::string ptx;
};

struct PtxOptions {
  /// The architecture the text is for: `sm_80` runs everywhere from there on,
  /// `sm_90a` on that chip alone.
  std::string chip = "sm_80";
  /// The version of the language: 8.0 is what drivers from CUDA 12.0 on read.
  std::string features = "+ptx80";
  unsigned threads = 1;
};

/// Compiles the kernels in `module` (a builtin.module or gpu.module, which is
/// consumed), one text for each function that has `nvvm.kernel`, in order.
/// Functions without it are inlined into those that call them. Nothing is
/// contracted or reassociated unless an operation's fast-math flags say so;
/// divisions and square roots are correctly rounded, subnormals are kept.
///
/// Says what failed and returns failure when a kernel does not lower, or calls
/// a function that does not exist on the device.
mlir::FailureOr<std::vector<PtxKernel>> compileToPtx(mlir::Operation *module,
                                                     const PtxOptions &options);

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_BACKEND_PTXCOMPILER_H
