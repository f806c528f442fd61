//===- Compiler.cpp - From a model to an artifact -------------------------===//
//
// Graph, kernels, code, files: one step after the other.
//
//===----------------------------------------------------------------------===//

#include "amp/Compiler/Compiler.h"
#include "Assemble.h"
#include "Graphs.h"
#include "Report.h"
#include "TargetCompiler.h"
#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "amp/Codegen/Cuda/Backend/PtxCompiler.h"
#include "amp/Frontend/ReadModel.h"
#include "amp/InitAllDialects.h"
#include "amp/Support/AtomicFile.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace amp;

void amp::registerCompilerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  cpu::registerBackend(registry);
  cuda::registerBackend(registry);
}

namespace {

/// One compilation; each step needs what the ones before have left.
class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context)
      : options(options), context(context), reader(context), report(options) {}

  /// Without a model, the one that the options name is read.
  LogicalResult run(OwningOpRef<ModuleOp> model = {});

private:
  LogicalResult fail(const Twine &message);
  LogicalResult fail(llvm::Error error) {
    return fail(llvm::toString(std::move(error)));
  }
  LogicalResult finish(llvm::StringRef phase);
  LogicalResult prepare();
  LogicalResult makeGraphs(OwningOpRef<ModuleOp> model);
  LogicalResult makeKernels();
  LogicalResult write();
  OwningOpRef<ModuleOp> joinGraphs();
  LogicalResult writeGraphs();
  std::string printForFingerprint(int64_t inlineConstantBytes);
  void printPlans(const plan::CompiledEntry &entry);

  const CompileOptions &options;
  MLIRContext &context;
  ModelReader reader;
  std::unique_ptr<TargetCompiler> target;
  std::optional<train::TrainingConfig> config;
  Graphs graphs;
  Artifact artifact;
  CompileReport report;
};

} // namespace

LogicalResult Compilation::fail(const Twine &message) {
  return reportError(options, message);
}

/// Ends a phase; fails when no other is wanted.
LogicalResult Compilation::finish(llvm::StringRef phase) {
  report.finish(phase);
  if (options.cancelled && *options.cancelled)
    return fail("the compilation was cancelled");
  return success();
}

/// Everything that can be wrong without reading the model.
LogicalResult Compilation::prepare() {
  FailureOr<std::unique_ptr<TargetCompiler>> created =
      createTargetCompiler(options, context);
  if (failed(created))
    return failure();
  target = std::move(*created);
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

LogicalResult Compilation::makeGraphs(OwningOpRef<ModuleOp> model) {
  if (!model)
    model = reader.read(options.model);
  if (failed(finish("read")) || !model)
    return failure();
  FailureOr<Graphs> built = buildGraphs(std::move(model), options, config);
  if (failed(finish("graph")) || failed(built))
    return failure();
  graphs = std::move(*built);
  for (const OwningOpRef<ModuleOp> &graph : graphs)
    report.addAutocast(*graph);
  return options.graphFile.empty() ? success() : writeGraphs();
}

void Compilation::printPlans(const plan::CompiledEntry &entry) {
  if (options.printPlan)
    llvm::outs() << entry.name << ":\n" << entry.plan;
  if (options.printMemory)
    llvm::outs() << entry.name << ":\n" << entry.memory;
}

LogicalResult Compilation::makeKernels() {
  TensorTable tensors(artifact);
  SmallVector<func::FuncOp> functions = getFunctions(graphs);
  if (functions.empty())
    return fail(options.model + ": there is no function to compile");
  for (func::FuncOp function : functions) {
    FailureOr<plan::CompiledEntry> entry = target->addEntry(function, tensors);
    if (failed(entry))
      return failure();
    printPlans(*entry);
    report.addEntry(*entry, llvm::range_size(function.getOps()));
  }
  if (failed(finish("kernels")))
    return failure();
  return target->makeCode(artifact,
                          [&](StringRef phase) { return finish(phase); });
}

LogicalResult Compilation::write() {
  artifact.model = llvm::sys::path::filename(options.model).str();
  if (config)
    describeTraining(*config, artifact);
  else
    artifact.scaler = llvm::json::Object{{"enabled", false}};
  artifact.fingerprint = getFingerprint(
      artifact, printForFingerprint(target->getInlineConstantBytes()));
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

LogicalResult Compilation::run(OwningOpRef<ModuleOp> model) {
  return success(succeeded(prepare()) &&
                 succeeded(makeGraphs(std::move(model))) &&
                 succeeded(makeKernels()) && succeeded(write()));
}

LogicalResult amp::compileModel(const CompileOptions &options,
                                MLIRContext &context) {
  return Compilation(options, context).run();
}

LogicalResult amp::compileModel(OwningOpRef<ModuleOp> model,
                                const CompileOptions &options) {
  MLIRContext &context = *model->getContext();
  return Compilation(options, context).run(std::move(model));
}
