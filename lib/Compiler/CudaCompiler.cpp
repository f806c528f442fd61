//===- CudaCompiler.cpp - The code of an artifact for CUDA ----------------===//
//
// Kernels to PTX, PTX to binaries where there is ptxas, graphs of launches.
//
//===----------------------------------------------------------------------===//

#include "KernelReport.h"
#include "TargetCompiler.h"
#include "amp/Codegen/Cuda/Backend/PtxCompiler.h"
#include "amp/Codegen/Cuda/Backend/Ptxas.h"
#include "amp/Codegen/Cuda/Codegen.h"
#include "amp/Codegen/Cuda/Kernels.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

using namespace mlir;
using namespace amp;

namespace {

class CudaCompiler : public TargetCompiler {
public:
  CudaCompiler(const CompileOptions &options, std::vector<std::string> chips,
               std::optional<cuda::Ptxas> ptxas, MLIRContext &context)
      : TargetCompiler(options), chips(std::move(chips)),
        ptxas(std::move(ptxas)), kernels(context) {
    cuda::registerCudaKernels(registry);
  }

  int64_t getInlineConstantBytes() const override { return -1; }
  FailureOr<plan::CompiledEntry> addEntry(func::FuncOp function,
                                          TensorTable &tensors) override;
  LogicalResult makeCode(Artifact &artifact, Finish finish) override;

private:
  void addNodes(const cuda::CompiledEntry &entry, ArtifactEntry &result);
  LogicalResult makePtx(Artifact &artifact);
  LogicalResult assemble(Artifact &artifact);
  LogicalResult check(const ArtifactKernel &kernel, StringRef chip,
                      const cuda::KernelBudget &budget) const;

  std::vector<std::string> chips;
  std::optional<cuda::Ptxas> ptxas;
  cuda::StepKernels kernels;
  cuda::KernelRegistry registry;
  KernelReport kernelReport;
  /// Numbers of the kernels that entries launch.
  llvm::StringMap<unsigned> numberOf;
};

} // namespace

void CudaCompiler::addNodes(const cuda::CompiledEntry &entry,
                            ArtifactEntry &result) {
  for (const cuda::Node &node : entry.nodes) {
    ArtifactNode &added = result.nodes.emplace_back();
    if (!node.kernel.empty())
      added.kernel =
          numberOf.insert({node.kernel, numberOf.size()}).first->second;
    added.grid = node.grid;
    added.block = node.block;
    added.sharedBytes = node.sharedBytes;
    added.bytes = node.bytes;
    added.after = node.after;
    for (const cuda::BufferPlace &buffer : node.buffers)
      added.buffers.push_back(
          {buffer.kind == cuda::BufferPlace::Arena, buffer.number});
  }
}

FailureOr<plan::CompiledEntry> CudaCompiler::addEntry(func::FuncOp function,
                                                      TensorTable &tensors) {
  cuda::CudaOptions cudaOptions;
  if (!options.genericKernels)
    cudaOptions.registry = &registry;
  FailureOr<cuda::CompiledEntry> entry =
      cuda::generateEntry(function, kernels, cudaOptions);
  if (failed(entry))
    return failure();
  kernelReport.add(*entry);
  addNodes(*entry, tensors.add(function, *entry));
  return plan::CompiledEntry(std::move(*entry));
}

LogicalResult CudaCompiler::makePtx(Artifact &artifact) {
  cuda::PtxOptions ptxOptions;
  ptxOptions.threads = countThreads(options);
  artifact.kernels.resize(numberOf.size());
  Operation *modules[] = {kernels.getSpecialisedModule(),
                          kernels.getGenericModule()};
  for (Operation *module : modules) {
    FailureOr<std::vector<cuda::PtxKernel>> texts =
        cuda::compileToPtx(module, ptxOptions);
    if (failed(texts))
      return failure();
    for (cuda::PtxKernel &text : *texts) {
      auto number = numberOf.find(text.name);
      if (number != numberOf.end())
        artifact.kernels[number->second] = {text.name, std::move(text.ptx), {}};
    }
  }
  return success();
}

/// Generic kernels may use a stack and spill; the others are made not to.
LogicalResult CudaCompiler::check(const ArtifactKernel &kernel, StringRef chip,
                                  const cuda::KernelBudget &budget) const {
  if (budget.warnings.empty() ||
      StringRef(kernel.name).starts_with(cuda::genericPrefix))
    return success();
  return fail("ptxas says of the kernel " + kernel.name + " for " + chip +
              ": " + llvm::join(budget.warnings, "; "));
}

LogicalResult CudaCompiler::assemble(Artifact &artifact) {
  for (ArtifactKernel &kernel : artifact.kernels)
    kernel.binaries.resize(chips.size());
  std::mutex mutex;
  bool didFail = false;
  llvm::DefaultThreadPool pool(
      llvm::hardware_concurrency(countThreads(options)));
  for (ArtifactKernel &kernel : artifact.kernels)
    for (size_t i = 0; i < chips.size(); ++i)
      pool.async([&, i] {
        llvm::Expected<cuda::Cubin> cubin =
            ptxas->assemble(kernel.ptx, chips[i]);
        std::lock_guard<std::mutex> lock(mutex);
        if (!cubin) {
          didFail |= failed(fail(cubin.takeError()));
          return;
        }
        const cuda::KernelBudget &budget = cubin->budget;
        didFail |= failed(check(kernel, chips[i], budget));
        kernel.binaries[i] = {chips[i],          std::move(cubin->bytes),
                              budget.registers,  budget.sharedBytes,
                              budget.stackBytes, budget.spillBytes};
      });
  pool.wait();
  return success(!didFail);
}

LogicalResult CudaCompiler::makeCode(Artifact &artifact, Finish finish) {
  artifact.kind = Artifact::Kind::Cuda;
  if (failed(makePtx(artifact)) || failed(finish("ptx")))
    return failure();
  if (ptxas) {
    artifact.chips = chips;
    if (failed(assemble(artifact)) || failed(finish("ptxas")))
      return failure();
  }
  if (options.kernelFolder.empty())
    return success();
  if (llvm::Error error = kernelReport.write(artifact, options.kernelFolder))
    return fail(std::move(error));
  return success();
}

/// "sm_80,sm_90a", each checked; an empty text is no chip.
static llvm::Expected<std::vector<std::string>> parseChips(StringRef text) {
  constexpr int leastChip = 80;
  std::vector<std::string> chips;
  if (text.empty())
    return chips;
  for (StringRef chip : llvm::split(text, ',')) {
    StringRef rest = chip;
    unsigned number = 0;
    bool isChip = rest.consume_front("sm_") &&
                  !rest.consumeInteger(10, number) &&
                  (rest.empty() || rest == "a" || rest == "f");
    if (!isChip)
      return llvm::createStringError(
          "--target=cuda: '" + chip +
          "' is no chip; expected sm_80, sm_86, sm_89, sm_90a, ..., "
          "separated by commas");
    if (number < leastChip)
      return llvm::createStringError("--target=cuda: " + chip +
                                     " is too old; the least is sm_80");
    if (!llvm::is_contained(chips, chip))
      chips.push_back(chip.str());
  }
  return chips;
}

FailureOr<std::unique_ptr<TargetCompiler>>
amp::createCudaCompiler(const CompileOptions &options, MLIRContext &context) {
  llvm::Expected<std::vector<std::string>> chips =
      parseChips(StringRef(options.target).split(':').second);
  if (!chips)
    return reportError(options, llvm::toString(chips.takeError()));
  std::optional<cuda::Ptxas> ptxas;
  if (!chips->empty()) {
    llvm::Expected<cuda::Ptxas> found = cuda::Ptxas::find(options.ptxas);
    if (found)
      ptxas = std::move(*found);
    else if (!options.ptxas.empty())
      return reportError(options, llvm::toString(found.takeError()));
    else
      (options.errors ? *options.errors : llvm::errs())
          << "remark: " << llvm::toString(found.takeError())
          << ": the artifact has PTX alone, which the driver compiles when it "
             "is opened; --ptxas= says where it is\n";
  }
  if (ptxas && options.useKernelCache)
    ptxas->setCache(cuda::getPtxasCache());
  return std::unique_ptr<TargetCompiler>(std::make_unique<CudaCompiler>(
      options, std::move(*chips), std::move(ptxas), context));
}
