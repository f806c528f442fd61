//===- CpuCompiler.cpp - The code of an artifact for CPUs -----------------===//
//
// Kernels and entries in one module, compiled in shards, linked.
//
//===----------------------------------------------------------------------===//

#include "TargetCompiler.h"
#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "amp/Codegen/Cpu/Backend/Link.h"
#include "amp/Codegen/Cpu/Codegen.h"
#include "amp/Codegen/Cpu/Contraction.h"

using namespace mlir;
using namespace amp;

namespace {

class CpuCompiler : public TargetCompiler {
public:
  CpuCompiler(const CompileOptions &options, cpu::CpuTarget target,
              MLIRContext &context)
      : TargetCompiler(options), target(std::move(target)),
        module(ModuleOp::create(UnknownLoc::get(&context))), kernels(*module) {
    cpu::registerContractionKernels(registry, this->target);
    cpuOptions.registry = &registry;
  }

  int64_t getInlineConstantBytes() const override {
    return cpuOptions.inlineConstantBytes;
  }
  FailureOr<plan::CompiledEntry> addEntry(func::FuncOp function,
                                          TensorTable &tensors) override;
  LogicalResult makeCode(Artifact &artifact, Finish finish) override;

private:
  cpu::CpuTarget target;
  OwningOpRef<ModuleOp> module;
  cpu::KernelModule kernels;
  cpu::KernelRegistry registry;
  cpu::CpuOptions cpuOptions;
};

} // namespace

FailureOr<plan::CompiledEntry> CpuCompiler::addEntry(func::FuncOp function,
                                                     TensorTable &tensors) {
  FailureOr<cpu::CompiledEntry> entry =
      cpu::generateEntry(function, kernels, cpuOptions);
  if (failed(entry))
    return failure();
  tensors.add(function, *entry).symbol = entry->symbol;
  return plan::CompiledEntry(std::move(*entry));
}

LogicalResult CpuCompiler::makeCode(Artifact &artifact, Finish finish) {
  FailureOr<std::vector<cpu::ObjectFile>> objects =
      cpu::compileToObjects(*module, target, countThreads(options));
  if (failed(finish("code")) || failed(objects))
    return failure();
  llvm::Expected<cpu::ObjectFile> linked = cpu::linkShared(*objects);
  if (!linked)
    return fail(linked.takeError());
  artifact.kind = Artifact::Kind::Cpu;
  artifact.cpu = target.getName().str();
  artifact.features = getCodeFeatures(target);
  artifact.code = std::move(*linked);
  return finish("link");
}

FailureOr<std::unique_ptr<TargetCompiler>>
amp::createCpuCompiler(const CompileOptions &options, MLIRContext &context) {
  llvm::Expected<cpu::CpuTarget> target = cpu::CpuTarget::get(options.cpu);
  if (!target)
    return reportError(options, llvm::toString(target.takeError()));
  return std::unique_ptr<TargetCompiler>(
      std::make_unique<CpuCompiler>(options, std::move(*target), context));
}
