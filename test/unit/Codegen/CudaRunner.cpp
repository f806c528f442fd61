//===- CudaRunner.cpp - Runs specialised kernels on the emulator ----------===//
// Every value of the function has a buffer of its own.
//===----------------------------------------------------------------------===//

#include "CudaRunner.h"
#include "Codegen/Cpu/Elementwise.h"
#include "Codegen/Cuda/Kernels/MatMul.h"
#include "amp/Codegen/Cuda/Kernels.h"
#include "amp/Dialect/Onnx/IR/OnnxDialect.h"
#include "amp/Dialect/Train/IR/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace amp;
using namespace amp::cuda;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

static const llvm::fltSemantics *getSemantics(const std::string &type) {
  return type == "f16"    ? &llvm::APFloat::IEEEhalf()
         : type == "bf16" ? &llvm::APFloat::BFloat()
         : type == "f32"  ? &llvm::APFloat::IEEEsingle()
         : type == "f64"  ? &llvm::APFloat::IEEEdouble()
                          : nullptr;
}

static size_t getSize(const std::string &type) {
  return type == "f64" || type == "i64"   ? 8
         : type == "f32" || type == "i32" ? 4
         : type == "i1" || type == "i8"   ? 1
                                          : 2;
}

static uint64_t encode(double value, const std::string &type) {
  const llvm::fltSemantics *semantics = getSemantics(type);
  if (!semantics)
    return static_cast<int64_t>(value);
  llvm::APFloat number(value);
  bool lost;
  number.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.bitcastToAPInt().getZExtValue();
}

static double decode(uint64_t bits, const std::string &type) {
  size_t size = getSize(type);
  const llvm::fltSemantics *semantics = getSemantics(type);
  if (!semantics)
    return llvm::SignExtend64(bits, size * 8);
  llvm::APFloat number(*semantics, llvm::APInt(size * 8, bits));
  bool lost;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

std::vector<double> amp::cuda::roundTo(const std::vector<double> &values,
                                       const std::string &type) {
  std::vector<double> result;
  for (double value : values)
    result.push_back(decode(encode(value, type), type));
  return result;
}

double amp::cuda::getEpsilon(const std::string &type) {
  return type == "f64"   ? 0x1p-52
         : type == "f32" ? 0x1p-23
         : type == "f16" ? 0x1p-10
                         : 0x1p-7;
}

std::vector<double> amp::cuda::random(int64_t count, unsigned seed,
                                      const std::string &type) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = normal(generator);
  return roundTo(values, type);
}

bool amp::cuda::agree(double x, double y, double tolerance) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= tolerance;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static std::string spell(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

int CudaRunner::addBuffer(int64_t elements, const std::string &type) {
  buffers.push_back({elements, type});
  return buffers.size() - 1;
}

std::unique_ptr<CudaRunner> CudaRunner::create(const std::string &text,
                                               const ProductOptions &options) {
  auto runner = std::make_unique<CudaRunner>();
  if (mlir::succeeded(runner->compile(text, options)))
    return runner;
  ADD_FAILURE() << "no kernels for " << text;
  return nullptr;
}

mlir::LogicalResult CudaRunner::compile(const std::string &text,
                                        const ProductOptions &options) {
  mlir::DialectRegistry dialects;
  dialects.insert<mlir::func::FuncDialect, onnx::OnnxDialect,
                  train::TrainDialect>();
  registerBackend(dialects);
  mlir::MLIRContext context(dialects, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto source = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!source)
    return mlir::failure();
  auto function = *source->getOps<mlir::func::FuncOp>().begin();
  mlir::OwningOpRef<mlir::ModuleOp> top =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  mlir::ImplicitLocOpBuilder builder(top->getLoc(), &context);
  builder.setInsertionPointToStart(top->getBody());
  KernelModule kernels(mlir::gpu::GPUModuleOp::create(builder, "kernels"));
  KernelRegistry registry;
  registerCudaKernels(registry);

  llvm::DenseMap<mlir::Value, int> numbers;
  auto getBuffer = [&](mlir::Value value) {
    value = plan::stripViews(value);
    auto found = numbers.find(value);
    if (found != numbers.end())
      return found->second;
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    return numbers[value] =
               addBuffer(type.getNumElements(), spell(type.getElementType()));
  };
  for (mlir::Value argument : function.getArguments())
    argumentBuffers.push_back(getBuffer(argument));
  auto groups = plan::fuse(function, {true, cpu::isElementwise});
  for (const plan::Group &group : groups) {
    mlir::FailureOr<KernelLaunches> emitted = KernelLaunches();
    mlir::Operation *op = group.ops.front();
    auto matmul = llvm::dyn_cast<train::MatMulOp>(op);
    if (group.kind != plan::GroupKind::Custom)
      emitted = (*registry.getGroupEmitter())(
          group, kernels, [&](mlir::Value value) { return getBuffer(value); });
    else if (matmul && (options.tiling || options.sabotage != Sabotage::None))
      emitted = emitProduct(
          *describeMatMul(matmul),
          {matmul.getA(), matmul.getB(), matmul.getResult(), std::nullopt},
          kernels, options);
    else if (const KernelEmitter *emitter = registry.lookup(op))
      emitted = (*emitter)(op, kernels);
    if (mlir::failed(emitted) || emitted->launches.empty()) {
      op->emitError() << "has no specialised kernel";
      return mlir::failure();
    }
    std::vector<int> scratch;
    for (int64_t bytes : emitted->scratch)
      scratch.push_back(addBuffer(bytes, "i8"));
    for (Launch &launch : emitted->launches) {
      Step &step = steps.emplace_back();
      step.kernel = launch.kernel.getName().str();
      step.grid = launch.grid;
      step.block = launch.block;
      step.sharedBytes = launch.sharedBytes;
      for (const KernelOperand &operand : launch.operands)
        step.buffers.push_back(operand.value ? getBuffer(operand.value)
                                             : scratch[operand.scratchIndex]);
    }
  }
  for (mlir::Value value : function.front().getTerminator()->getOperands())
    resultBuffers.push_back(getBuffer(value));
  auto texts = compileToPtx(kernels.getModule(), {});
  if (mlir::failed(texts))
    return mlir::failure();
  ptx = std::move(*texts);
  return mlir::success();
}

CudaResults CudaRunner::run(const std::vector<std::vector<double>> &arguments) {
  CudaResults results;
  ptx::DeviceMemory memory;
  std::vector<uint64_t> addresses;
  for (const BufferInfo &buffer : buffers)
    addresses.push_back(memory.allocate(
        std::max<uint64_t>(1, buffer.elements * getSize(buffer.type))));
  for (size_t i = 0; i < arguments.size(); ++i) {
    int buffer = argumentBuffers[i];
    size_t size = getSize(buffers[buffer].type);
    EXPECT_EQ(arguments[i].size(), size_t(buffers[buffer].elements));
    auto *to = reinterpret_cast<char *>(addresses[buffer]);
    for (double value : arguments[i]) {
      uint64_t bits = encode(value, buffers[buffer].type);
      std::memcpy(to, &bits, size);
      to += size;
    }
    memory.markInitialised(addresses[buffer], arguments[i].size() * size);
  }
  std::map<std::string, std::unique_ptr<ptx::Module>> modules;
  for (const PtxKernel &kernel : ptx) {
    std::string error;
    modules[kernel.name] = ptx::Module::parse(kernel.ptx, memory, error);
    EXPECT_TRUE(modules[kernel.name]) << kernel.name << ": " << error;
    if (!modules[kernel.name])
      return results;
  }
  for (const Step &step : steps) {
    std::vector<uint64_t> parameters;
    for (int buffer : step.buffers)
      parameters.push_back(addresses[buffer]);
    ptx::Launch launch;
    for (int i = 0; i < 3; ++i) {
      launch.grid[i] = step.grid[i];
      launch.block[i] = step.block[i];
    }
    launch.dynamicShared = step.sharedBytes;
    launch.parameters = parameters.data();
    const ptx::Kernel *kernel =
        modules[step.kernel] ? modules[step.kernel]->findKernel(step.kernel)
                             : nullptr;
    EXPECT_TRUE(kernel) << step.kernel;
    if (!kernel)
      return results;
    ptx::LaunchReport report = ptx::run(*kernel, launch, memory);
    results.findings.insert(results.findings.end(), report.findings.begin(),
                            report.findings.end());
    results.lines.insert(results.lines.end(), report.lines.begin(),
                         report.lines.end());
    results.counters.add(report.counters);
  }
  for (int buffer : resultBuffers) {
    const BufferInfo &info = buffers[buffer];
    const char *from = reinterpret_cast<const char *>(addresses[buffer]);
    size_t size = getSize(info.type);
    std::vector<double> &values = results.values.emplace_back();
    for (int64_t i = 0; i < info.elements; ++i) {
      uint64_t bits = 0;
      std::memcpy(&bits, from + i * size, size);
      values.push_back(decode(bits, info.type));
    }
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

/// Counts the instructions of all code sections.
static std::map<unsigned, int64_t> countOpcodes(llvm::StringRef cubin) {
  std::map<unsigned, int64_t> counts;
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(cubin, "cubin"));
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return counts;
  }
  for (const llvm::object::SectionRef &section : (*object)->sections()) {
    auto name = section.getName();
    if (!name || !name->starts_with(".text.")) {
      llvm::consumeError(name.takeError());
      continue;
    }
    auto contents = section.getContents();
    if (!contents) {
      llvm::consumeError(contents.takeError());
      continue;
    }
    for (size_t at = 0; at + 16 <= contents->size(); at += 16) {
      uint16_t low;
      std::memcpy(&low, contents->data() + at, 2);
      ++counts[low & 0xfff];
    }
  }
  return counts;
}

std::optional<AssembledKernel> amp::cuda::assemble(const PtxKernel &kernel,
                                                   const std::string &chip) {
  auto program = llvm::sys::findProgramByName("ptxas");
  if (!program)
    program = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  if (!program)
    return std::nullopt;
  llvm::SmallString<128> folder;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("amp-ptxas", folder));
  auto clean =
      llvm::scope_exit([&] { llvm::sys::fs::remove_directories(folder); });
  std::string base = folder.str().str() + "/kernel";
  {
    std::error_code error;
    llvm::raw_fd_ostream(base + ".ptx", error) << kernel.ptx;
  }
  std::string arch = "-arch=" + chip, log = base + ".log";
  int status = llvm::sys::ExecuteAndWait(
      *program,
      {*program, "-v", "--warn-on-spills", arch, base + ".ptx", "-o",
       base + ".cubin"},
      std::nullopt,
      {llvm::StringRef(), llvm::StringRef(log), llvm::StringRef(log)});
  AssembledKernel result;
  if (auto text = llvm::MemoryBuffer::getFile(log))
    result.log = (*text)->getBuffer().str();
  EXPECT_EQ(status, 0) << kernel.name << ": " << result.log;
  auto find = [&](llvm::StringRef pattern) -> int64_t {
    llvm::SmallVector<llvm::StringRef> match;
    int64_t number = -1;
    if (llvm::Regex(pattern).match(result.log, &match))
      match[1].getAsInteger(10, number);
    return number;
  };
  result.registers = find("Used ([0-9]+) registers");
  result.spillBytes = find("([0-9]+) bytes spill stores");
  result.isSerialized = result.log.find("(C75") != std::string::npos;
  if (auto cubin = llvm::MemoryBuffer::getFile(base + ".cubin"))
    result.opcodes = countOpcodes((*cubin)->getBuffer());
  return result;
}
