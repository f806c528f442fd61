//===- GenericKernel.cpp - Kernels of the CPU as kernels of CUDA ----------===//
//
// Thread t runs piece t of the parallel iteration. Kernels do not care where it
// is cut, so nothing else is needed.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/Codegen.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

static constexpr int64_t warpSize = 32, mostThreads = 128;

StepKernels::StepKernels(MLIRContext &context)
    : container(ModuleOp::create(UnknownLoc::get(&context))),
      generic(ModuleOp::create(UnknownLoc::get(&context))) {
  context.loadDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
  OpBuilder builder(container->getBodyRegion());
  auto module =
      gpu::GPUModuleOp::create(builder, UnknownLoc::get(&context), "kernels");
  specialised.emplace(module);
  cpuKernels.emplace(*generic);
}

/// A kernel that calls the one of the CPU for one iteration.
LLVM::LLVMFuncOp StepKernels::getWrapper(const cpu::KernelCall &call,
                                         int64_t block) {
  func::FuncOp kernel = call.kernel;
  std::string key = (kernel.getSymName() + " " + Twine(call.iterations)).str();
  LLVM::LLVMFuncOp &wrapper = wrappers[key];
  if (wrapper)
    return wrapper;
  MLIRContext *context = generic->getContext();
  ImplicitLocOpBuilder b(UnknownLoc::get(context), context);
  b.setInsertionPointAfter(kernel);
  unsigned numBuffers = kernel.getNumArguments() - 2;
  SmallVector<Type> types(numBuffers, LLVM::LLVMPointerType::get(context, 1));
  auto created = LLVM::LLVMFuncOp::create(
      b,
      genericPrefix.str() + std::to_string(wrappers.size() - 1) + "_" +
          kernel.getSymName().str(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  created->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  created->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                   b.getDenseI32ArrayAttr({static_cast<int32_t>(block), 1, 1}));
  for (unsigned i = 0; i < numBuffers; ++i)
    created.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                       b.getUnitAttr());
  Block *entry = created.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  auto widen = [&](Value value) -> Value {
    return arith::ExtUIOp::create(b, b.getI64Type(), value);
  };
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value blockId = widen(NVVM::BlockIdXOp::create(b, b.getI32Type()));
  Value threadId = widen(NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  Value lo = arith::AddIOp::create(
      b, arith::MulIOp::create(b, blockId, number(block)), threadId);
  Value hi = arith::AddIOp::create(b, lo, number(1));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, lo,
                                       number(call.iterations));
  auto branch = scf::IfOp::create(b, inside);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> arguments;
    for (Value buffer : entry->getArguments())
      arguments.push_back(LLVM::AddrSpaceCastOp::create(
          b, LLVM::LLVMPointerType::get(context), buffer));
    arguments.append({lo, hi});
    func::CallOp::create(b, kernel, arguments);
  }
  LLVM::ReturnOp::create(b, ValueRange());
  return wrapper = created;
}

Launch StepKernels::wrap(const cpu::KernelCall &call) {
  int64_t block =
      std::min(mostThreads, int64_t(llvm::alignTo(call.iterations, warpSize)));
  Launch launch;
  launch.kernel = getWrapper(call, block);
  launch.operands = call.operands;
  launch.grid[0] = llvm::divideCeil(call.iterations, block);
  launch.block[0] = block;
  return launch;
}
