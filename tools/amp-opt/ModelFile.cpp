//===- ModelFile.cpp - Reading and writing model files by kind ------------===//
//
// MLIR in and MLIR out is mlir-opt's own main; as soon as one side is ONNX, the
// module is made and written here.
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"
#include "ForeignFile.h"
#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "amp/Frontend/ReadModel.h"
#include "amp/Support/AtomicFile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace amp;

namespace {

LogicalResult fail(const Twine &message) {
  llvm::errs() << "amp-opt: error: " << message << '\n';
  return failure();
}

FileKind kindOfName(StringRef path) {
  return StringSwitch<FileKind>(llvm::sys::path::extension(path))
      .Case(".onnx", FileKind::Onnx)
      .Case(".mlirbc", FileKind::Bytecode)
      .Default(FileKind::Text);
}

OwningOpRef<ModuleOp> parseText(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                llvm::SourceMgr &sources,
                                const MlirOptMainConfig &config,
                                MLIRContext *context) {
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  ParserConfig parserConfig(context, config.shouldVerifyOnParsing());
  return parseSourceFile<ModuleOp>(sources, parserConfig);
}

/// Whether --verify-each was given: without it, the module is verified after
/// import and once before it is written.
bool wantsVerifyEach() {
  auto options = llvm::cl::getRegisteredOptions();
  auto found = options.find("verify-each");
  return found != options.end() && found->second->getNumOccurrences() > 0;
}

LogicalResult runPasses(ModuleOp module, const MlirOptMainConfig &config) {
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  PassManager pm(module->getContext(), module->getName().getStringRef(),
                 PassManager::Nesting::Implicit);
  bool verifyEach = config.shouldVerifyPasses() && wantsVerifyEach();
  pm.enableVerifier(verifyEach);
  if (failed(applyPassManagerCLOptions(pm)) ||
      failed(config.setupPassPipeline(pm)))
    return failure();
  if (config.shouldDumpPassPipeline()) {
    pm.dump();
    llvm::errs() << '\n';
  }
  pm.enableTiming(scope);
  if (failed(pm.run(module)))
    return failure();
  return success(verifyEach || pm.size() == 0 || succeeded(verify(module)));
}

/// Stream into an atomic file; the first error ends the writing and is kept.
class AtomicStream : public llvm::raw_ostream {
public:
  explicit AtomicStream(AtomicFile &file) : file(file) {}
  ~AtomicStream() override { flush(); }

  /// The first error, if any.
  llvm::Error takeError() {
    flush();
    return std::move(error);
  }

private:
  void write_impl(const char *data, size_t size) override {
    position += size;
    if (!error)
      error = file.write(StringRef(data, size));
  }
  uint64_t current_pos() const override { return position; }

  AtomicFile &file;
  uint64_t position = 0;
  llvm::Error error = llvm::Error::success();
};

/// Lets `print` write the file `path`; nothing of it appears unless all of it
/// could be written.
LogicalResult
writeFile(StringRef path,
          llvm::function_ref<LogicalResult(llvm::raw_ostream &)> print) {
  llvm::Expected<std::unique_ptr<AtomicFile>> file = AtomicFile::create(path);
  if (!file)
    return fail(llvm::toString(file.takeError()));
  AtomicStream stream(**file);
  LogicalResult printed = print(stream);
  if (llvm::Error error = stream.takeError())
    return fail(llvm::toString(std::move(error)));
  if (failed(printed))
    return failure();
  if (llvm::Error error = AtomicFile::commit(file->get()))
    return fail(llvm::toString(std::move(error)));
  return success();
}

LogicalResult writeMlir(ModuleOp module, StringRef path, bool bytecode) {
  return writeFile(path, [&](llvm::raw_ostream &os) {
    if (bytecode)
      return writeBytecodeToFile(module, os);
    module.print(os);
    os << '\n';
    return success();
  });
}

LogicalResult writeModule(ModuleOp module, StringRef path, FileKind kind,
                          const ExportOnnxOptions &options) {
  if (path.empty())
    return success();
  if (kind == FileKind::Onnx)
    return exportOnnx(module, path, options);
  return writeMlir(module, path, kind == FileKind::Bytecode);
}

/// The way through a module of ours, for ONNX on either side.
LogicalResult processModule(std::unique_ptr<llvm::MemoryBuffer> buffer,
                            bool isOnnx, StringRef input, StringRef output,
                            FileKind kind, const ExportOnnxOptions &options,
                            const MlirOptMainConfig &config,
                            DialectRegistry &registry) {
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  context.printOpOnDiagnostic(!isOnnx);
  llvm::SourceMgr sources;
  std::unique_ptr<ScopedDiagnosticHandler> handler;
  OwningOpRef<ModuleOp> module;
  if (isOnnx) {
    handler = std::make_unique<ScopedDiagnosticHandler>(
        &context, [&](Diagnostic &diagnostic) {
          return printDiagnostic(input, diagnostic);
        });
    module = importOnnx(std::move(buffer), input, &context);
  } else {
    handler = std::make_unique<SourceMgrDiagnosticHandler>(sources, &context);
    module = parseText(std::move(buffer), sources, config, &context);
  }
  if (!module || failed(runPasses(*module, config)))
    return failure();
  LogicalResult written = writeModule(*module, output, kind, options);
  // The process ends here: taking the module apart op by op would only cost
  // time.
  (void)module.release();
  return written;
}

/// Refuses files of other kinds, before a parser stumbles over them, and
/// splitting where one side is a single model.
LogicalResult checkKinds(StringRef input, StringRef contents, bool isOnnx,
                         FileKind outputKind, bool splits) {
  if (!isOnnx)
    if (std::string what = describeForeignFile(contents); !what.empty())
      return fail(input + ": this is not an ONNX model or MLIR text: " + what);
  if (splits && (isOnnx || outputKind == FileKind::Onnx))
    return fail("--split-input-file makes several modules of one file, but " +
                (isOnnx ? input + " is one ONNX model"
                        : Twine("an ONNX model holds one")) +
                "; leave the option out");
  return success();
}

} // namespace

LogicalResult amp::processFile(StringRef input, StringRef output, FileKind emit,
                               const ExportOnnxOptions &exportOptions,
                               bool findingsOnly, DialectRegistry &registry) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(
      input, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(input + ": cannot read: " + buffer.getError().message());
  if ((*buffer)->getBufferSize() == 0)
    return fail(input + ": the file is empty");
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  bool isOnnx = isOnnxModel((*buffer)->getBuffer());
  FileKind kind = emit != FileKind::Unknown     ? emit
                  : config.shouldEmitBytecode() ? FileKind::Bytecode
                                                : kindOfName(output);
  if (failed(checkKinds(input, (*buffer)->getBuffer(), isOnnx, kind,
                        !config.inputSplitMarker().empty())))
    return failure();
  if (isOnnx || kind == FileKind::Onnx)
    return processModule(std::move(*buffer), isOnnx, input,
                         isOnnx && findingsOnly ? StringRef() : output, kind,
                         exportOptions, config, registry);

  config.emitBytecode(kind == FileKind::Bytecode);
  // The parser wants a terminating zero.
  auto text = llvm::MemoryBuffer::getMemBufferCopy(
      (*buffer)->getBuffer(), (*buffer)->getBufferIdentifier());
  return writeFile(output, [&](llvm::raw_ostream &os) {
    return MlirOptMain(os, std::move(text), registry, config);
  });
}
