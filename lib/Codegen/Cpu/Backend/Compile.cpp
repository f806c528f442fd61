//===- Compile.cpp - Kernels to machine code ------------------------------===//
// The short lowering: four passes of MLIR's, a dozen of LLVM's, code generation
// in shards.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/Utils/SplitModule.h"
#include <thread>

using namespace mlir;
using namespace amp;
using namespace amp::cpu;

/// Kernels come vectorised and unrolled as far as they should be, so nothing
/// here vectorises or unrolls.
static constexpr llvm::StringRef optimizations =
    "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),loop(indvars),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg)";
/// Before the module is split, after which callee and caller may be apart.
static constexpr llvm::StringRef inlining = "always-inline,globaldce";

void cpu::registerBackend(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  vector::VectorDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

static LogicalResult lowerToLLVMDialect(ModuleOp kernels,
                                        const CpuTarget &target) {
  expandHalfConversions(kernels, target);
  auto unit = UnitAttr::get(kernels.getContext());
  kernels.walk(
      [&](func::FuncOp function) { function->setAttr("llvm.bareptr", unit); });
  PassManager passes(kernels.getContext(), ModuleOp::getOperationName());
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(createSCFToControlFlowPass());
  passes.addPass(createConvertToLLVMPass());
  passes.addPass(createReconcileUnrealizedCastsPass());
  return passes.run(kernels);
}

/// The private functions of the module: MLIR's visibility says nothing to LLVM.
static llvm::StringSet<> getPrivateNames(ModuleOp kernels) {
  llvm::StringSet<> names;
  for (auto function : kernels.getOps<func::FuncOp>())
    if (function.isPrivate() && !function.isExternal())
      names.insert(function.getName());
  return names;
}

static void annotate(llvm::Module &module, const llvm::TargetMachine &machine,
                     const llvm::StringSet<> &hidden) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  for (llvm::Function &function : module) {
    if (hidden.contains(function.getName()))
      function.setVisibility(llvm::GlobalValue::HiddenVisibility);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    // Some processors with AVX-512 are tuned for 256 bits by default.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-trapping-math", "true");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

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

static ObjectFile emitObject(llvm::Module &module,
                             llvm::TargetMachine &machine) {
  ObjectFile object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    llvm::report_fatal_error("LLVM's x86 target writes no object files");
  passes.run(module);
  return object;
}

/// Compiles a part of the module, handed over as bitcode because a module
/// belongs to its context and a context to one thread.
static ObjectFile compilePart(const llvm::SmallVector<char, 0> &bitcode,
                              const CpuTarget &target) {
  llvm::LLVMContext context;
  auto module = llvm::cantFail(llvm::parseBitcodeFile(
      {StringRef(bitcode.data(), bitcode.size()), "kernels"}, context));
  auto machine = target.createTargetMachine();
  runPasses(*module, *machine, optimizations);
  return emitObject(*module, *machine);
}

static std::vector<ObjectFile>
compileParts(llvm::Module &module, const CpuTarget &target, unsigned shards) {
  std::vector<llvm::SmallVector<char, 0>> parts;
  llvm::SplitModule(
      module, shards,
      [&](std::unique_ptr<llvm::Module> part) {
        llvm::raw_svector_ostream stream(parts.emplace_back());
        llvm::WriteBitcodeToFile(*part, stream);
      },
      /*PreserveLocals=*/false, /*RoundRobin=*/true);
  std::vector<ObjectFile> objects(parts.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < parts.size(); ++i)
    threads.emplace_back(
        [&, i] { objects[i] = compilePart(parts[i], target); });
  objects[0] = compilePart(parts[0], target);
  for (std::thread &thread : threads)
    thread.join();
  return objects;
}

FailureOr<std::vector<ObjectFile>>
cpu::compileToObjects(ModuleOp kernels, const CpuTarget &target,
                      unsigned shards) {
  llvm::StringSet<> hidden = getPrivateNames(kernels);
  if (failed(lowerToLLVMDialect(kernels, target)))
    return kernels.emitError("kernels do not lower to LLVM");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError("kernels do not translate to LLVM IR");
  auto machine = target.createTargetMachine();
  annotate(*module, *machine, hidden);
  runPasses(*module, *machine, inlining);
  if (shards > 1)
    return compileParts(*module, target, shards);
  runPasses(*module, *machine, optimizations);
  std::vector<ObjectFile> objects;
  objects.push_back(emitObject(*module, *machine));
  return objects;
}
