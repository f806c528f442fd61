//===- Emitter.cpp - Arithmetic on scalars and on vectors of lanes --------===//
//
// Types in registers and in memory, and the moves between them.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include <numeric>

using namespace mlir;
using namespace amp::cpu;

Type amp::cpu::getComputeType(Type elementType) {
  if (elementType.isF16() || elementType.isBF16())
    return Float32Type::get(elementType.getContext());
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

Type amp::cpu::getStorageType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isInteger(1))
    return IntegerType::get(context, 8);
  // bf16 is moved as bits and rounded by integer operations: subnormals stay,
  // and machines without bf16 instructions give the same bits.
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (elementType.isF16())
    return elementType;
  return getComputeType(elementType);
}

int64_t amp::cpu::getStorageBytes(Type elementType) {
  return getStorageType(elementType).getIntOrFloatBitWidth() / 8;
}

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

Type Emitter::like(Type element) const {
  return isVector ? Type(VectorType::get({style.width}, element)) : element;
}

int64_t Emitter::getVectorAlignment(Type elementType, int64_t elements) const {
  if (style.bufferAlignment == 0)
    return 0;
  return std::gcd(style.bufferAlignment, std::gcd(style.width, elements) *
                                             getStorageBytes(elementType));
}

Type Emitter::typeLike(Type element, Value x) const {
  return isa<VectorType>(x.getType())
             ? Type(VectorType::get({style.width}, element))
             : element;
}

Value Emitter::broadcast(Value value) {
  if (!isVector || isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(builder, like(value.getType()), value);
}

void Emitter::unify(Value &x, Value &y) {
  bool anyVector = isa<VectorType>(x.getType()) || isa<VectorType>(y.getType());
  if (!anyVector)
    return;
  x = broadcast(x);
  y = broadcast(y);
}

Value Emitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, value);
}

Value Emitter::number(Type type, double value) {
  return arith::ConstantOp::create(builder, FloatAttr::get(type, value));
}

Value Emitter::integer(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, IntegerAttr::get(type, value));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value Emitter::fma(Value x, Value y, Value z) {
  unify(x, y);
  unify(x, z);
  unify(x, y);
  return math::FmaOp::create(builder, x, y, z);
}

Value Emitter::cmpf(arith::CmpFPredicate predicate, Value x, Value y) {
  unify(x, y);
  return arith::CmpFOp::create(builder, predicate, x, y);
}

Value Emitter::cmpi(arith::CmpIPredicate predicate, Value x, Value y) {
  unify(x, y);
  return arith::CmpIOp::create(builder, predicate, x, y);
}

Value Emitter::select(Value condition, Value x, Value y) {
  if (isa<VectorType>(condition.getType())) {
    x = broadcast(x);
    y = broadcast(y);
  }
  unify(x, y);
  return arith::SelectOp::create(builder, condition, x, y);
}

Value Emitter::polynomial(Value x, ArrayRef<double> coefficients) {
  Type type = getElementTypeOrSelf(x.getType());
  Value result = number(type, coefficients.front());
  for (double coefficient : coefficients.drop_front())
    result = fma(result, x, number(type, coefficient));
  return result;
}

/// The upper 16 bits of `x` (f32) rounded to nearest even, as i32 with the
/// lower bits zero; a NaN stays quiet.
Value Emitter::roundBits(Value x) {
  Value bits = bitcast(builder.getI32Type(), x);
  Value odd = andi(shru(bits, i32(16)), i32(1));
  Value rounded = addi(addi(bits, i32(0x7fff)), odd);
  Value isNan = cmpf(arith::CmpFPredicate::UNO, x, x);
  Value quiet = ori(bits, i32(0x400000));
  return andi(select(isNan, quiet, rounded), i32(0xffff0000 - (1LL << 32)));
}

Value Emitter::roundTo(Type elementType, Value x) {
  if (elementType.isBF16() && !style.convertsBF16)
    return bitcast(builder.getF32Type(), roundBits(x));
  if (elementType.isF16() || elementType.isBF16())
    return convert<arith::ExtFOp>(builder.getF32Type(),
                                  convert<arith::TruncFOp>(elementType, x));
  return x;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void Emitter::setMask(int64_t count) {
  mask = Value();
  maskCount = count;
  if (!isVector || count == style.width)
    return;
  SmallVector<bool> on;
  for (int64_t lane = 0; lane < style.width; ++lane)
    on.push_back(lane < count);
  auto type = VectorType::get({style.width}, builder.getI1Type());
  mask = arith::ConstantOp::create(builder, DenseElementsAttr::get(type, on));
}

Value Emitter::allLanes() {
  auto type = VectorType::get({style.width}, builder.getI1Type());
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, true));
}

Value Emitter::iota(int64_t stride) {
  SmallVector<int64_t> values;
  for (int64_t lane = 0; lane < style.width; ++lane)
    values.push_back(lane * stride);
  auto type = VectorType::get({style.width}, builder.getI64Type());
  return arith::ConstantOp::create(
      builder, DenseElementsAttr::get(type, ArrayRef<int64_t>(values)));
}

Value Emitter::addressOf(Value pointer, Value address, Type storage) {
  return LLVM::GEPOp::create(builder, pointer.getType(), storage, pointer,
                             ArrayRef<LLVM::GEPArg>{address});
}

Value Emitter::fromStorage(Value value, Type elementType) {
  if (elementType.isF16())
    return convert<arith::ExtFOp>(builder.getF32Type(), value);
  if (elementType.isBF16())
    return bitcast(
        builder.getF32Type(),
        shl(convert<arith::ExtUIOp>(builder.getI32Type(), value), i32(16)));
  if (elementType.isInteger(1))
    return cmpi(arith::CmpIPredicate::ne, value,
                integer(builder.getI8Type(), 0));
  return value;
}

Value Emitter::toStorage(Value value, Type elementType) {
  if (elementType.isF16())
    return convert<arith::TruncFOp>(elementType, value);
  // The value is one that bf16 holds already: its upper half is the number.
  if (elementType.isBF16())
    return convert<arith::TruncIOp>(
        builder.getI16Type(),
        shru(bitcast(builder.getI32Type(), value), i32(16)));
  if (elementType.isInteger(1))
    return convert<arith::ExtUIOp>(builder.getI8Type(), value);
  return value;
}

Value Emitter::loadScalar(Value pointer, Value address, Type elementType) {
  Type storage = getStorageType(elementType);
  unsigned alignment = getStorageBytes(elementType);
  Value value = LLVM::LoadOp::create(
      builder, storage, addressOf(pointer, address, storage), alignment);
  return fromStorage(value, elementType);
}

Value Emitter::load(Value pointer, Value address, Type elementType,
                    int64_t vectorAlignment) {
  if (!isVector)
    return loadScalar(pointer, address, elementType);
  if (isOneLane()) {
    Value element = loadScalar(pointer, address, elementType);
    Value zero = arith::ConstantOp::create(
        builder, builder.getZeroAttr(like(element.getType())));
    return vector::InsertOp::create(builder, element, zero, int64_t(0));
  }
  Type storage = getStorageType(elementType);
  unsigned alignment = getStorageBytes(elementType);
  Value where = addressOf(pointer, address, storage);
  if (!mask)
    return fromStorage(
        LLVM::LoadOp::create(builder, like(storage), where,
                             vectorAlignment ? vectorAlignment : alignment),
        elementType);
  Value zero =
      arith::ConstantOp::create(builder, builder.getZeroAttr(like(storage)));
  Value value = LLVM::MaskedLoadOp::create(
      builder, like(storage), where, mask, zero,
      builder.getI32IntegerAttr(alignment), /*nontemporal=*/UnitAttr());
  return fromStorage(value, elementType);
}

Value Emitter::gather(Value pointer, Value address, int64_t stride,
                      Type elementType) {
  return gatherAt(pointer, addi(address, iota(stride)), elementType);
}

Value Emitter::gatherAt(Value pointer, Value addresses, Type elementType) {
  if (!isa<VectorType>(addresses.getType()))
    return loadScalar(pointer, addresses, elementType);
  Type storage = getStorageType(elementType);
  Type pointers = VectorType::get({style.width}, pointer.getType());
  Value where = LLVM::GEPOp::create(builder, pointers, storage, pointer,
                                    ArrayRef<LLVM::GEPArg>{addresses});
  Value zero =
      arith::ConstantOp::create(builder, builder.getZeroAttr(like(storage)));
  Value value = LLVM::masked_gather::create(
      builder, like(storage), where, mask ? mask : allLanes(), ValueRange{zero},
      builder.getI32IntegerAttr(getStorageBytes(elementType)));
  return fromStorage(value, elementType);
}

void Emitter::store(Value value, Value pointer, Value address, Type elementType,
                    int64_t vectorAlignment) {
  if (isOneLane() && isa<VectorType>(value.getType()))
    value = vector::ExtractOp::create(builder, value, int64_t(0));
  if (!isOneLane())
    value = broadcast(value);
  value = toStorage(value, elementType);
  Type storage = getStorageType(elementType);
  unsigned alignment = getStorageBytes(elementType);
  Value where = addressOf(pointer, address, storage);
  if (isVector && mask && !isOneLane())
    LLVM::MaskedStoreOp::create(builder, value, where, mask,
                                builder.getI32IntegerAttr(alignment));
  else
    LLVM::StoreOp::create(builder, value, where,
                          isVector && vectorAlignment ? vectorAlignment
                                                      : alignment);
}
