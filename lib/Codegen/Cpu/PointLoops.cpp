//===- PointLoops.cpp - Loops over every point of a space -----------------===//
//
// How a space is cut into pieces of work, and walked in lanes.
//
//===----------------------------------------------------------------------===//

#include "PointLoops.h"
#include "amp/Codegen/Plan/Operations.h"

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

/// Elements that one piece of work should have at least, and the length of the
/// pieces that a long row is cut into; a multiple of the lanes.
static constexpr int64_t pieceElements = 4096;

PointLoops::PointLoops(ArrayRef<int64_t> sizes, bool vector)
    : sizes(sizes), n(sizes.back()),
      outerCount(plan::getNumElements(sizes.drop_back())),
      // Masked vectors do not pay for the shortest rows.
      vector(vector && n >= 4) {
  chunks = n >= 2 * pieceElements ? llvm::divideCeil(n, pieceElements) : 1;
}

int64_t PointLoops::getGrain() const {
  return chunks > 1
             ? 1
             : std::max<int64_t>(1, pieceElements / std::max<int64_t>(1, n));
}

void PointLoops::print(ImplicitLocOpBuilder &b, Value lo, Value hi,
                       Body body) const {
  Emitter e(b, vector);
  emitLoop(b, lo, hi, 1, [&](Value iteration) {
    Value row = iteration, chunk;
    if (chunks > 1) {
      chunk = arith::RemUIOp::create(b, iteration, e.i64(chunks));
      row = arith::DivUIOp::create(b, iteration, e.i64(chunks));
    }
    SmallVector<Value> point = delinearize(e, row, ArrayRef(sizes).drop_back());
    point.push_back(Value());
    auto atColumn = [&](Value j) {
      point.back() = j;
      body(e, point);
    };
    if (chunks > 1)
      emitColumnPiece(e, n, pieceElements, chunk, atColumn);
    else
      emitColumns(e, n, atColumn);
  });
}

void amp::cpu::emitColumns(Emitter &e, int64_t n,
                           function_ref<void(Value)> body) {
  int64_t step = e.vector() ? lanes : 1, whole = n / step * step;
  if (whole == step)
    body(e.i64(0));
  else if (whole)
    emitLoop(e.b(), e.i64(0), e.i64(whole), step, body);
  if (whole == n)
    return;
  e.setMask(n - whole);
  body(e.i64(whole));
  e.setMask(lanes);
}

void amp::cpu::emitColumnPiece(Emitter &e, int64_t n, int64_t length,
                               Value piece, function_ref<void(Value)> body) {
  int64_t step = e.vector() ? lanes : 1, whole = n / step * step;
  Value begin = e.muli(piece, e.i64(length));
  Value end =
      e.binary<arith::MinSIOp>(e.addi(begin, e.i64(length)), e.i64(whole));
  emitLoop(e.b(), begin, end, step, body);
  if (whole == n)
    return;
  Value isLast =
      e.cmpi(arith::CmpIPredicate::eq, piece, e.i64((n - 1) / length));
  auto tail = scf::IfOp::create(e.b(), isLast);
  OpBuilder::InsertionGuard guard(e.b());
  e.b().setInsertionPointToStart(tail.thenBlock());
  e.setMask(n - whole);
  body(e.i64(whole));
  e.setMask(lanes);
}

SmallVector<Value> amp::cpu::delinearize(Emitter &e, Value linear,
                                         ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d == 0) {
      indices[d] = linear;
      break;
    }
    Value size = e.i64(sizes[d]);
    indices[d] = arith::RemUIOp::create(e.b(), linear, size);
    linear = arith::DivUIOp::create(e.b(), linear, size);
  }
  return indices;
}

Value amp::cpu::emitAddress(Emitter &e, ArrayRef<Value> point,
                            ArrayRef<int64_t> strides, int64_t offset) {
  Value address;
  for (auto [index, stride] : llvm::zip(point, strides)) {
    if (stride == 0)
      continue;
    Value part = stride == 1 ? index : e.muli(index, e.i64(stride));
    address = address ? e.addi(address, part) : part;
  }
  if (!address)
    return e.i64(offset);
  return offset ? e.addi(address, e.i64(offset)) : address;
}

void amp::cpu::emitLoop(ImplicitLocOpBuilder &b, Value lo, Value hi,
                        int64_t step, function_ref<void(Value)> body) {
  emitCarryingLoop(b, lo, hi, step, {},
                   [&](Value index, SmallVector<Value>) -> SmallVector<Value> {
                     body(index);
                     return {};
                   });
}

SmallVector<Value> amp::cpu::emitCarryingLoop(
    ImplicitLocOpBuilder &b, Value lo, Value hi, int64_t step,
    SmallVector<Value> carried,
    function_ref<SmallVector<Value>(Value, SmallVector<Value>)> body) {
  Value stepValue = arith::ConstantOp::create(b, b.getI64IntegerAttr(step));
  auto loop = scf::ForOp::create(b, lo, hi, stepValue, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(),
           llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  if (!carried.empty())
    scf::YieldOp::create(b, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}
