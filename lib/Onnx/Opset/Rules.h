//===- Rules.h - Rules that the rows of the opset table name ----*- C++ -*-===//
// One declaration per rule, by file.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ONNX_OPSET_RULES_H
#define AMP_LIB_ONNX_OPSET_RULES_H

#include "Rewriter.h"

namespace amp::onnx_opset {

// Axes.cpp: axes, sizes and counts that moved between attributes and inputs.
llvm::Error lowerAxisSign(Rewriter &rewriter);
llvm::Error lowerDft(Rewriter &rewriter);
llvm::Error lowerReduceAxes(Rewriter &rewriter);
llvm::Error lowerReshape(Rewriter &rewriter);
llvm::Error lowerSlice(Rewriter &rewriter);
llvm::Error lowerSliceSteps(Rewriter &rewriter);
llvm::Error lowerSplitAxis(Rewriter &rewriter);
llvm::Error lowerSplitCount(Rewriter &rewriter);
llvm::Error lowerSplitSizes(Rewriter &rewriter);
llvm::Error lowerSqueezeAxes(Rewriter &rewriter);
llvm::Error lowerTopK(Rewriter &rewriter);
llvm::Error lowerTopKOrder(Rewriter &rewriter);
llvm::Error lowerUnsqueezeSign(Rewriter &rewriter);
llvm::Error raiseDft(Rewriter &rewriter);
llvm::Error raiseReduceAxes(Rewriter &rewriter);
llvm::Error raiseReshape(Rewriter &rewriter);
llvm::Error raiseSlice(Rewriter &rewriter);
llvm::Error raiseSplitAxis(Rewriter &rewriter);
llvm::Error raiseSplitCount(Rewriter &rewriter);
llvm::Error raiseSplitSizes(Rewriter &rewriter);
llvm::Error raiseSqueezeAxes(Rewriter &rewriter);
llvm::Error raiseTopK(Rewriter &rewriter);

// Steps.cpp
/// The rule for what has no equivalent on the other side.
llvm::Error refuse(Rewriter &rewriter);

} // namespace amp::onnx_opset

#endif // AMP_LIB_ONNX_OPSET_RULES_H
