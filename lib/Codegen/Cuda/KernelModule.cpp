//===- KernelModule.cpp - What a CUDA kernel is, and who provides one -----===//
//
// Kernels by key, each printed once.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/KernelModule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace amp::cuda;

static constexpr StringLiteral sharedName = "shared_memory";
static constexpr int64_t sharedAlignment = 1024;
static constexpr unsigned globalSpace = 1, sharedSpace = 3;

KernelModule::KernelModule(gpu::GPUModuleOp module) : module(module) {
  module.getContext()
      ->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                    LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                    scf::SCFDialect, vector::VectorDialect>();
}

LLVM::LLVMFuncOp KernelModule::getOrCreate(StringRef key, StringRef name,
                                           unsigned numBuffers,
                                           std::array<int64_t, 3> block,
                                           Body body) {
  LLVM::LLVMFuncOp &kernel = byKey[key];
  if (kernel)
    return kernel;
  ImplicitLocOpBuilder builder(module.getLoc(), module.getContext());
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(numBuffers, LLVM::LLVMPointerType::get(
                                          builder.getContext(), globalSpace));
  std::string symbol = (name + "_" + Twine(byKey.size() - 1)).str();
  auto created = LLVM::LLVMFuncOp::create(
      builder, symbol,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                  types));
  kernel = created;
  created->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                   builder.getUnitAttr());
  created->setAttr(
      NVVM::NVVMDialect::getReqntidAttrName(),
      builder.getDenseI32ArrayAttr({static_cast<int32_t>(block[0]),
                                    static_cast<int32_t>(block[1]),
                                    static_cast<int32_t>(block[2])}));
  for (unsigned i = 0; i < numBuffers; ++i)
    created.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                       builder.getUnitAttr());
  Block *entry = created.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  body(builder, entry->getArguments());
  LLVM::ReturnOp::create(builder, ValueRange());
  return created;
}

Value KernelModule::getSharedMemory(ImplicitLocOpBuilder &builder) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext(), sharedSpace);
  if (!module.lookupSymbol(sharedName)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    // Of no size: the launch says how much there is.
    LLVM::GlobalOp::create(
        builder, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, sharedName, Attribute(),
        sharedAlignment, sharedSpace);
  }
  return LLVM::AddressOfOp::create(builder, pointer, sharedName);
}
