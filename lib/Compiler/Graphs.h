//===- Graphs.h - The functions that become entries -----------------------===//
//
// Private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_COMPILER_GRAPHS_H
#define AMP_LIB_COMPILER_GRAPHS_H

#include "amp/Compiler/Compiler.h"
#include "amp/Dialect/Train/Config/TrainingConfig.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <optional>

namespace amp {

/// Functions of primitives; each module has one or several.
using Graphs = std::vector<mlir::OwningOpRef<mlir::ModuleOp>>;

/// Makes the entries of `model` that the options ask for: train_step,
/// eval_step and infer; or infer alone; or the functions as they are.
mlir::FailureOr<Graphs>
buildGraphs(mlir::OwningOpRef<mlir::ModuleOp> model,
            const CompileOptions &options,
            const std::optional<train::TrainingConfig> &config);

/// The functions with a body, in order.
llvm::SmallVector<mlir::func::FuncOp> getFunctions(const Graphs &graphs);

} // namespace amp

#endif // AMP_LIB_COMPILER_GRAPHS_H
