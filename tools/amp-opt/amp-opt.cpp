//===- amp-opt.cpp - Runs passes on model graphs --------------------------===//
//
// mlir-opt that also reads and writes .onnx files.
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"
#include "amp/Dialect/Amp/Policy/Explain.h"
#include "amp/InitAllDialects.h"
#include "amp/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include <csignal>
#include <utility>

using namespace mlir;
namespace cl = llvm::cl;

namespace {

struct Options {
  cl::opt<amp::FileKind> emit{
      "emit", cl::desc("Kind of the output (default: by the output's name)"),
      cl::init(amp::FileKind::Unknown),
      cl::values(
          clEnumValN(amp::FileKind::Onnx, "onnx", "ONNX model"),
          clEnumValN(amp::FileKind::Text, "mlir", "MLIR text"),
          clEnumValN(amp::FileKind::Bytecode, "mlirbc", "MLIR bytecode"))};
  cl::opt<int64_t> opset{
      "export-opset", cl::init(0),
      cl::desc("Opset of the ONNX output (default: the lowest that fits, at "
               "least the model's own)")};
  cl::opt<uint64_t> externalData{
      "external-data-threshold", cl::init(0),
      cl::desc("Put tensors of at least this many bytes into a file beside the "
               "ONNX output "
               "(default: only when the model exceeds 2 GiB)")};
  cl::opt<bool> listPolicies{"list-policies",
                             cl::desc("List the autocast policies and exit")};
  cl::opt<bool> listGradients{
      "list-gradients",
      cl::desc("List the operators that have gradient rules and exit")};
  cl::opt<std::string> explain{
      "explain", cl::value_desc("operator"),
      cl::desc(
          "Say what each policy does with an operator, and why, and exit")};
  /// For --help; `expandReport` takes it away.
  cl::opt<std::string> report{
      "report", cl::value_desc("file"),
      cl::desc("With --autocast: write what was decided, and why: JSON or a "
               "page if the name ends in .json or .html, else text")};
};

void printVersion(llvm::raw_ostream &os) {
  os << "amp-opt " AMP_VERSION " (LLVM " LLVM_VERSION_STRING
        ", ONNX opset 26)\n";
}

/// `--report=FILE` or `--report FILE` is `report=FILE` inside
/// `--autocast="..."`.
std::vector<std::string> expandReport(ArrayRef<char *> arguments,
                                      bool &unused) {
  std::vector<std::string> result;
  std::string report;
  bool isNext = false;
  for (StringRef argument : arguments) {
    if (std::exchange(isNext, false) || argument.consume_front("--report=") ||
        argument.consume_front("-report="))
      report = argument.str();
    else if (argument == "--report" || argument == "-report")
      isNext = true;
    else
      result.push_back(argument.str());
  }
  // Without a name: the parser of options says that one is missing.
  if (isNext)
    result.push_back("--report");
  unused = !report.empty();
  for (std::string &argument : result) {
    StringRef name = StringRef(argument).ltrim('-').split('=').first;
    if (report.empty() || name != "autocast" || argument.front() != '-')
      continue;
    argument += StringRef(argument).contains('=') ? " report=" + report
                                                  : "=report=" + report;
    unused = false;
  }
  return result;
}

/// Only findings are wanted: --amp-lint is the one pass and no output is named.
bool isLintOnly(ArrayRef<char *> arguments) {
  bool lint = false;
  for (StringRef argument : arguments.drop_front()) {
    StringRef name = argument.ltrim('-').split('=').first;
    lint |= name == "amp-lint";
    if (argument.starts_with("-") && argument != "-" && name != "amp-lint")
      return false;
  }
  return lint;
}

/// The files that `--autocast` writes beside the model.
std::vector<StringRef> getSideFiles(ArrayRef<char *> arguments) {
  std::vector<StringRef> files;
  for (StringRef argument : arguments) {
    if (argument.ltrim('-').split('=').first != "autocast")
      continue;
    for (StringRef option : llvm::split(argument.split('=').second, ' '))
      if (option.consume_front("report=") ||
          option.consume_front("save-decisions="))
        files.push_back(option);
  }
  return files;
}

/// Whether the model and a file beside it would be written to one path.
bool clashes(ArrayRef<char *> arguments, StringRef input, StringRef output) {
  for (StringRef file : getSideFiles(arguments))
    if (file != "-" && (file == input || file == output)) {
      llvm::errs() << "amp-opt: error: '" << file
                   << "' is the model itself; give the report and the "
                      "decisions files of their own\n";
      return true;
    }
  return false;
}

int explain(StringRef op) {
  if (llvm::Error error = amp::explainOp(op, llvm::outs())) {
    llvm::errs() << "amp-opt: error: --explain: "
                 << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}

int run(int argc, char **argv) {
  Options options;
  cl::SetVersionPrinter(printVersion);
  amp::registerAllPasses();
  DialectRegistry registry;
  amp::registerAllDialects(registry);
  bool unusedReport = false;
  std::vector<std::string> arguments =
      expandReport(ArrayRef(argv, argc), unusedReport);
  if (unusedReport) {
    llvm::errs()
        << "amp-opt: error: --report needs --autocast: it says what autocast "
           "decided\n";
    return 1;
  }
  std::vector<char *> raw;
  for (std::string &argument : arguments)
    raw.push_back(argument.data());
  auto [input, output] = registerAndParseCLIOptions(
      raw.size(), raw.data(),
      "amp-opt: mixed precision for model graphs (.onnx and .mlir)\n",
      registry);
  if (options.listPolicies) {
    amp::listPolicies(llvm::outs());
    return 0;
  }
  if (options.listGradients) {
    MLIRContext context(registry);
    amp::train::listGradients(context, llvm::outs());
    return 0;
  }
  if (!options.explain.empty())
    return explain(options.explain);
  if (clashes(raw, input, output))
    return 1;
  amp::ExportOnnxOptions exportOptions{options.opset, options.externalData};
  return failed(amp::processFile(input, output, options.emit, exportOptions,
                                 isLintOnly(raw), registry));
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A file beyond the size limit is an error of the write, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  return run(argc, argv);
}
