//===- RegisterOps.h - Registration of the generated operations -----------===//
//
// One function per file of operations; private to this library.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_DIALECT_ONNX_IR_REGISTEROPS_H
#define AMP_LIB_DIALECT_ONNX_IR_REGISTEROPS_H

#include "mlir/IR/Dialect.h"
#include "mlir/IR/OperationSupport.h"

namespace amp::onnx::detail {

template <typename... Ops> void addAll(mlir::Dialect &dialect) {
  (mlir::RegisteredOperationName::insert<Ops>(dialect), ...);
}

void registerOpsAB(mlir::Dialect &dialect);
void registerOpsC(mlir::Dialect &dialect);
void registerOpsDEF(mlir::Dialect &dialect);
void registerOpsGHIJK(mlir::Dialect &dialect);
void registerOpsLMN(mlir::Dialect &dialect);
void registerOpsOPQ(mlir::Dialect &dialect);
void registerOpsR(mlir::Dialect &dialect);
void registerOpsSTUVWXYZ(mlir::Dialect &dialect);

} // namespace amp::onnx::detail

#endif // AMP_LIB_DIALECT_ONNX_IR_REGISTEROPS_H
