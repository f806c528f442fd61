//===- ConvOps.h - The convolution that an operation is -------------------===//
//
// Shapes of Conv, ConvTranspose and the gradients, read off the operations.
//
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOPS_H
#define AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOPS_H

#include "ConvShape.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.C.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

namespace amp::cpu {

ConvShape getConvShape(onnx::ConvOp op);
/// Of the convolution that is transposed: the operation's input is its y.
ConvShape getConvShape(onnx::ConvTransposeOp op);
ConvShape getConvShape(train::ConvInputGradientOp op);
ConvShape getConvShape(train::ConvWeightGradientOp op);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_CONTRACTION_CONVOPS_H
