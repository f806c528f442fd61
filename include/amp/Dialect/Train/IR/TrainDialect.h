//===- TrainDialect.h - The train dialect ---------------------------------===//
//
// Gradient, loss-scaling and update operations, and the roles of values.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_DIALECT_TRAIN_IR_TRAINDIALECT_H
#define AMP_DIALECT_TRAIN_IR_TRAINDIALECT_H

#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/Vjp.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "amp/Dialect/Train/IR/TrainDialect.h.inc"
#include "amp/Dialect/Train/IR/TrainEnums.h.inc"
#include "amp/Dialect/Train/IR/TrainInterfaces.h.inc"

#define GET_OP_CLASSES
#include "amp/Dialect/Train/IR/TrainOps.h.inc"

namespace amp::train {

/// What an argument or result of a step function is. Spelled in snake_case in
/// `train.role`.
enum class Role {
  Input,          ///< batch data the model reads
  Label,          ///< batch data only the loss reads
  Parameter,      ///< float32 master weight, trained
  Buffer,         ///< state of the model that is not trained (running mean)
  OptimizerState, ///< `train.of` names the parameter; momentum_buffer, exp_avg
  ScalerState,    ///< scale, growth_tracker, ...
  Counter,        ///< applied steps, iterations, random offset
  Hyper,          ///< rank-0 f32 the host may set between steps: lr, ...
  Loss,           ///< unscaled loss, f32, rank 0
  Output,         ///< the model's own output
  Gradient,       ///< `train.of` names the parameter
  Metric,         ///< found_inf, grad_norm, ...
};

/// The spelling in `train.role` ("optimizer_state").
llvm::StringRef getRoleName(Role role);
std::optional<Role> parseRole(llvm::StringRef name);

/// The role of argument or result `index` of a function, if it has one.
std::optional<Role> getArgumentRole(mlir::func::FuncOp function,
                                    unsigned index);
std::optional<Role> getResultRole(mlir::func::FuncOp function, unsigned index);

} // namespace amp::train

#endif // AMP_DIALECT_TRAIN_IR_TRAINDIALECT_H
