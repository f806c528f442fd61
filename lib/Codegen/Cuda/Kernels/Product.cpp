//===- Product.cpp - Products of matrices on the GPU ----------------------===//
//
// What the kernels on tensor cores and on ordinary units share.
//
//===----------------------------------------------------------------------===//

#include "Product.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace amp::cuda;

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

int64_t ResultMap::getVector(int64_t most) const {
  int64_t common =
      std::gcd(std::gcd(most, run), std::gcd(rowStride, outerStride));
  for (int64_t stride : batchStrides)
    common = std::gcd(common, stride);
  return common;
}

Value ResultMap::getOffset(KernelBuilder &b, Value row, Value column) const {
  Value offset = b.mul(row, rowStride);
  if (outerStride == 0)
    return b.add(offset, column);
  Value outer = b.mul(b.div(column, run), outerStride);
  return b.add(b.add(offset, outer), b.rem(column, run));
}

int64_t Product::countBatches() const { return llvm::product_of(batch); }

Type Product::getSumType() const {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

std::string Product::getKey() const {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << m << ' ' << n << ' ' << k << " a " << a.getKey() << " b " << b.getKey()
     << ' ' << element << ' ' << result << " batch ";
  llvm::interleave(batch, os, ",");
  os << " to " << to.rowStride << ' ' << to.run << ' ' << to.outerStride << ' ';
  llvm::interleave(to.batchStrides, os, ",");
  if (hasBias) {
    os << " bias ";
    llvm::interleave(biasBatchStrides, os, ",");
  }
  return key;
}

int64_t ProductKernel::countTilesM() const {
  return llvm::divideCeil(product.m, tiling.blockM);
}

int64_t ProductKernel::countTilesN() const {
  return llvm::divideCeil(product.n, tiling.blockN);
}

int64_t ProductKernel::countSteps() const {
  return llvm::divideCeil(llvm::divideCeil(product.k, tiling.blockK),
                          tiling.splits);
}

int64_t ProductKernel::getGrid() const {
  return countTilesM() * countTilesN() * tiling.splits * product.countBatches();
}

//===----------------------------------------------------------------------===//
// Where a block works
//===----------------------------------------------------------------------===//

/// Rows of tiles that are walked together, so that blocks that run at the same
/// time share what they read.
static constexpr int64_t rasterRows = 8;

/// Row and column of the tile with number `id`.
static std::pair<Value, Value> locateTile(KernelBuilder &b, Value id,
                                          int64_t tilesM, int64_t tilesN) {
  if (tilesM <= rasterRows || tilesN == 1)
    return {b.rem(id, tilesM), b.div(id, tilesM)};
  int64_t groupTiles = rasterRows * tilesN;
  Value group = b.div(id, groupTiles), inGroup = b.rem(id, groupTiles);
  Value first = b.mul(group, rasterRows);
  if (tilesM % rasterRows == 0)
    return {b.add(first, b.rem(inGroup, rasterRows)),
            b.div(inGroup, rasterRows)};
  Value height = b.min(b.sub(b.i32(tilesM), first), rasterRows);
  Value row = arith::RemUIOp::create(b, inGroup, height);
  return {b.add(first, row), arith::DivUIOp::create(b, inGroup, height)};
}

static int64_t getBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

void ProductKernel::locate(KernelBuilder &builder, ValueRange buffers) {
  int64_t tiles = countTilesM() * countTilesN();
  Value id = builder.block(), z = builder.div(id, tiles);
  auto [tileM, tileN] =
      locateTile(builder, builder.rem(id, tiles), countTilesM(), countTilesN());
  row0 = builder.mul(tileM, tiling.blockM);
  column0 = builder.mul(tileN, tiling.blockN);
  Value split = builder.rem(z, tiling.splits);
  Value batch = builder.div(z, tiling.splits);
  depth0 = builder.mul(split, countSteps() * tiling.blockK);
  SmallVector<Value> indices = builder.delinearize(batch, product.batch);
  auto move = [&](Value pointer, ArrayRef<int64_t> strides, Type type) {
    Value offset;
    for (auto [index, stride] : llvm::zip_equal(indices, strides))
      if (stride)
        offset = builder.address(index, stride * getBytes(type), offset);
    return offset ? builder.at(pointer, offset) : pointer;
  };
  a = move(buffers[0], product.a.batchStrides, product.element);
  b = move(buffers[1], product.b.batchStrides, product.element);
  to = product.to;
  result = buffers.back();
  if (isSplit()) {
    to = {product.n, product.n, 0, {}};
    Value part = builder.add(builder.mul(split, product.countBatches()), batch);
    int64_t bytes = getBytes(product.getSumType());
    result = builder.at(result,
                        builder.address(part, product.m * product.n * bytes));
    return;
  }
  result = move(result, to.batchStrides, product.result);
  if (product.hasBias)
    bias = move(buffers[2], product.biasBatchStrides, product.element);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// `value` as f32, or f64 where sums are.
static Value widenFloat(KernelBuilder &b, Value value, Type type) {
  return value.getType() == type ? value
                                 : arith::ExtFOp::create(b, type, value);
}

Value ProductKernel::loadBias(KernelBuilder &b, Value row) {
  if (!bias)
    return Value();
  Value index = product.m % tiling.blockM ? b.min(row, product.m - 1) : row;
  int64_t bytes = getBytes(product.element);
  Value number =
      b.load(b.at(bias, b.mul(index, bytes)), product.element, bytes);
  return widenFloat(b, number, product.getSumType());
}

Value ProductKernel::finish(KernelBuilder &b, Value sum, Value bias) {
  if (bias)
    sum = arith::AddFOp::create(b, sum, bias);
  if (isSplit() || sum.getType() == product.result)
    return sum;
  if (getBytes(product.result) > getBytes(sum.getType()))
    return arith::ExtFOp::create(b, product.result, sum);
  return arith::TruncFOp::create(b, product.result, sum);
}

Value ProductKernel::isInside(KernelBuilder &b, Value row, Value column) {
  Value inside;
  if (product.m % tiling.blockM)
    inside = b.less(row, product.m);
  if (product.n % tiling.blockN)
    inside = b.both(inside, b.less(column, product.n));
  return inside;
}

void ProductKernel::writeSums(KernelBuilder &b, ArrayRef<Value> sums, Value row,
                              Value column, Value exists) {
  Value bias = loadBias(b, row);
  SmallVector<Value> numbers;
  for (Value sum : sums)
    numbers.push_back(finish(b, sum, bias));
  Type type = numbers.front().getType();
  int64_t bytes = getBytes(type);
  b.onlyIf(exists, [&] {
    Value where = b.at(result, b.address(to.getOffset(b, row, column), bytes));
    if (numbers.size() == 1)
      return b.store(numbers.front(), where, bytes);
    int64_t size = numbers.size();
    Value vector = LLVM::PoisonOp::create(b, VectorType::get({size}, type));
    for (int64_t i = 0; i < size; ++i)
      vector = LLVM::InsertElementOp::create(b, vector, numbers[i], b.i32(i));
    b.store(vector, where, size * bytes);
  });
}
