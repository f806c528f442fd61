//===- ProductPlan.cpp - Tiles and launches of products -------------------===//
//
// Chooses tiles by a model of the machine, and splits the depth of products
// whose results are too few to keep it busy.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace amp::cuda;

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {

/// What the model knows of a machine, between an A100 and an H200; in clock
/// cycles. Only comparisons of tilings depend on it, never a result's bits
/// within one tiling.
struct Machine {
  int64_t multiprocessors = 132;
  int64_t sharedBytes = 160 * 1024;
  int64_t registers = 65536;
  double halfProducts = 1024; ///< f16, bf16, per multiprocessor and cycle
  double floatProducts = 128;
  double doubleProducts = 32;
  double sharedBandwidth = 128; ///< bytes per multiprocessor
  double cacheBandwidth = 40;
  double memoryBandwidth = 2400; ///< bytes of the whole machine
  double blockCycles = 1500;     ///< to start and to end a block
  double latency = 700;          ///< of memory
  double launchCycles = 5000;
};

constexpr Machine machine;

constexpr Tiling tensorCoreTilings[] = {
    {128, 256, 32, 64, 64, 3}, {256, 128, 32, 64, 64, 3},
    {128, 128, 32, 64, 64, 4}, {128, 64, 32, 64, 32, 4},
    {64, 128, 32, 32, 64, 4},  {64, 64, 32, 32, 32, 4},
    {32, 64, 32, 16, 32, 4},   {64, 32, 32, 32, 16, 4},
};
constexpr Tiling floatTilings[] = {
    {128, 128, 16, 8, 8, 2}, {64, 64, 16, 4, 4, 2}, {32, 64, 16, 4, 4, 2}};
constexpr Tiling doubleTilings[] = {{64, 64, 8, 4, 4, 2}, {32, 32, 8, 2, 2, 2}};
constexpr int64_t splitChoices[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};

} // namespace

static int64_t getElementBytes(const Product &product) {
  return product.element.getIntOrFloatBitWidth() / 8;
}

static bool usesTensorCores(const Product &product) {
  return getElementBytes(product) == 2;
}

/// Predicted cycles of one product.
static double predict(const Product &product, const Tiling &tiling) {
  bool isHalf = usesTensorCores(product);
  int64_t bytes = getElementBytes(product);
  ProductKernel kernel(product, tiling);
  int64_t threads = tiling.getUnits() * (isHalf ? warpSize : 1);
  int64_t sums = tiling.innerM * tiling.innerN / (isHalf ? warpSize : 1);
  int64_t registers = (sums * (bytes == 8 ? 2 : 1) + 90) * threads;
  int64_t shared =
      tiling.stages * (tiling.blockM + tiling.blockN) * tiling.blockK * bytes;
  double perSM = std::max<int64_t>(
      1, std::min(machine.sharedBytes / shared, machine.registers / registers));
  perSM = std::min(
      perSM, std::ceil(double(kernel.getGrid()) / machine.multiprocessors));
  double rate = isHalf       ? machine.halfProducts
                : bytes == 8 ? machine.doubleProducts
                             : machine.floatProducts;
  double math = double(tiling.blockM) * tiling.blockN * tiling.blockK / rate;
  // Threads of a warp share what they read of one operand.
  double readers = isHalf ? tiling.getUnits() : tiling.getUnits() / 8.0;
  double fragments = readers * (tiling.innerM + tiling.innerN) * tiling.blockK *
                     bytes / machine.sharedBandwidth;
  double traffic = double(tiling.blockM + tiling.blockN) * tiling.blockK *
                   bytes / machine.cacheBandwidth;
  double step = std::max({math, fragments, traffic}) * perSM;
  step = std::max(step, machine.latency / (tiling.stages - 1));
  double waves =
      std::ceil(kernel.getGrid() / (machine.multiprocessors * perSM));
  double cycles = waves * (kernel.countSteps() * step + machine.blockCycles);
  if (kernel.isSplit()) {
    double results = double(product.m) * product.n * product.countBatches();
    cycles += machine.launchCycles +
              results * 4 * (2 * tiling.splits + 1) / machine.memoryBandwidth;
  }
  return cycles;
}

Tiling amp::cuda::chooseTiling(const Product &product) {
  ArrayRef<Tiling> tilings =
      usesTensorCores(product)        ? ArrayRef(tensorCoreTilings)
      : getElementBytes(product) == 8 ? ArrayRef(doubleTilings)
                                      : ArrayRef(floatTilings);
  Tiling best = tilings.back();
  double least = INFINITY;
  for (Tiling tiling : tilings)
    for (int64_t splits : splitChoices) {
      // Every split has a part of the depth that is worth its partial sums.
      if (splits > 1 && product.k < splits * 4 * tiling.blockK)
        break;
      tiling.splits = splits;
      double cycles = predict(product, tiling);
      if (cycles < least) {
        least = cycles;
        best = tiling;
      }
    }
  // No split without work.
  int64_t steps = ProductKernel(product, best).countSteps();
  best.splits =
      llvm::divideCeil(llvm::divideCeil(product.k, best.blockK), steps);
  return best;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static std::string getKey(StringRef kind, const Product &product,
                          const Tiling &tiling, Sabotage sabotage) {
  std::string key;
  llvm::raw_string_ostream(key)
      << kind << ' ' << product.getKey() << " tiles " << tiling.blockM << ' '
      << tiling.blockN << ' ' << tiling.blockK << ' ' << tiling.innerM << ' '
      << tiling.innerN << ' ' << tiling.stages << ' ' << tiling.splits << ' '
      << static_cast<int>(sabotage);
  return key;
}

template <typename Kernel>
static Launch makeLaunch(StringRef name, const Product &product,
                         const Tiling &tiling, Sabotage sabotage,
                         ArrayRef<KernelOperand> operands,
                         KernelModule &kernels) {
  Kernel kernel(product, tiling, sabotage);
  Launch launch;
  launch.block = {kernel.getThreads(), 1, 1};
  launch.grid = {kernel.getGrid(), 1, 1};
  launch.sharedBytes = kernel.getSharedBytes();
  launch.operands.assign(operands.begin(), operands.end());
  launch.kernel = kernels.getOrCreate(
      getKey(name, product, tiling, sabotage), name, operands.size(),
      launch.block, [&](ImplicitLocOpBuilder &builder, ValueRange buffers) {
        KernelBuilder b(builder, kernels);
        kernel.print(b, buffers);
      });
  return launch;
}

namespace {

/// Adds the partial sums of all splits, in their order.
class CombineKernel : public ProductKernel {
public:
  CombineKernel(const Product &product, const Tiling &tiling, Sabotage)
      : ProductKernel(product, tiling),
        vector(std::gcd(product.n, product.to.getVector(4))),
        total(product.m * product.n * product.countBatches()) {
    this->tiling.splits = 1;
    splits = tiling.splits;
  }

  int64_t getThreads() const { return 256; }
  int64_t getGrid() const {
    return llvm::divideCeil(total / vector, getThreads());
  }
  int64_t getSharedBytes() const { return 0; }
  void print(KernelBuilder &builder, ValueRange buffers);

private:
  int64_t vector, total, splits;
};

} // namespace

void CombineKernel::print(KernelBuilder &b, ValueRange buffers) {
  Value number = b.add(b.mul(b.block(), getThreads()), b.thread());
  Value exists =
      total / vector % getThreads() ? b.less(number, total / vector) : Value();
  b.onlyIf(exists, [&] {
    Type sum = product.getSumType();
    int64_t bytes = sum.getIntOrFloatBitWidth() / 8 * vector;
    auto type = VectorType::get({vector}, sum);
    Value part = b.at(buffers[0], b.address(number, bytes));
    SmallVector<Value> sums =
        b.loop(b.i32(0), b.i32(splits), 1, {b.zero(type)},
               [&](Value split, ArrayRef<Value> current) -> SmallVector<Value> {
                 Value where =
                     b.at(part, b.address(split, total / vector * bytes));
                 Value numbers = b.load(where, type, bytes);
                 return {arith::AddFOp::create(b, current[0], numbers)};
               });
    int64_t rowVectors = product.n / vector;
    Value column = b.mul(b.rem(number, rowVectors), vector);
    Value rest = b.div(number, rowVectors);
    Value row = b.rem(rest, product.m), batch = b.div(rest, product.m);
    result = buffers.back();
    to = product.to;
    Value offset, biasOffset;
    auto indices = b.delinearize(batch, product.batch);
    int64_t resultBytes = product.result.getIntOrFloatBitWidth() / 8;
    for (auto [d, index] : llvm::enumerate(indices)) {
      if (to.batchStrides[d])
        offset = b.address(index, to.batchStrides[d] * resultBytes, offset);
      if (product.hasBias && product.biasBatchStrides[d])
        biasOffset = b.address(
            index, product.biasBatchStrides[d] * getElementBytes(product),
            biasOffset);
    }
    if (offset)
      result = b.at(result, offset);
    if (product.hasBias)
      bias = biasOffset ? b.at(buffers[1], biasOffset) : buffers[1];
    SmallVector<Value> numbers;
    for (int64_t e = 0; e < vector; ++e)
      numbers.push_back(LLVM::ExtractElementOp::create(b, sums[0], b.i32(e)));
    writeSums(b, numbers, row, column, Value());
  });
}

KernelLaunches amp::cuda::emitProduct(const Product &product,
                                      const ProductOperands &operands,
                                      KernelModule &kernels,
                                      const ProductOptions &options) {
  Tiling tiling = options.tiling ? *options.tiling : chooseTiling(product);
  KernelLaunches result;
  bool isSplit = tiling.splits > 1;
  SmallVector<KernelOperand> buffers{operands.a, operands.b}, combined;
  if (isSplit) {
    result.scratch.push_back(
        product.m * product.n * product.countBatches() * tiling.splits *
        (product.getSumType().getIntOrFloatBitWidth() / 8));
    combined.push_back(KernelOperand::scratch(0));
  }
  if (operands.bias)
    (isSplit ? combined : buffers).push_back(*operands.bias);
  combined.push_back(operands.result);
  buffers.push_back(isSplit ? KernelOperand::scratch(0) : operands.result);
  result.launches.push_back(
      usesTensorCores(product)
          ? makeLaunch<TensorCoreKernel>("gemm_mma", product, tiling,
                                         options.sabotage, buffers, kernels)
          : makeLaunch<ThreadKernel>("gemm_fma", product, tiling,
                                     options.sabotage, buffers, kernels));
  if (isSplit)
    result.launches.push_back(makeLaunch<CombineKernel>(
        "gemm_combine", product, tiling, Sabotage::None, combined, kernels));
  return result;
}
