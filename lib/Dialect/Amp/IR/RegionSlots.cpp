//===- RegionSlots.cpp - Which value crosses a region border where --------===//
//
// Operand, argument, yielded value and result of ops with bodies, matched up.
//
//===----------------------------------------------------------------------===//

#include "amp/Dialect/Amp/IR/RegionSlots.h"
#include "amp/Dialect/Amp/IR/AmpDialect.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.GHIJK.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.LMN.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"

using namespace mlir;
using namespace amp;

/// Body arguments of Loop before the carried ones: iteration and condition.
static constexpr unsigned numLoopControlArguments = 2;
/// Yielded values of Loop before the carried ones: the condition.
static constexpr unsigned numLoopControlYields = 1;

OpOperand *amp::getOperandOfArgument(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  unsigned index = argument.getArgNumber();
  if (auto loop = dyn_cast<onnx::LoopOp>(op)) {
    auto [first, count] = loop.getODSOperandIndexAndLength(2);
    unsigned carried = index - numLoopControlArguments;
    return index >= numLoopControlArguments && carried < count
               ? &op->getOpOperand(first + carried)
               : nullptr;
  }
  if (isa<onnx::ScanOp, onnx::SequenceMapOp>(op))
    return index < op->getNumOperands() ? &op->getOpOperand(index) : nullptr;
  return nullptr;
}

OpResult amp::getResultOfYielded(OpOperand &operand) {
  Operation *op = operand.getOwner()->getParentOp();
  unsigned index = operand.getOperandNumber();
  if (isa<onnx::LoopOp>(op)) {
    if (index < numLoopControlYields)
      return {};
    index -= numLoopControlYields;
  } else if (!isa<onnx::IfOp, onnx::ScanOp, onnx::SequenceMapOp, AutocastOp>(
                 op)) {
    return {};
  }
  return index < op->getNumResults() ? op->getResult(index) : OpResult();
}

BlockArgument amp::getCarriedArgument(OpOperand &yielded) {
  Operation *op = yielded.getOwner()->getParentOp();
  Block *body = yielded.getOwner()->getBlock();
  unsigned index = yielded.getOperandNumber();
  if (isa<onnx::LoopOp>(op)) {
    if (index < numLoopControlYields)
      return {};
    unsigned argument = index - numLoopControlYields + numLoopControlArguments;
    return argument < body->getNumArguments() ? body->getArgument(argument)
                                              : BlockArgument();
  }
  auto scan = dyn_cast<onnx::ScanOp>(op);
  if (!scan)
    return {};
  int64_t numStates = int64_t(op->getNumOperands()) - scan.getNumScanInputs();
  return index < numStates && index < body->getNumArguments()
             ? body->getArgument(index)
             : BlockArgument();
}
