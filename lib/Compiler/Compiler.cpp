//===- Compiler.cpp - From a model to an artifact -------------------------===//
//
// Graph, kernels, code, files: one step after the other.
//
//===----------------------------------------------------------------------===//

#include "amp/Compiler/Compiler.h"
#include "Assemble.h"
#include "Graphs.h"
#include "Report.h"
#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "amp/Codegen/Cpu/Backend/Link.h"
#include "amp/Codegen/Cpu/Contraction.h"
#include "amp/Frontend/ReadModel.h"
#include "amp/InitAllDialects.h"
#include "amp/Support/AtomicFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace amp;

void amp::registerCompilerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  cpu::registerBackend(registry);
}

namespace {

LogicalResult fail(const Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return failure();
}

LogicalResult fail(llvm::Error error) {
  return fail(llvm::toString(std::move(error)));
}

/// One compilation; each step needs what the ones before have left.
class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context)
      : options(options), context(context), reader(context) {}

  LogicalResult run();

private:
  LogicalResult prepare();
  LogicalResult makeGraphs();
  LogicalResult makeKernels();
  LogicalResult makeCode();
  LogicalResult write();
  OwningOpRef<ModuleOp> joinGraphs();
  LogicalResult writeGraphs();
  std::string printForFingerprint(int64_t inlineConstantBytes);
  void printPlans(const cpu::CompiledEntry &entry);

  const CompileOptions &options;
  MLIRContext &context;
  ModelReader reader;
  std::optional<cpu::CpuTarget> target;
  std::optional<train::TrainingConfig> config;
  Graphs graphs;
  OwningOpRef<ModuleOp> kernels;
  cpu::ObjectFile code;
  Artifact artifact;
  CompileReport report;
};

} // namespace

/// Everything that can be wrong without reading the model.
LogicalResult Compilation::prepare() {
  llvm::Expected<cpu::CpuTarget> cpuTarget = cpu::CpuTarget::get(options.cpu);
  if (!cpuTarget)
    return fail(cpuTarget.takeError());
  target = std::move(*cpuTarget);
  if (llvm::Error error = checkArtifactPath(options.output))
    return fail(std::move(error));
  if (options.training.empty())
    return success();
  llvm::Expected<train::TrainingConfig> loaded =
      train::TrainingConfig::load(options.training);
  if (!loaded)
    return fail(loaded.takeError());
  config = std::move(*loaded);
  return success();
}

/// The functions of all graphs in one module.
OwningOpRef<ModuleOp> Compilation::joinGraphs() {
  OwningOpRef<ModuleOp> all = ModuleOp::create(UnknownLoc::get(&context));
  for (func::FuncOp function : getFunctions(graphs))
    all->push_back(function.clone());
  return all;
}

/// What decides what is computed: constants that are in the code, but no
/// initial values. Larger constants are tensors of the artifact.
std::string Compilation::printForFingerprint(int64_t inlineConstantBytes) {
  OwningOpRef<ModuleOp> all = joinGraphs();
  auto init = StringAttr::get(&context, train::TrainDialect::getInitAttrName());
  for (func::FuncOp function : all->getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, init);
  std::string text;
  llvm::raw_string_ostream os(text);
  all->print(os, OpPrintingFlags()
                     .elideLargeElementsAttrs(inlineConstantBytes)
                     .elideLargeResourceString());
  return text;
}

LogicalResult Compilation::writeGraphs() {
  std::string text;
  llvm::raw_string_ostream os(text);
  joinGraphs()->print(os);
  os << '\n';
  if (llvm::Error error = writeTextFile(options.graphFile, text))
    return fail(std::move(error));
  return success();
}

LogicalResult Compilation::makeGraphs() {
  OwningOpRef<ModuleOp> model = reader.read(options.model);
  report.finish("read");
  if (!model)
    return failure();
  FailureOr<Graphs> built = buildGraphs(std::move(model), options, config);
  report.finish("graph");
  if (failed(built))
    return failure();
  graphs = std::move(*built);
  return options.graphFile.empty() ? success() : writeGraphs();
}

void Compilation::printPlans(const cpu::CompiledEntry &entry) {
  if (options.printPlan)
    llvm::outs() << entry.name << ":\n" << entry.plan;
  if (options.printMemory)
    llvm::outs() << entry.name << ":\n" << entry.memory;
}

LogicalResult Compilation::makeKernels() {
  cpu::KernelRegistry registry;
  cpu::registerContractionKernels(registry, *target);
  cpu::CpuOptions cpuOptions;
  cpuOptions.registry = &registry;
  kernels = ModuleOp::create(UnknownLoc::get(&context));
  cpu::KernelModule kernelModule(*kernels);
  TensorTable tensors(artifact);
  SmallVector<func::FuncOp> functions = getFunctions(graphs);
  if (functions.empty())
    return fail(options.model + ": there is no function to compile");
  for (func::FuncOp function : functions) {
    FailureOr<cpu::CompiledEntry> entry =
        cpu::generateEntry(function, kernelModule, cpuOptions);
    if (failed(entry))
      return failure();
    tensors.add(function, *entry);
    printPlans(*entry);
    report.addEntry(*entry, llvm::range_size(function.getOps()));
  }
  report.finish("kernels");
  return success();
}

LogicalResult Compilation::makeCode() {
  unsigned threads = options.threads
                         ? options.threads
                         : llvm::hardware_concurrency().compute_thread_count();
  FailureOr<std::vector<cpu::ObjectFile>> objects =
      cpu::compileToObjects(*kernels, *target, threads);
  report.finish("code");
  if (failed(objects))
    return failure();
  llvm::Expected<cpu::ObjectFile> linked = cpu::linkShared(*objects);
  report.finish("link");
  if (!linked)
    return fail(linked.takeError());
  code = std::move(*linked);
  return success();
}

LogicalResult Compilation::write() {
  artifact.cpu = target->getName().str();
  artifact.features = getCodeFeatures(*target);
  artifact.model = llvm::sys::path::filename(options.model).str();
  artifact.code = code;
  if (config)
    describeTraining(*config, artifact);
  else
    artifact.scaler = llvm::json::Object{{"enabled", false}};
  artifact.fingerprint = getFingerprint(
      artifact, printForFingerprint(cpu::CpuOptions().inlineConstantBytes));
  if (llvm::Error error = writeArtifact(artifact, options.output))
    return fail(std::move(error));
  report.finish("write");
  if (options.reportFile.empty())
    return success();
  if (llvm::Error error =
          writeTextFile(options.reportFile, report.print(options, artifact)))
    return fail(std::move(error));
  return success();
}

LogicalResult Compilation::run() {
  return success(succeeded(prepare()) && succeeded(makeGraphs()) &&
                 succeeded(makeKernels()) && succeeded(makeCode()) &&
                 succeeded(write()));
}

LogicalResult amp::compileModel(const CompileOptions &options,
                                MLIRContext &context) {
  return Compilation(options, context).run();
}
