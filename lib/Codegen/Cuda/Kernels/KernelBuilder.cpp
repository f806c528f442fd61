//===- KernelBuilder.cpp - Short names for what GPU kernels consist of ----===//
//
// Each of them one or a few operations.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace amp::cuda;

/// Lets LLVM move constants out of widened sums into immediate offsets.
static constexpr auto noWrap = arith::IntegerOverflowFlags::nuw;

int64_t SharedTile::period() const {
  int64_t rowsPerLine = std::max<int64_t>(1, 8 / chunksPerRow());
  return rowsPerLine * std::min<int64_t>(8, chunksPerRow());
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelBuilder::i32(int64_t value) {
  return arith::ConstantOp::create(*this, getI32IntegerAttr(value));
}

Value KernelBuilder::i64(int64_t value) {
  return arith::ConstantOp::create(*this, getI64IntegerAttr(value));
}

Value KernelBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(*this, a, b, noWrap);
}

Value KernelBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, i32(b));
}

Value KernelBuilder::shift(Value a, Value b) {
  return arith::AddIOp::create(*this, a, b);
}

Value KernelBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(*this, a, i32(b), noWrap);
}

Value KernelBuilder::wrappingMul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(*this, a, i32(b));
}

Value KernelBuilder::div(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(*this, a, i32(b));
}

Value KernelBuilder::rem(Value a, int64_t b) {
  return b == 1 ? i32(0) : arith::RemUIOp::create(*this, a, i32(b));
}

Value KernelBuilder::sub(Value a, Value b) {
  return arith::SubIOp::create(*this, a, b);
}

Value KernelBuilder::min(Value a, int64_t b) {
  return arith::MinUIOp::create(*this, a, i32(b));
}

Value KernelBuilder::exclusiveOr(Value a, Value b) {
  return arith::XOrIOp::create(*this, a, b);
}

Value KernelBuilder::less(Value a, int64_t b) { return less(a, i32(b)); }

Value KernelBuilder::less(Value a, Value b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::ult, a, b);
}

Value KernelBuilder::equals(Value a, int64_t b) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq, a, i32(b));
}

Value KernelBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(*this, a, b);
}

Value KernelBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

Value KernelBuilder::widen(Value a) {
  return arith::ExtUIOp::create(*this, getI64Type(), a);
}

Value KernelBuilder::address(Value a, int64_t b, Value c) {
  Value product = arith::MulIOp::create(*this, widen(a), i64(b));
  return c ? arith::AddIOp::create(*this, product, c) : product;
}

SmallVector<Value> KernelBuilder::delinearize(Value linear,
                                              ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t d = sizes.size(); d-- > 1;) {
    indices[d] = rem(linear, sizes[d]);
    linear = div(linear, sizes[d]);
  }
  if (!sizes.empty())
    indices[0] = linear;
  return indices;
}

Value KernelBuilder::f32(double value) {
  return arith::ConstantOp::create(*this, getF32FloatAttr(value));
}

Value KernelBuilder::zero(Type type) {
  return arith::ConstantOp::create(*this, getZeroAttr(type));
}

Value KernelBuilder::thread() {
  return NVVM::ThreadIdXOp::create(*this, getI32Type());
}

Value KernelBuilder::block() {
  return NVVM::BlockIdXOp::create(*this, getI32Type());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelBuilder::at(Value pointer, Value bytes) {
  bool isShared =
      cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() == 3;
  if (!isShared && bytes.getType().isInteger(32))
    bytes = widen(bytes);
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value KernelBuilder::at(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  // Beyond what a constant index of the operation holds.
  if (bytes > INT32_MAX)
    return at(pointer, i64(bytes));
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value KernelBuilder::load(Value pointer, Type type, int64_t alignment) {
  return LLVM::LoadOp::create(*this, type, pointer, alignment);
}

void KernelBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}

Value KernelBuilder::shared() { return kernels.getSharedMemory(*this); }

Value KernelBuilder::swizzle(const SharedTile &tile, Value row, Value chunk) {
  int64_t chunks = tile.chunksPerRow();
  if (tile.isSwizzled && chunks > 1) {
    Value line = div(row, std::max<int64_t>(1, 8 / chunks));
    chunk = exclusiveOr(chunk, rem(line, std::min<int64_t>(8, chunks)));
  }
  return add(mul(row, tile.rowBytes), mul(chunk, chunkBytes));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void KernelBuilder::onlyIf(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value> KernelBuilder::loop(
    Value lo, Value hi, int64_t step, ArrayRef<Value> carried,
    function_ref<SmallVector<Value>(Value, ArrayRef<Value>)> body) {
  auto loop = scf::ForOp::create(*this, lo, hi, i32(step), carried);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(loop.getBody());
  SmallVector<Value> current =
      llvm::to_vector_of<Value>(loop.getRegionIterArgs());
  SmallVector<Value> next = body(loop.getInductionVar(), current);
  if (!carried.empty())
    scf::YieldOp::create(*this, next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void KernelBuilder::barrier() { NVVM::BarrierOp::create(*this); }

void KernelBuilder::warpBarrier() { NVVM::SyncWarpOp::create(*this, i32(-1)); }

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

void KernelBuilder::copyAsync(Value shared, Value global, int64_t bytes,
                              Value condition) {
  Value size = condition ? select(condition, i32(bytes), i32(0)) : Value();
  // Only whole chunks may pass by the first cache.
  auto cache = bytes == chunkBytes ? NVVM::LoadCacheModifierKind::CG
                                   : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(*this, shared, global, bytes, cache, size);
}

void KernelBuilder::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(*this);
}

void KernelBuilder::waitForCopies(int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(*this, pending);
}

//===----------------------------------------------------------------------===//
// Tensor cores
//===----------------------------------------------------------------------===//

std::array<Value, 4> KernelBuilder::loadMatrices(Value shared,
                                                 bool transposed) {
  SmallVector<Type> words(4, getI32Type());
  auto type = LLVM::LLVMStructType::getLiteral(getContext(), words);
  Value matrices = NVVM::LdMatrixOp::create(
      *this, type, shared, 4,
      transposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(getContext(), 8, 8),
      NVVM::LdStMatrixEltType::B16);
  std::array<Value, 4> result;
  for (int64_t i = 0; i < 4; ++i)
    result[i] = LLVM::ExtractValueOp::create(*this, matrices, i);
  return result;
}

void KernelBuilder::multiplyAdd(MutableArrayRef<Value> d, ArrayRef<Value> a,
                                ArrayRef<Value> b, Type element) {
  bool isHalf = element.isF16();
  auto asOperands = [&](ArrayRef<Value> words) {
    SmallVector<Value> operands(words);
    if (isHalf)
      for (Value &word : operands)
        word =
            LLVM::BitcastOp::create(*this, VectorType::get(2, element), word);
    return operands;
  };
  SmallVector<Type> floats(4, getF32Type());
  auto type = LLVM::LLVMStructType::getLiteral(getContext(), floats);
  NVVM::MMATypes ptx = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Value result = NVVM::MmaOp::create(
      *this, type, asOperands(a), asOperands(b), ValueRange(d),
      ArrayRef<int64_t>{16, 8, 16}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{ptx, ptx},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    d[i] = LLVM::ExtractValueOp::create(*this, result, i);
}

//===----------------------------------------------------------------------===//
// Lanes and warps
//===----------------------------------------------------------------------===//

Value KernelBuilder::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType(), word = getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  auto shuffle = [&](Value part) -> Value {
    return NVVM::ShflOp::create(*this, word, i32(-1), part, i32(mask), i32(31),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (bits == 32) {
    Value moved = shuffle(LLVM::BitcastOp::create(*this, word, value));
    return LLVM::BitcastOp::create(*this, type, moved);
  }
  if (bits < 32) { // integers
    Value moved = shuffle(arith::ExtUIOp::create(*this, word, value));
    return arith::TruncIOp::create(*this, type, moved);
  }
  Value whole = LLVM::BitcastOp::create(*this, getI64Type(), value);
  Value low = shuffle(arith::TruncIOp::create(*this, word, whole));
  Value shift = i64(32);
  Value high = shuffle(arith::TruncIOp::create(
      *this, word, arith::ShRUIOp::create(*this, whole, shift)));
  Value joined = arith::OrIOp::create(
      *this, widen(low), arith::ShLIOp::create(*this, widen(high), shift));
  return LLVM::BitcastOp::create(*this, type, joined);
}

Value KernelBuilder::combineLanes(Value value, int64_t width, Combine combine) {
  for (int64_t mask = width / 2; mask > 0; mask /= 2)
    value = combine(value, shuffleXor(value, mask));
  return value;
}
