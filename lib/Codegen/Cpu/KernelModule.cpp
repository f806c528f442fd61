//===- KernelModule.cpp - What a kernel is, and who provides one ----------===//
//
// Kernels by key, each printed once.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/KernelModule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace amp::cpu;

KernelModule::KernelModule(ModuleOp module) : module(module) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                    math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
}

func::FuncOp KernelModule::getOrCreate(StringRef key, StringRef name,
                                       unsigned numBuffers, Body body) {
  func::FuncOp &kernel = byKey[key];
  if (kernel)
    return kernel;
  ImplicitLocOpBuilder builder(module.getLoc(), module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(numBuffers,
                          LLVM::LLVMPointerType::get(builder.getContext()));
  types.append(2, builder.getI64Type());
  std::string symbol = (name + "_" + Twine(byKey.size() - 1)).str();
  kernel =
      func::FuncOp::create(builder, symbol, builder.getFunctionType(types, {}));
  kernel.setPrivate();
  for (unsigned i = 0; i < numBuffers; ++i)
    kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      builder.getUnitAttr());
  func::FuncOp created = kernel;
  builder.setInsertionPointToStart(created.addEntryBlock());
  ValueRange arguments = created.getArguments();
  body(builder, arguments.take_front(numBuffers), arguments[numBuffers],
       arguments[numBuffers + 1]);
  func::ReturnOp::create(builder);
  return created;
}

Value KernelModule::asMemRef(ImplicitLocOpBuilder &builder, Value pointer,
                             MemRefType type) {
  auto pointerType = pointer.getType();
  Type i64 = builder.getI64Type();
  SmallVector<Type> fields{pointerType, pointerType, i64};
  auto [strides, offset] = type.getStridesAndOffset();
  if (type.getRank() != 0)
    fields.append(2, LLVM::LLVMArrayType::get(i64, type.getRank()));
  auto structType =
      LLVM::LLVMStructType::getLiteral(builder.getContext(), fields);
  Value descriptor = LLVM::PoisonOp::create(builder, structType);
  auto insert = [&](Value value, ArrayRef<int64_t> position) {
    descriptor =
        LLVM::InsertValueOp::create(builder, descriptor, value, position);
  };
  auto number = [&](int64_t value) {
    return LLVM::ConstantOp::create(builder, i64,
                                    builder.getI64IntegerAttr(value));
  };
  insert(pointer, {0});
  insert(pointer, {1});
  insert(number(offset), {2});
  for (int64_t i = 0; i < type.getRank(); ++i) {
    insert(number(type.getDimSize(i)), {3, i});
    insert(number(strides[i]), {4, i});
  }
  return UnrealizedConversionCastOp::create(builder, Type(type), descriptor)
      .getResult(0);
}
