//===- Operand.cpp - Where the elements of a product lie ------------------===//
//
// Reads units of tiles: a vector where rows are aligned, else one by one.
//
//===----------------------------------------------------------------------===//

#include "Operand.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <numeric>

using namespace mlir;
using namespace amp::cuda;

int64_t Operand::getAlignment(int64_t elementBytes) const {
  int64_t run = isDense() ? rowLength() : map->getRun();
  int64_t common = std::gcd(chunkBytes, run * elementBytes);
  for (int64_t stride : batchStrides)
    common = std::gcd(common, stride * elementBytes);
  return common;
}

std::string Operand::getKey() const {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << extent << 'x' << depth << (depthFirst ? " k-first " : " ");
  llvm::interleave(batchStrides, os, ",");
  if (map)
    os << ' ' << map->getKey();
  return key;
}

namespace {

/// Rows of memory.
class RowMap final : public ElementMap {
public:
  explicit RowMap(const Operand &operand)
      : xStride(operand.depthFirst ? 1 : operand.depth),
        kStride(operand.depthFirst ? operand.extent : 1) {}
  Part atX(KernelBuilder &b, Value x) const override {
    return {b.mul(x, xStride), {}};
  }
  Part atK(KernelBuilder &b, Value k) const override {
    return {b.mul(k, kStride), {}};
  }
  Place join(KernelBuilder &b, const Part &x, const Part &k) const override {
    return {b.add(x.offset, k.offset), Value()};
  }
  std::string getKey() const override { return {}; }

private:
  int64_t xStride, kStride;
};

} // namespace

UnitReader::UnitReader(const Operand &operand, Type element, int64_t tileX,
                       int64_t tileK, int64_t unit, int64_t threads)
    : operand(operand), element(element), tileX(tileX), unit(unit),
      rows(operand.depthFirst ? tileK : tileX),
      unitsPerRow((operand.depthFirst ? tileX : tileK) / unit),
      rowStep(threads / unitsPerRow), count(llvm::divideCeil(rows, rowStep)),
      map(operand.map) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  isVector = operand.getAlignment(bytes) >= unit * bytes;
  if (!map)
    map = std::make_shared<RowMap>(operand);
}

void UnitReader::begin(KernelBuilder &b, Value base, Value x) {
  this->base = base;
  this->x = x;
  Value thread = b.thread();
  unitIndex = b.rem(thread, unitsPerRow);
  row = b.div(thread, unitsPerRow);
  auto addX = [&](Value at) {
    parts.push_back(map->atX(b, at));
    inside.push_back(operand.extent % tileX ? b.less(at, operand.extent)
                                            : Value());
  };
  if (operand.depthFirst)
    for (int64_t e = 0; e < (isVector ? 1 : unit); ++e)
      addX(b.add(x, b.add(b.mul(unitIndex, unit), e)));
  else
    for (int64_t i = 0; i < count; ++i)
      addX(b.add(x, getRow(b, i)));
}

Value UnitReader::getRow(KernelBuilder &b, int64_t i) const {
  return b.add(row, i * rowStep);
}

Value UnitReader::readPlace(KernelBuilder &b, Value offset, Value exists,
                            Type type, int64_t alignment) const {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  if (exists)
    offset = b.select(exists, offset, b.i32(0));
  Value value = b.load(b.at(base, b.address(offset, bytes)), type, alignment);
  return exists ? b.select(exists, value, b.zero(type)) : value;
}

void UnitReader::readVector(KernelBuilder &b, Value k, int64_t i,
                            SmallVectorImpl<Value> &out) const {
  Value at =
      b.add(k, operand.depthFirst ? getRow(b, i) : b.mul(unitIndex, unit));
  int64_t which = operand.depthFirst ? 0 : i;
  auto place = map->join(b, parts[which], map->atK(b, at));
  Value exists = b.both(inside[which], b.less(at, operand.depth));
  int64_t bytes = element.getIntOrFloatBitWidth() / 8 * unit;
  Value value = readPlace(b, place.offset, exists,
                          VectorType::get({unit}, element), bytes);
  for (int64_t e = 0; e < unit; ++e)
    out.push_back(LLVM::ExtractElementOp::create(b, value, b.i32(e)));
}

void UnitReader::readElements(KernelBuilder &b, Value k, int64_t i,
                              SmallVectorImpl<Value> &out) const {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  ElementMap::Part kPart;
  Value at;
  for (int64_t e = 0; e < unit; ++e) {
    if (!operand.depthFirst || e == 0) {
      at = b.add(k, operand.depthFirst ? getRow(b, i)
                                       : b.add(b.mul(unitIndex, unit), e));
      kPart = map->atK(b, at);
    }
    int64_t which = operand.depthFirst ? e : i;
    auto place = map->join(b, parts[which], kPart);
    Value exists =
        b.both(b.both(place.exists, inside[which]), b.less(at, operand.depth));
    out.push_back(readPlace(b, place.offset, exists, element, bytes));
  }
}

SmallVector<Value> UnitReader::read(KernelBuilder &b, Value k) const {
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    isVector ? readVector(b, k, i, values) : readElements(b, k, i, values);
  return values;
}
