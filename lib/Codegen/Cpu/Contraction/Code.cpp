//===- Code.cpp - Short names for the operations kernels consist of -------===//
//
// Every memory access says its alignment: tensors have that of their elements.
//
//===----------------------------------------------------------------------===//

#include "Code.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace amp::cpu;

static unsigned getAlignment(Type type) {
  return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
}

std::string amp::cpu::spell(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Value Code::number(int64_t value) {
  return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
}

Value Code::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}

Value Code::add(Value a, int64_t b) { return b ? add(a, number(b)) : a; }

Value Code::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, a, b);
}

Value Code::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, a, number(b)).getResult();
}

Value Code::div(Value a, int64_t b) {
  return b == 1 ? a : arith::DivUIOp::create(builder, a, number(b)).getResult();
}

Value Code::rem(Value a, int64_t b) {
  return b == 1 ? number(0)
                : arith::RemUIOp::create(builder, a, number(b)).getResult();
}

Value Code::min(Value a, Value b) {
  return arith::MinSIOp::create(builder, a, b);
}

Value Code::equals(Value a, int64_t b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, a, number(b));
}

Value Code::less(Value a, Value b) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
}

Value Code::at(Value pointer, Value index, Type element) {
  return LLVM::GEPOp::create(builder, pointer.getType(), element, pointer,
                             ValueRange{index});
}

Value Code::at(Value pointer, int64_t index, Type element) {
  return index ? at(pointer, number(index), element) : pointer;
}

Value Code::load(Value pointer, Type element) {
  return LLVM::LoadOp::create(builder, element, pointer, getAlignment(element));
}

void Code::store(Value value, Value pointer) {
  LLVM::StoreOp::create(builder, value, pointer, getAlignment(value.getType()));
}

VectorType Code::vector(Type element, int64_t size) {
  return VectorType::get({size}, element);
}

Value Code::zeros(Type element, int64_t size) {
  return arith::ConstantOp::create(builder,
                                   builder.getZeroAttr(vector(element, size)));
}

Value Code::splat(Value scalar) {
  return vector::BroadcastOp::create(builder, vector(scalar.getType()), scalar);
}

Value Code::mask(int64_t count, int64_t size) {
  SmallVector<bool> on(size);
  std::fill_n(on.begin(), count, true);
  return arith::ConstantOp::create(
      builder, DenseElementsAttr::get(vector(builder.getI1Type(), size),
                                      ArrayRef<bool>(on)));
}

Value Code::loadVector(Value pointer, Type element, int64_t count,
                       int64_t size) {
  if (count == 0)
    return zeros(element, size);
  if (count == size)
    return load(pointer, vector(element, size));
  return LLVM::MaskedLoadOp::create(builder, vector(element, size), pointer,
                                    mask(count, size), zeros(element, size),
                                    getAlignment(element));
}

void Code::storeVector(Value value, Value pointer, int64_t count) {
  int64_t size = cast<VectorType>(value.getType()).getNumElements();
  if (count == size)
    return store(value, pointer);
  // LLVM 22 makes a masked store of one narrowed lane a store of the wide one.
  if (count == 1)
    return store(
        vector::ExtractOp::create(builder, value, ArrayRef<int64_t>{0}),
        pointer);
  LLVM::MaskedStoreOp::create(builder, value, pointer, mask(count, size),
                              getAlignment(value.getType()));
}

Value Code::shuffle(Value a, Value b, ArrayRef<int64_t> from) {
  return vector::ShuffleOp::create(builder, a, b, from);
}

Value Code::convert(Value value, Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  Type to = element;
  if (auto shape = dyn_cast<VectorType>(value.getType()))
    to = shape.clone(element);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, to, value);
  return arith::TruncFOp::create(builder, to, value);
}

Value Code::makePairs(Value low, Value high) {
  VectorType pairs = vector(i32());
  Value shift = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(pairs, builder.getI32IntegerAttr(16)));
  low = arith::ExtUIOp::create(builder, pairs, low);
  high = arith::ExtUIOp::create(builder, pairs, high);
  high = arith::ShLIOp::create(builder, high, shift);
  return arith::OrIOp::create(builder, low, high);
}

Value Code::allocate(int64_t size, Type element) {
  return LLVM::AllocaOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), element,
      number(size), /*alignment=*/64);
}

Value Code::table(ArrayRef<int64_t> numbers) {
  Type i64 = builder.getI64Type();
  Value table = allocate(std::max<size_t>(1, numbers.size()), i64);
  for (auto [i, value] : llvm::enumerate(numbers))
    store(number(value), at(table, i, i64));
  return table;
}

Value Code::lookUp(Value table, Value index) {
  Type i64 = builder.getI64Type();
  return load(at(table, index, i64), i64);
}

void Code::loop(Value lo, Value hi, int64_t step,
                llvm::function_ref<void(Value)> body) {
  loop(lo, hi, step, {}, [&](Value index, ValueRange) {
    body(index);
    return SmallVector<Value>();
  });
}

SmallVector<Value>
Code::loop(Value lo, Value hi, int64_t step, ValueRange values,
           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      builder, lo, hi, number(step), values,
      [&](OpBuilder &nested, Location, Value index, ValueRange carried) {
        OpBuilder::InsertionGuard guard(builder);
        builder.restoreInsertionPoint(nested.saveInsertionPoint());
        SmallVector<Value> next = body(index, carried);
        scf::YieldOp::create(builder, next);
      });
  return llvm::to_vector_of<Value>(loop.getResults());
}

void Code::branch(Value condition, llvm::function_ref<void()> then,
                  llvm::function_ref<void()> otherwise) {
  auto print = [&](llvm::function_ref<void()> body) {
    return [this, body](OpBuilder &nested, Location) {
      OpBuilder::InsertionGuard guard(builder);
      builder.restoreInsertionPoint(nested.saveInsertionPoint());
      body();
      scf::YieldOp::create(builder);
    };
  };
  if (otherwise)
    scf::IfOp::create(builder, condition, print(then), print(otherwise));
  else
    scf::IfOp::create(builder, condition, print(then));
}

void Code::splitLast(Value index, int64_t count, bool lastDiffers,
                     llvm::function_ref<void(bool)> body) {
  if (!lastDiffers || count == 1)
    return body(lastDiffers);
  branch(equals(index, count - 1), [&] { body(true); }, [&] { body(false); });
}
