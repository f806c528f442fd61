//===- KernelRunner.cpp - Runs the kernels of one operation ---------------===//
// Buffers are numbered: arguments, the result, then scratch.
//===----------------------------------------------------------------------===//

#include "KernelRunner.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"
#include <chrono>
#include <cstring>

using namespace amp;
using namespace amp::cpu;

static constexpr unsigned char guardByte = 0xa5;

Buffer::Buffer(size_t size) : memory(size + 192, guardByte), size(size) {
  // NaN in every float type.
  std::memset(data(), 0xff, size);
}

bool Buffer::isGuardIntact() const {
  auto *end = static_cast<const unsigned char *>(data()) + size;
  return std::all_of(end, end + 64,
                     [](unsigned char byte) { return byte == guardByte; });
}

static const llvm::fltSemantics &getSemantics(const std::string &type) {
  if (type == "f16")
    return llvm::APFloat::IEEEhalf();
  if (type == "bf16")
    return llvm::APFloat::BFloat();
  return type == "f32" ? llvm::APFloat::IEEEsingle()
                       : llvm::APFloat::IEEEdouble();
}

static size_t getSize(const std::string &type) {
  return type == "f64" ? 8 : type == "f32" ? 4 : 2;
}

Buffer amp::cpu::encode(const std::vector<double> &values,
                        const std::string &type) {
  size_t size = getSize(type);
  Buffer buffer(values.size() * size);
  auto *to = static_cast<char *>(buffer.data());
  for (double value : values) {
    llvm::APFloat number(value);
    bool lost;
    number.convert(getSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                   &lost);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    std::memcpy(to, &bits, size);
    to += size;
  }
  return buffer;
}

std::vector<double> amp::cpu::decode(const Buffer &buffer,
                                     const std::string &type) {
  size_t size = getSize(type);
  std::vector<double> values(buffer.bytes() / size);
  auto *from = static_cast<const char *>(buffer.data());
  for (double &value : values) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, size);
    from += size;
    llvm::APFloat number(getSemantics(type), llvm::APInt(size * 8, bits));
    bool lost;
    number.convert(llvm::APFloat::IEEEdouble(),
                   llvm::APFloat::rmNearestTiesToEven, &lost);
    value = number.convertToDouble();
  }
  return values;
}

std::vector<double> amp::cpu::roundTo(const std::vector<double> &values,
                                      const std::string &type) {
  return decode(encode(values, type), type);
}

std::unique_ptr<KernelRunner> KernelRunner::create(const std::string &function,
                                                   const std::string &cpu) {
  auto runner = std::make_unique<KernelRunner>();
  if (mlir::succeeded(runner->compile(function, cpu)))
    return runner;
  ADD_FAILURE() << "no kernels for " << function;
  return nullptr;
}

mlir::LogicalResult KernelRunner::compile(const std::string &function,
                                          const std::string &cpu) {
  mlir::DialectRegistry dialects;
  dialects.insert<mlir::func::FuncDialect, onnx::OnnxDialect,
                  train::TrainDialect>();
  registerBackend(dialects);
  mlir::MLIRContext context(dialects, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto source = mlir::parseSourceString<mlir::ModuleOp>(function, &context);
  auto target = CpuTarget::get(cpu);
  if (!source || !target)
    return mlir::failure();
  auto step = *source->getOps<mlir::func::FuncOp>().begin();
  mlir::Operation *op = &step.front().front();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  KernelModule kernels(*module);
  KernelRegistry registry;
  registerContractionKernels(registry, *target);
  auto emitted = (*registry.lookup(op))(op, kernels);
  if (mlir::failed(emitted))
    return mlir::failure();

  numArguments = step.getNumArguments();
  auto countBytes = [](mlir::Type type) -> size_t {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    return tensor.getNumElements() * tensor.getElementTypeBitWidth() / 8;
  };
  for (mlir::Type type : step.getArgumentTypes())
    argumentBytes.push_back(countBytes(type));
  resultBytes = countBytes(op->getResult(0).getType());
  scratch.assign(emitted->scratch.begin(), emitted->scratch.end());
  std::vector<std::string> names;
  for (KernelCall &call : emitted->calls) {
    call.kernel.setPublic();
    names.push_back(call.kernel.getName().str());
    Call &made = calls.emplace_back();
    made.iterations = call.iterations;
    made.grain = call.grain;
    for (KernelOperand operand : call.operands) {
      auto argument =
          llvm::dyn_cast_or_null<mlir::BlockArgument>(operand.value);
      made.operands.push_back(argument ? argument.getArgNumber()
                              : operand.value
                                  ? numArguments
                                  : numArguments + 1 + operand.scratchIndex);
    }
  }
  auto objects = compileToObjects(*module, *target);
  if (mlir::failed(objects))
    return mlir::failure();
  auto loaded = LoadedCode::load(*objects);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return mlir::failure();
  }
  code = std::move(*loaded);
  for (size_t i = 0; i < calls.size(); ++i)
    calls[i].kernel = code->lookup(names[i]);
  return mlir::success();
}

/// A kernel of two to four buffers, called through one pointer to them.
static void callKernel(void *const *buffers, int64_t lo, int64_t hi) {
  void *kernel = buffers[0];
  auto count = reinterpret_cast<intptr_t>(buffers[1]);
  void *const *b = buffers + 2;
  using P = void *;
  if (count == 2)
    reinterpret_cast<void (*)(P, P, int64_t, int64_t)>(kernel)(b[0], b[1], lo,
                                                               hi);
  else if (count == 3)
    reinterpret_cast<void (*)(P, P, P, int64_t, int64_t)>(kernel)(b[0], b[1],
                                                                  b[2], lo, hi);
  else
    reinterpret_cast<void (*)(P, P, P, P, int64_t, int64_t)>(kernel)(
        b[0], b[1], b[2], b[3], lo, hi);
}

void KernelRunner::call(const std::vector<void *> &pointers,
                        runtime::ThreadPool &pool) {
  for (const Call &call : calls) {
    EXPECT_TRUE(call.operands.size() >= 2 && call.operands.size() <= 4);
    std::vector<void *> packed{call.kernel,
                               reinterpret_cast<void *>(call.operands.size())};
    for (int operand : call.operands)
      packed.push_back(pointers[operand]);
    pool.parallelFor(callKernel, packed.data(), call.iterations, call.grain);
  }
}

double KernelRunner::measure(runtime::ThreadPool &pool, int repetitions) {
  std::vector<Buffer> memory;
  std::vector<void *> pointers;
  std::vector<size_t> sizes = argumentBytes;
  sizes.push_back(resultBytes);
  sizes.insert(sizes.end(), scratch.begin(), scratch.end());
  for (size_t size : sizes)
    memory.emplace_back(size);
  for (size_t i = 0; i < memory.size(); ++i) {
    std::memset(memory[i].data(), 0, sizes[i]);
    pointers.push_back(memory[i].data());
  }
  double best = 1e9;
  for (int i = 0; i < repetitions; ++i) {
    auto start = std::chrono::steady_clock::now();
    call(pointers, pool);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return best;
}

Buffer KernelRunner::run(const std::vector<const Buffer *> &arguments,
                         runtime::ThreadPool &pool) {
  EXPECT_EQ(arguments.size(), numArguments);
  Buffer result(resultBytes);
  std::vector<Buffer> memory;
  for (int64_t size : scratch)
    memory.emplace_back(size);
  std::vector<void *> pointers;
  for (const Buffer *argument : arguments)
    pointers.push_back(const_cast<void *>(argument->data()));
  pointers.push_back(result.data());
  for (Buffer &buffer : memory)
    pointers.push_back(buffer.data());
  call(pointers, pool);
  EXPECT_TRUE(result.isGuardIntact());
  for (Buffer &buffer : memory)
    EXPECT_TRUE(buffer.isGuardIntact());
  return result;
}
