//===- Rules.h - Rules that the rows of the opset table name ----*- C++ -*-===//
// One declaration per rule, by file.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_ONNX_OPSET_RULES_H
#define AMP_LIB_ONNX_OPSET_RULES_H

#include "Rewriter.h"

namespace amp::onnx_opset {

// Attributes.cpp: attributes that came, went or changed meaning.
llvm::Error lowerCastName(Rewriter &rewriter);
llvm::Error lowerConstantValue(Rewriter &rewriter);
llvm::Error lowerDilations(Rewriter &rewriter);
llvm::Error lowerGridSample(Rewriter &rewriter);
llvm::Error lowerGru(Rewriter &rewriter);
llvm::Error lowerNorm(Rewriter &rewriter);
llvm::Error lowerOutputSequence(Rewriter &rewriter);
llvm::Error lowerQuantizationAxis(Rewriter &rewriter);
llvm::Error lowerRangePrecision(Rewriter &rewriter);
llvm::Error lowerReduction(Rewriter &rewriter);
llvm::Error lowerRoiAlign(Rewriter &rewriter);
llvm::Error lowerRoundMode(Rewriter &rewriter);
llvm::Error lowerSaturate(Rewriter &rewriter);
llvm::Error lowerScatterElements(Rewriter &rewriter);
llvm::Error lowerSelu(Rewriter &rewriter);
llvm::Error lowerStorageOrder(Rewriter &rewriter);
llvm::Error raiseCastName(Rewriter &rewriter);
llvm::Error raiseConcatAxis(Rewriter &rewriter);
llvm::Error raiseConsumed(Rewriter &rewriter);
llvm::Error raiseGridSample(Rewriter &rewriter);
llvm::Error raiseGru(Rewriter &rewriter);
llvm::Error raiseNorm(Rewriter &rewriter);
llvm::Error raiseOutputSequence(Rewriter &rewriter);
llvm::Error raiseRoiAlign(Rewriter &rewriter);
llvm::Error raiseScatter(Rewriter &rewriter);
llvm::Error raiseSelu(Rewriter &rewriter);
llvm::Error recheck(Rewriter &rewriter);

// Axes.cpp: axes, sizes and counts that moved between attributes and inputs.
llvm::Error lowerAxisSign(Rewriter &rewriter);
llvm::Error lowerDft(Rewriter &rewriter);
llvm::Error lowerReduceAxes(Rewriter &rewriter);
llvm::Error lowerReshape(Rewriter &rewriter);
llvm::Error lowerShapeRange(Rewriter &rewriter);
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

// Broadcast.cpp: broadcasting before opsets 7 and 8.
llvm::Error lowerBroadcast(Rewriter &rewriter);
llvm::Error lowerEqualShapes(Rewriter &rewriter);
llvm::Error lowerGemmBroadcast(Rewriter &rewriter);
llvm::Error lowerGemmC(Rewriter &rewriter);
llvm::Error lowerPRelu(Rewriter &rewriter);
llvm::Error lowerTile(Rewriter &rewriter);
llvm::Error raiseBroadcast(Rewriter &rewriter);
llvm::Error raiseGemmBroadcast(Rewriter &rewriter);
llvm::Error raisePRelu(Rewriter &rewriter);
llvm::Error raiseTile(Rewriter &rewriter);

// ClipPad.cpp: Clip and Pad.
llvm::Error lowerClip(Rewriter &rewriter);
llvm::Error lowerPad(Rewriter &rewriter);
llvm::Error lowerPadAxes(Rewriter &rewriter);
llvm::Error lowerPadName(Rewriter &rewriter);
llvm::Error lowerPadWrap(Rewriter &rewriter);
llvm::Error raiseClip(Rewriter &rewriter);
llvm::Error raisePad(Rewriter &rewriter);
llvm::Error raisePadName(Rewriter &rewriter);

// Normalization.cpp: BatchNormalization, Dropout, GroupNormalization.
llvm::Error lowerBatchNormConsumed(Rewriter &rewriter);
llvm::Error lowerBatchNormIsTest(Rewriter &rewriter);
llvm::Error lowerBatchNormTraining(Rewriter &rewriter);
llvm::Error lowerDropoutIsTest(Rewriter &rewriter);
llvm::Error lowerDropoutMask(Rewriter &rewriter);
llvm::Error lowerDropoutRatio(Rewriter &rewriter);
llvm::Error lowerGroupNorm(Rewriter &rewriter);
llvm::Error raiseBatchNormIsTest(Rewriter &rewriter);
llvm::Error raiseBatchNormSpatial(Rewriter &rewriter);
llvm::Error raiseBatchNormTraining(Rewriter &rewriter);
llvm::Error raiseDropoutIsTest(Rewriter &rewriter);
llvm::Error raiseDropoutMask(Rewriter &rewriter);
llvm::Error raiseDropoutRatio(Rewriter &rewriter);
llvm::Error raiseGroupNorm(Rewriter &rewriter);

// Resize.cpp: Upsample and Resize.
llvm::Error lowerResizeAxes(Rewriter &rewriter);
llvm::Error lowerResizeCoordinates(Rewriter &rewriter);
llvm::Error lowerResizeInputs(Rewriter &rewriter);
llvm::Error lowerResizeSymmetric(Rewriter &rewriter);
llvm::Error lowerResizeToUpsample(Rewriter &rewriter);
llvm::Error lowerUpsampleInput(Rewriter &rewriter);
llvm::Error lowerUpsampleScales(Rewriter &rewriter);
llvm::Error raiseResizeCoordinates(Rewriter &rewriter);
llvm::Error raiseResizeInputs(Rewriter &rewriter);
llvm::Error raiseUpsample(Rewriter &rewriter);
llvm::Error raiseUpsampleInput(Rewriter &rewriter);
llvm::Error raiseUpsampleScales(Rewriter &rewriter);

// Softmax.cpp: Softmax, LogSoftmax and Hardmax before opset 13.
llvm::Error lowerSoftmax(Rewriter &rewriter);
llvm::Error raiseSoftmax(Rewriter &rewriter);

// Steps.cpp
/// The rule for what has no equivalent on the other side.
llvm::Error refuse(Rewriter &rewriter);

} // namespace amp::onnx_opset

#endif // AMP_LIB_ONNX_OPSET_RULES_H
