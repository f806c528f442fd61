//===- PtxCompiler.cpp - Kernels to PTX -----------------------------------===//
// MLIR's passes once for the whole module, LLVM's for each kernel on its own,
// in as many threads as there are.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/Backend/PtxCompiler.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace amp;
using namespace amp::cuda;

/// DeviceMath.c as bitcode.
extern const unsigned char ampDeviceMath[];
extern const unsigned long ampDeviceMathBytes;

/// Every kernel becomes a module of its own after these.
static constexpr llvm::StringRef inlining = "always-inline,globaldce";

void cuda::registerBackend(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

/// Shared memory is addressed with 32 bits: an option of the whole process,
/// which other targets do not look at.
static void useShortPointers() {
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("nvptx-short-ptr");
  if (found != options.end() && found->second->getNumOccurrences() == 0)
    found->second->addOccurrence(0, "nvptx-short-ptr", "true");
}

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    useShortPointers();
  });
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const PtxOptions &options) {
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    llvm::report_fatal_error("LLVM was built without its NVPTX target");
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, options.chip, options.features, llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// MLIR
//===----------------------------------------------------------------------===//

static LogicalResult lowerToLLVMDialect(Operation *module) {
  auto unit = UnitAttr::get(module->getContext());
  module->walk(
      [&](func::FuncOp function) { function->setAttr("llvm.bareptr", unit); });
  PassManager passes(module->getContext(), module->getName().getStringRef());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createConvertToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(module);
}

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

static void runPasses(llvm::Module &module, llvm::TargetMachine &machine,
                      StringRef pipeline) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
  passes.run(module, modules);
}

static bool isKernel(const llvm::Function &function) {
  return !function.isDeclaration() &&
         function.getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Adds the functions of libm that kernels call.
static void linkMath(llvm::Module &module) {
  StringRef bytes(reinterpret_cast<const char *>(ampDeviceMath),
                  ampDeviceMathBytes);
  std::unique_ptr<llvm::Module> math = llvm::cantFail(llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(bytes, "DeviceMath"), module.getContext()));
  math->setTargetTriple(module.getTargetTriple());
  math->setDataLayout(module.getDataLayout());
  for (llvm::Function &function : *math) {
    function.removeFnAttr("target-features");
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("frame-pointer");
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
  }
  if (llvm::Linker::linkModules(module, std::move(math),
                                llvm::Linker::LinkOnlyNeeded))
    llvm::report_fatal_error("the device's math functions do not link");
}

/// Leaves kernels as the only functions.
static void inlineHelpers(llvm::Module &module, llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.isDeclaration() || isKernel(function))
      continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  runPasses(module, machine, inlining);
}

/// A function that kernels call and nobody defines, or an empty name.
static StringRef findMissing(const llvm::Module &module) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty())
      return function.getName();
  return {};
}

using Bitcode = llvm::SmallVector<char, 0>;

/// `kernel` and the globals it uses, as a module of its own that another
/// thread's context can read.
static Bitcode extract(const llvm::Module &module,
                       const llvm::Function &kernel) {
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> part =
      llvm::CloneModule(module, map, [&](const llvm::GlobalValue *value) {
        return value == &kernel || llvm::isa<llvm::GlobalVariable>(value);
      });
  for (llvm::Function &function : llvm::make_early_inc_range(*part))
    if (function.isDeclaration() && function.use_empty())
      function.eraseFromParent();
  for (llvm::GlobalVariable &global :
       llvm::make_early_inc_range(part->globals())) {
    global.removeDeadConstantUsers();
    if (global.use_empty())
      global.eraseFromParent();
  }
  Bitcode bitcode;
  llvm::raw_svector_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*part, stream);
  return bitcode;
}

static std::string compilePart(const Bitcode &bitcode,
                               const PtxOptions &options) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(llvm::parseBitcodeFile(
      {StringRef(bitcode.data(), bitcode.size()), "kernel"}, context));
  auto machine = createMachine(options);
  runPasses(*module, *machine, "default<O3>");
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::AssemblyFile))
    llvm::report_fatal_error("LLVM's NVPTX target writes no text");
  passes.run(*module);
  return text.str().str();
}

/// Calls `work(i)` for all i < count on several threads.
static void forEach(size_t count, unsigned numThreads,
                    llvm::function_ref<void(size_t)> work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i = next++; i < count; i = next++)
      work(i);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<size_t>(numThreads, count); ++i)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

FailureOr<std::vector<PtxKernel>>
cuda::compileToPtx(Operation *module, const PtxOptions &options) {
  initializeTarget();
  if (failed(lowerToLLVMDialect(module)))
    return module->emitError("kernels do not lower to LLVM");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> all =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!all)
    return module->emitError("kernels do not translate to LLVM IR");
  auto machine = createMachine(options);
  all->setTargetTriple(machine->getTargetTriple());
  all->setDataLayout(machine->createDataLayout());
  linkMath(*all);
  inlineHelpers(*all, *machine);
  if (StringRef name = findMissing(*all); !name.empty())
    return module->emitError()
           << "a kernel calls '" << name
           << "', which there is no device code for: compute it in float32";
  std::vector<PtxKernel> kernels;
  std::vector<Bitcode> parts;
  for (const llvm::Function &function : *all) {
    if (!isKernel(function))
      continue;
    kernels.push_back({function.getName().str(), ""});
    parts.push_back(extract(*all, function));
  }
  forEach(parts.size(), options.threads,
          [&](size_t i) { kernels[i].ptx = compilePart(parts[i], options); });
  return kernels;
}
