//===- amp-compile.cpp - Compiles models ahead of time --------------------===//
//
// A training step, or inference, as an artifact that amp-run and the C
// interface run.
//
//===----------------------------------------------------------------------===//

#include "amp/Compiler/Compiler.h"
#include "amp/Support/AtomicFile.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include <csignal>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("amp-compile options");

struct Options {
  cl::opt<std::string> model{cl::Positional, cl::desc("model.onnx|model.mlir"),
                             cl::cat(category)};
  cl::opt<std::string> output{"o", cl::value_desc("path"), cl::cat(category),
                              cl::desc("Folder to write the artifact to")};
  cl::opt<std::string> training{
      "training", cl::value_desc("train.json"), cl::cat(category),
      cl::desc("Compile a training step, as this file configures it")};
  cl::opt<bool> inference{"inference", cl::cat(category),
                          cl::desc("Compile the model's outputs only")};
  cl::opt<bool> dataParallel{
      "data-parallel", cl::cat(category),
      cl::desc("With --training: also the entries that several ranks run "
               "(amp-run train --ranks N, or mpirun)")};
  cl::opt<bool> traceNonfinite{
      "trace-nonfinite", cl::cat(category),
      cl::desc("With --training: also the entry by which amp-run names the "
               "node that made a step's first non-finite value")};
  cl::opt<std::string> autocast{
      "autocast", cl::value_desc("options"), cl::cat(category),
      cl::desc("With --inference: options of amp-opt's --autocast "
               "(\"dtype=bf16 policy=balanced\")")};
  cl::list<std::string> bind{"bind", cl::CommaSeparated,
                             cl::value_desc("name=size,..."), cl::cat(category),
                             cl::desc("Sizes of symbolic dimensions")};
  cl::opt<std::string> target{
      "target", cl::init("cpu"), cl::value_desc("cpu|cuda|cuda:chip,..."),
      cl::cat(category),
      cl::desc("What the code is for: cpu (default); cuda: PTX, which drivers "
               "compile; cuda:sm_80,sm_90a: code for these chips, too")};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("path"), cl::cat(category),
      cl::desc("With --target=cuda: NVIDIA's assembler (default: the one on "
               "PATH, in $CUDA_HOME/bin or /usr/local/cuda/bin; without one "
               "the artifact has PTX alone)")};
  cl::opt<std::string> printKernels{
      "print-kernels", cl::value_desc("folder"), cl::cat(category),
      cl::desc("With --target=cuda: write each kernel's PTX, and kernels.json: "
               "registers, spills, instructions, predicted times")};
  cl::opt<bool> genericKernels{
      "generic-kernels", cl::cat(category),
      cl::desc("With --target=cuda: only kernels that compute what the CPU's "
               "do, bit for bit; slow, for comparing")};
  cl::opt<bool> noKernelCache{
      "no-kernel-cache", cl::cat(category),
      cl::desc("Assemble all kernels anew, and keep nothing in the cache "
               "($XDG_CACHE_HOME/amp-mlir/ptxas)")};
  cl::opt<std::string> cpu{
      "cpu", cl::init("native"), cl::cat(category),
      cl::desc("Processor the code is for: native, x86-64-v3, x86-64-v4, "
               "znver4, ... (default: native)")};
  cl::opt<bool> printPlan{
      "print-plan", cl::cat(category),
      cl::desc("Print which operations became which kernels")};
  cl::opt<bool> printMemory{
      "print-memory", cl::cat(category),
      cl::desc("Print where intermediates lie, and the peak")};
  cl::opt<std::string> report{
      "report", cl::value_desc("file.json|file.html"), cl::cat(category),
      cl::desc("Write what was decided and compiled, and how long each phase "
               "took: as JSON, or as a page")};
  cl::opt<bool> progress{
      "progress", cl::cat(category),
      cl::desc("On a terminal, show the phase and its seconds meanwhile")};
  cl::opt<std::string> emitGraph{
      "emit-graph", cl::value_desc("file.mlir"), cl::cat(category),
      cl::desc("Write the graph of primitives that kernels are made of")};
  cl::opt<unsigned> jobs{
      "jobs", cl::init(0), cl::cat(category),
      cl::desc("Threads to compile with (default: one per processor)")};
  cl::opt<bool> initConfig{
      "init-config", cl::cat(category),
      cl::desc("Print a train.json to start from, or write it to -o")};
};

int fail(const Twine &message) {
  llvm::errs() << "amp-compile: error: " << message << '\n';
  return 1;
}

void printVersion(llvm::raw_ostream &os) {
  os << "amp-compile " AMP_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
}

int writeInitialConfig(const Options &options, MLIRContext &context) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(amp::printInitialConfig(options.model, os, context)))
    return 1;
  std::string path = options.output.empty() ? "-" : options.output.getValue();
  if (llvm::Error error = amp::writeTextFile(path, text))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

int compile(const Options &options, MLIRContext &context) {
  if (options.output.empty())
    return fail("say with -o which folder the artifact goes to");
  if (!options.training.empty() && options.inference)
    return fail("--training and --inference exclude each other");
  if (!options.autocast.empty() && !options.inference)
    return fail("--autocast is for --inference; train.json says it for "
                "training");
  if (options.dataParallel && options.training.empty())
    return fail("--data-parallel is for --training");
  bool forCuda = StringRef(options.target).starts_with("cuda");
  if (forCuda && options.cpu.getNumOccurrences())
    return fail("--cpu is for --target=cpu");
  if (!forCuda && (!options.ptxas.empty() || options.genericKernels ||
                   !options.printKernels.empty()))
    return fail("--ptxas, --generic-kernels and --print-kernels are for "
                "--target=cuda");
  if (options.traceNonfinite && options.training.empty())
    return fail("--trace-nonfinite is for --training");
  amp::CompileOptions compileOptions;
  compileOptions.model = options.model;
  compileOptions.output = options.output;
  compileOptions.training = options.training;
  compileOptions.inference = options.inference;
  compileOptions.dataParallel = options.dataParallel;
  compileOptions.traceNonfinite = options.traceNonfinite;
  compileOptions.autocast = options.autocast;
  compileOptions.bind.assign(options.bind.begin(), options.bind.end());
  compileOptions.cpu = options.cpu;
  compileOptions.target = options.target;
  compileOptions.ptxas = options.ptxas;
  compileOptions.kernelFolder = options.printKernels;
  compileOptions.genericKernels = options.genericKernels;
  compileOptions.useKernelCache = !options.noKernelCache;
  compileOptions.graphFile = options.emitGraph;
  compileOptions.reportFile = options.report;
  compileOptions.printPlan = options.printPlan;
  compileOptions.printMemory = options.printMemory;
  compileOptions.showProgress = options.progress;
  compileOptions.threads = options.jobs;
  return failed(amp::compileModel(compileOptions, context));
}

int run(int argc, char **argv) {
  Options options;
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter(printVersion);
  cl::ParseCommandLineOptions(
      argc, argv, "amp-compile: training steps and inference ahead of time\n");
  if (options.model.empty())
    return fail("which model? amp-compile model.onnx --training train.json -o "
                "step/ (see --help)");
  DialectRegistry registry;
  amp::registerCompilerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  return options.initConfig ? writeInitialConfig(options, context)
                            : compile(options, context);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file beyond the size limit is an error of the write, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  int result = run(argc, argv);
  llvm::outs().flush();
  return result;
}
