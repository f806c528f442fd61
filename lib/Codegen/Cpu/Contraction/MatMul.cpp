//===- MatMul.cpp - Kernels of train.matmul -------------------------------===//
//
// Reads the operation's shapes as a batch of matrix products.
//
//===----------------------------------------------------------------------===//

#include "Convolution.h"
#include "Gemm.h"
#include "amp/Codegen/Cpu/Contraction.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

/// The last two dimensions of a tensor as matrices whose depth is the last one
/// or, with `depthFirst`, the one before.
static MatrixView viewMatrices(RankedTensorType type, bool depthFirst) {
  int64_t rank = type.getRank();
  int64_t outer = type.getDimSize(rank - 2), inner = type.getDimSize(rank - 1);
  MatrixView view;
  view.batches = llvm::product_of(type.getShape().drop_back(2));
  view.batchStride = outer * inner;
  view.rows = depthFirst ? inner : outer;
  view.depth = depthFirst ? outer : inner;
  view.rowStride = depthFirst ? 1 : inner;
  view.depthStride = depthFirst ? inner : 1;
  // Of one column or row, neighbours in memory are neighbours along k, too.
  if (inner == 1 && depthFirst)
    view.rowStride = outer;
  return view;
}

/// Strides of the operand's batch dimensions for those of the result.
static SmallVector<int64_t> getBatchStrides(RankedTensorType operand,
                                            ArrayRef<int64_t> batchShape) {
  SmallVector<int64_t> strides(batchShape.size(), 0);
  ArrayRef<int64_t> shape = operand.getShape().drop_back(2);
  int64_t stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size = shape[shape.size() - 1 - i];
    if (size != 1)
      strides[strides.size() - 1 - i] = stride;
    stride *= size;
  }
  return strides;
}

static FailureOr<KernelCalls>
emitMatMul(train::MatMulOp op, const CpuTarget &target, KernelModule &kernels) {
  RankedTensorType a = op.getA().getType(), b = op.getB().getType();
  RankedTensorType result = op.getType();
  GemmProblem problem;
  problem.a = viewMatrices(a, op.getTransA());
  problem.b = viewMatrices(b, !op.getTransB());
  problem.source = a.getElementType();
  problem.result = result.getElementType();
  problem.batchShape = llvm::to_vector(result.getShape().drop_back(2));
  problem.aBatchStrides = getBatchStrides(a, problem.batchShape);
  problem.bBatchStrides = getBatchStrides(b, problem.batchShape);
  return emitGemm(problem, op.getA(), op.getB(), op.getResult(), target,
                  kernels);
}

void amp::cpu::registerContractionKernels(KernelRegistry &registry,
                                          const CpuTarget &target) {
  registry.add(train::MatMulOp::getOperationName(),
               [target](Operation *op, KernelModule &kernels) {
                 return emitMatMul(cast<train::MatMulOp>(op), target, kernels);
               });
  registerConvolutionKernels(registry, target);
}
