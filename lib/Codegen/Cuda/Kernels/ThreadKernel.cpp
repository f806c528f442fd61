//===- ThreadKernel.cpp - Products of f32 and f64 -------------------------===//
//
// Two tiles in shared memory in turns; every thread multiplies a few rows by a
// few columns. A sum is one chain of fused multiply-adds in ascending order.
//
//===----------------------------------------------------------------------===//

#include "Product.h"

using namespace mlir;
using namespace amp::cuda;

static constexpr int64_t numBuffers = 2;

ThreadKernel::ThreadKernel(const Product &product, const Tiling &tiling,
                           Sabotage sabotage)
    : ProductKernel(product, tiling), sabotage(sabotage) {}

int64_t ThreadKernel::elementBytes() const {
  return product.element.getIntOrFloatBitWidth() / 8;
}

int64_t ThreadKernel::getSharedBytes() const {
  return numBuffers * (tiling.blockM + tiling.blockN) * tiling.blockK *
         elementBytes();
}

/// Offset of the chunk of row `k` of a tile that x lies in. Chunks are
/// exchanged so that units of neighbouring rows, written down the columns, meet
/// different banks.
Value ThreadKernel::getCell(KernelBuilder &b, int64_t extent, Value k,
                            Value chunk) {
  if (sabotage != Sabotage::Swizzle)
    chunk = b.exclusiveOr(chunk, b.mul(b.div(k, unit()), 2));
  return b.add(b.mul(k, extent * elementBytes()), b.mul(chunk, chunkBytes));
}

/// Puts the units that were read into the tile: rows run along k there.
void ThreadKernel::deposit(KernelBuilder &b, const UnitReader &reader,
                           const Operand &operand, int64_t extent, Value tile,
                           ArrayRef<Value> values) {
  int64_t rows = operand.depthFirst ? tiling.blockK : extent;
  auto type = VectorType::get({unit()}, product.element);
  for (int64_t i = 0; i < reader.getCount(); ++i) {
    Value row = reader.getRow(b, i);
    ArrayRef<Value> own = values.slice(i * unit(), unit());
    b.onlyIf(reader.isRagged() ? b.less(row, rows) : Value(), [&] {
      if (operand.depthFirst) {
        Value chunk = LLVM::PoisonOp::create(b, type);
        for (int64_t e = 0; e < unit(); ++e)
          chunk = LLVM::InsertElementOp::create(b, chunk, own[e], b.i32(e));
        Value cell = getCell(b, extent, row, reader.getUnit());
        return b.store(chunk, b.at(tile, cell), chunkBytes);
      }
      for (int64_t e = 0; e < unit(); ++e) {
        Value k = b.add(b.mul(reader.getUnit(), unit()), e);
        Value cell = getCell(b, extent, k, b.div(row, unit()));
        Value where = b.add(cell, b.mul(b.rem(row, unit()), elementBytes()));
        b.store(own[e], b.at(tile, where), elementBytes());
      }
    });
  }
}

/// The thread's elements of row `k`: chunks that are `extent / inner` apart, so
/// that neighbouring threads read neighbouring chunks.
void ThreadKernel::readInner(KernelBuilder &b, Value tile, int64_t extent,
                             int64_t k, Value x, int64_t inner,
                             SmallVectorImpl<Value> &out) {
  auto type = VectorType::get({unit()}, product.element);
  for (int64_t c = 0; c < inner / unit(); ++c) {
    Value chunk = b.add(x, c * (extent / inner));
    Value cell = getCell(b, extent, b.i32(k), chunk);
    Value numbers = b.load(b.at(tile, cell), type, chunkBytes);
    for (int64_t e = 0; e < unit(); ++e)
      out.push_back(LLVM::ExtractElementOp::create(b, numbers, b.i32(e)));
  }
}

void ThreadKernel::multiply(KernelBuilder &b, Value buffer,
                            MutableArrayRef<Value> sums) {
  int64_t aBytes = tiling.blockM * tiling.blockK * elementBytes();
  for (int64_t k = 0; k < tiling.blockK; ++k) {
    SmallVector<Value> as, bs;
    readInner(b, buffer, tiling.blockM, k, threadM, tiling.innerM, as);
    readInner(b, b.at(buffer, aBytes), tiling.blockN, k, threadN, tiling.innerN,
              bs);
    for (int64_t i = 0; i < tiling.innerM; ++i)
      for (int64_t j = 0; j < tiling.innerN; ++j) {
        Value &sum = sums[i * tiling.innerN + j];
        sum = LLVM::FMAOp::create(b, as[i], bs[j], sum);
      }
  }
}

void ThreadKernel::print(KernelBuilder &b, ValueRange buffers) {
  locate(b, buffers);
  shared = b.shared();
  int64_t acrossN = tiling.blockN / tiling.innerN;
  threadN = b.rem(b.thread(), acrossN);
  threadM = b.div(b.thread(), acrossN);
  UnitReader aReader(product.a, product.element, tiling.blockM, tiling.blockK,
                     unit(), getThreads());
  UnitReader bReader(product.b, product.element, tiling.blockN, tiling.blockK,
                     unit(), getThreads());
  aReader.begin(b, a, row0);
  bReader.begin(b, this->b, column0);
  int64_t aBytes = tiling.blockM * tiling.blockK * elementBytes();
  int64_t bufferBytes = getSharedBytes() / numBuffers;
  auto put = [&](Value buffer, ArrayRef<Value> as, ArrayRef<Value> bs) {
    deposit(b, aReader, product.a, tiling.blockM, buffer, as);
    deposit(b, bReader, product.b, tiling.blockN, b.at(buffer, aBytes), bs);
  };
  put(shared, aReader.read(b, depth0), bReader.read(b, depth0));
  // What is read, what is written, sums.
  SmallVector<Value> carried{b.i32(0), b.i32(bufferBytes)};
  carried.append(tiling.innerM * tiling.innerN, b.zero(product.getSumType()));
  SmallVector<Value> results =
      b.loop(b.i32(0), b.i32(countSteps()), 1, carried,
             [&](Value step, ArrayRef<Value> current) {
               SmallVector<Value> next(current);
               if (sabotage != Sabotage::Barrier)
                 b.barrier();
               Value k = b.add(depth0, b.mul(b.add(step, 1), tiling.blockK));
               SmallVector<Value> as = aReader.read(b, k),
                                  bs = bReader.read(b, k);
               multiply(b, b.at(shared, current[0]),
                        MutableArrayRef<Value>(next).drop_front(2));
               std::swap(next[0], next[1]);
               put(b.at(shared, next[0]), as, bs);
               return next;
             });
  ArrayRef<Value> sums = ArrayRef<Value>(results).drop_front(2);
  int64_t vector = to.getVector(unit());
  for (int64_t i = 0; i < tiling.innerM; ++i)
    for (int64_t j = 0; j < tiling.innerN; j += vector) {
      auto place = [&](Value thread, int64_t index, int64_t extent,
                       int64_t inner) {
        Value chunk = b.add(thread, index / unit() * (extent / inner));
        return b.add(b.mul(chunk, unit()), index % unit());
      };
      Value row = b.add(row0, place(threadM, i, tiling.blockM, tiling.innerM));
      Value column =
          b.add(column0, place(threadN, j, tiling.blockN, tiling.innerN));
      writeSums(b, sums.slice(i * tiling.innerN + j, vector), row, column,
                isInside(b, row, column));
    }
}
