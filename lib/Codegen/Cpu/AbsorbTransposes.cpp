//===- AbsorbTransposes.cpp - Transposes around matrix products -----------===//
//
// matmul(transpose(a), b) and transpose(matmul(a, b)), of the last two
// dimensions.
//
//===----------------------------------------------------------------------===//

#include "AbsorbTransposes.h"
#include "amp/Dialect/Onnx/IR/OnnxOps.STUVWXYZ.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;
using train::MatMulOp;

/// What `value` is the transpose of, if only the last two dimensions are
/// swapped.
static Value getSwapped(Value value) {
  auto transpose = value.getDefiningOp<onnx::TransposeOp>();
  if (!transpose)
    return Value();
  Value input = transpose.getData();
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  auto permutation = transpose.getPerm();
  if (rank < 2 || (!permutation && rank != 2))
    return Value();
  if (!permutation)
    return input;
  SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(swapped[rank - 1], swapped[rank - 2]);
  return llvm::equal(*permutation, swapped) ? input : Value();
}

static void eraseIfUnused(Operation *op) {
  if (op && op->use_empty())
    op->erase();
}

/// matmul(transpose(a), b) -> matmul(a, b) {transA}
static void absorbOperands(MatMulOp op) {
  auto flip = [&](OpOperand &operand, bool isSet) {
    Value input = getSwapped(operand.get());
    if (!input)
      return isSet;
    Operation *transpose = operand.get().getDefiningOp();
    operand.set(input);
    eraseIfUnused(transpose);
    return !isSet;
  };
  op.setTransA(flip(op.getAMutable(), op.getTransA()));
  op.setTransB(flip(op.getBMutable(), op.getTransB()));
}

/// transpose(matmul(a, b)) -> matmul(b, a) with both flags turned
static void absorbResult(MatMulOp op) {
  if (!op->hasOneUse())
    return;
  auto transpose = dyn_cast<onnx::TransposeOp>(*op->user_begin());
  if (!transpose || getSwapped(transpose.getResult()) != op.getResult())
    return;
  OpBuilder builder(op);
  bool transA = !op.getTransB(), transB = !op.getTransA();
  auto turned = MatMulOp::create(builder, op.getLoc(), transpose.getType(),
                                 op.getB(), op.getA(), transA, transB);
  transpose.replaceAllUsesWith(turned.getResult());
  transpose.erase();
  op.erase();
}

void amp::cpu::absorbTransposes(func::FuncOp function) {
  for (MatMulOp op : llvm::to_vector(function.getOps<MatMulOp>())) {
    absorbOperands(op);
    absorbResult(op);
  }
}
