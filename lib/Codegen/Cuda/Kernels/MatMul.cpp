//===- MatMul.cpp - Kernels of train.matmul -------------------------------===//
//
// Reads the operation's shapes as a batch of matrix products.
//
//===----------------------------------------------------------------------===//

#include "MatMul.h"
#include "Convolution.h"
#include "GroupKernels.h"
#include "MoveKernel.h"
#include "amp/Codegen/Cuda/Kernels.h"

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

/// Strides of a tensor's batch dimensions for those of the result, 0 where it
/// is the same for all.
static SmallVector<int64_t> getBatchStrides(RankedTensorType type,
                                            size_t numDimensions) {
  SmallVector<int64_t> strides(numDimensions, 0);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t stride = shape[shape.size() - 1] * shape[shape.size() - 2];
  shape = shape.drop_back(2);
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size = shape[shape.size() - 1 - i];
    if (size != 1)
      strides[strides.size() - 1 - i] = stride;
    stride *= size;
  }
  return strides;
}

/// Joins neighbouring batch dimensions where all tensors allow it, and drops
/// those of size 1.
static void collapseBatch(Product &product) {
  SmallVector<int64_t> *all[] = {&product.a.batchStrides,
                                 &product.b.batchStrides,
                                 &product.to.batchStrides};
  for (size_t d = product.batch.size(); d-- > 0;) {
    bool isLast = d + 1 == product.batch.size();
    bool joins =
        product.batch[d] == 1 ||
        (!isLast && llvm::all_of(all, [&](auto *strides) {
          return (*strides)[d] == (*strides)[d + 1] * product.batch[d + 1];
        }));
    if (!joins)
      continue;
    if (!isLast)
      product.batch[d + 1] *= product.batch[d];
    product.batch.erase(product.batch.begin() + d);
    for (auto *strides : all)
      strides->erase(strides->begin() + d);
  }
}

/// A batch that shares b is one product with more rows.
static void foldBatch(Product &product) {
  if (product.batch.size() != 1 || product.b.batchStrides[0] != 0 ||
      product.a.depthFirst ||
      product.a.batchStrides[0] != product.m * product.k)
    return;
  product.m *= product.batch[0];
  product.a.extent = product.m;
  product.batch.clear();
  product.a.batchStrides.clear();
  product.b.batchStrides.clear();
  product.to.batchStrides.clear();
}

std::optional<Product> amp::cuda::describeMatMul(train::MatMulOp op) {
  RankedTensorType a = op.getA().getType(), b = op.getB().getType();
  RankedTensorType result = op.getType();
  int64_t rank = result.getRank();
  Product product;
  product.m = result.getDimSize(rank - 2);
  product.n = result.getDimSize(rank - 1);
  product.k = a.getDimSize(a.getRank() - (op.getTransA() ? 2 : 1));
  if (product.k == 0)
    return std::nullopt;
  product.a = {product.m, product.k, op.getTransA(), {}, nullptr};
  product.b = {product.n, product.k, !op.getTransB(), {}, nullptr};
  product.element = a.getElementType();
  product.result = result.getElementType();
  product.batch = llvm::to_vector(result.getShape().drop_back(2));
  size_t dimensions = product.batch.size();
  product.a.batchStrides = getBatchStrides(a, dimensions);
  product.b.batchStrides = getBatchStrides(b, dimensions);
  product.to = {product.n, product.n, 0, getBatchStrides(result, dimensions)};
  collapseBatch(product);
  foldBatch(product);
  return product;
}

static FailureOr<KernelLaunches> emitMatMul(train::MatMulOp op,
                                            KernelModule &kernels) {
  std::optional<Product> product = describeMatMul(op);
  if (!product)
    return KernelLaunches();
  return emitProduct(
      *product, {op.getA(), op.getB(), op.getResult(), std::nullopt}, kernels);
}

void amp::cuda::registerCudaKernels(KernelRegistry &registry) {
  registry.add(train::MatMulOp::getOperationName(),
               [](Operation *op, KernelModule &kernels) {
                 return emitMatMul(cast<train::MatMulOp>(op), kernels);
               });
  addConvolutionKernels(registry);
  addMoveKernels(registry);
  registry.setGroupEmitter(
      [](const plan::Group &group, KernelModule &kernels,
         StorageOf storageOf) -> FailureOr<KernelLaunches> {
        return emitGroup(group, kernels, storageOf);
      });
}
