//===- EntryFunction.cpp - The function that runs a step ------------------===//
//
// One array on the stack takes the addresses of each call in turn; short loops
// run at once, long ones through the host's threads.
//
//===----------------------------------------------------------------------===//

#include "EntryFunction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace amp::cpu;

namespace {

/// Fields of `struct amp_host`: abi, threads, parallel_for, pool.
constexpr int32_t parallelForField = 2, poolField = 3;

class EntryPrinter {
public:
  EntryPrinter(KernelModule &kernels)
      : kernels(kernels),
        b(kernels.getModule().getLoc(), kernels.getModule().getContext()),
        pointer(LLVM::LLVMPointerType::get(b.getContext())),
        i64(b.getI64Type()) {}

  void print(StringRef symbol, ArrayRef<LocatedCall> calls);

private:
  LLVM::LLVMFuncOp getTask(func::FuncOp kernel);
  Value load(Type type, Value base, int64_t index);
  Value locate(const BufferPlace &location, Value tensors, Value workspace);
  void printCall(const LocatedCall &call, Value frame);
  Value number(int64_t value) {
    return LLVM::ConstantOp::create(b, i64, b.getI64IntegerAttr(value));
  }

  KernelModule &kernels;
  ImplicitLocOpBuilder b;
  Type pointer, i64;
  Value parallelFor, pool;
};

} // namespace

Value EntryPrinter::load(Type type, Value base, int64_t index) {
  Value address =
      LLVM::GEPOp::create(b, pointer, pointer, base,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(index)});
  return LLVM::LoadOp::create(b, type, address);
}

/// `void task(void *const *buffers, int64_t lo, int64_t hi)` around a kernel.
LLVM::LLVMFuncOp EntryPrinter::getTask(func::FuncOp kernel) {
  std::string symbol = (kernel.getSymName() + "_task").str();
  if (auto task = kernels.getModule().lookupSymbol<LLVM::LLVMFuncOp>(symbol))
    return task;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(kernel);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  auto task =
      LLVM::LLVMFuncOp::create(b, symbol, type, LLVM::Linkage::Internal);
  // Row buffers of many kernels must not add up on the entry's stack.
  task.setNoInline(true);
  Block *block = task.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  SmallVector<Value> arguments;
  for (unsigned i = 0, e = kernel.getNumArguments() - 2; i < e; ++i)
    arguments.push_back(load(pointer, block->getArgument(0), i));
  arguments.push_back(block->getArgument(1));
  arguments.push_back(block->getArgument(2));
  func::CallOp::create(b, kernel, arguments);
  LLVM::ReturnOp::create(b, ValueRange());
  return task;
}

Value EntryPrinter::locate(const BufferPlace &location, Value tensors,
                           Value workspace) {
  switch (location.kind) {
  case BufferPlace::Tensor:
    return load(pointer, tensors, location.number);
  case BufferPlace::Arena:
    return LLVM::GEPOp::create(b, pointer, b.getI8Type(), workspace,
                               ArrayRef<LLVM::GEPArg>{number(location.number)});
  case BufferPlace::Global:
    return LLVM::AddressOfOp::create(b, pointer, location.symbol);
  }
  llvm_unreachable("all kinds are covered");
}

void EntryPrinter::printCall(const LocatedCall &call, Value frame) {
  LLVM::LLVMFuncOp task = getTask(call.kernel);
  Value iterations = number(call.iterations);
  if (call.iterations <= call.grain) {
    LLVM::CallOp::create(b, task, ValueRange{frame, number(0), iterations});
    return;
  }
  Value address = LLVM::AddressOfOp::create(b, task);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  {pointer, pointer, pointer, i64, i64});
  LLVM::CallOp::create(b, type,
                       ValueRange{parallelFor, pool, address, frame, iterations,
                                  number(call.grain)});
}

void EntryPrinter::print(StringRef symbol, ArrayRef<LocatedCall> calls) {
  b.setInsertionPointToEnd(kernels.getModule().getBody());
  auto type =
      LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, pointer, pointer});
  auto entry = LLVM::LLVMFuncOp::create(b, symbol, type);
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  Value tensors = block->getArgument(0), workspace = block->getArgument(1);
  auto host = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {b.getI32Type(), b.getI32Type(), pointer, pointer});
  auto loadField = [&](int32_t field) -> Value {
    Value address = LLVM::GEPOp::create(b, pointer, host, block->getArgument(2),
                                        ArrayRef<LLVM::GEPArg>{0, field});
    return LLVM::LoadOp::create(b, pointer, address);
  };
  parallelFor = loadField(parallelForField);
  pool = loadField(poolField);
  size_t most = 1;
  for (const LocatedCall &call : calls)
    most = std::max(most, call.buffers.size());
  Value frame = LLVM::AllocaOp::create(b, pointer, pointer, number(most), 64);
  for (const LocatedCall &call : calls) {
    for (auto [i, location] : llvm::enumerate(call.buffers)) {
      Value slot =
          LLVM::GEPOp::create(b, pointer, pointer, frame,
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      LLVM::StoreOp::create(b, locate(location, tensors, workspace), slot);
    }
    printCall(call, frame);
  }
  Value zero =
      LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(0));
  LLVM::ReturnOp::create(b, zero);
}

void amp::cpu::emitEntry(KernelModule &kernels, StringRef symbol,
                         ArrayRef<LocatedCall> calls) {
  EntryPrinter(kernels).print(symbol, calls);
}

std::string amp::cpu::getOrCreateGlobal(KernelModule &kernels,
                                        ArrayRef<char> bytes) {
  ModuleOp module = kernels.getModule();
  auto digest = llvm::SHA256::hash(ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  std::string symbol =
      "constant_" + llvm::toHex(ArrayRef(digest).take_front(10), true);
  if (module.lookupSymbol(symbol))
    return symbol;
  ImplicitLocOpBuilder b(module.getLoc(), module.getContext());
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                         symbol,
                         b.getStringAttr(StringRef(bytes.data(), bytes.size())),
                         /*alignment=*/64);
  return symbol;
}
