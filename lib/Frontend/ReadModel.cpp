//===- ReadModel.cpp - A model from a file of either kind -----------------===//
//
// Content decides what a file is.
//
//===----------------------------------------------------------------------===//

#include "amp/Frontend/ReadModel.h"
#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace amp;

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

LogicalResult amp::printDiagnostic(StringRef file, Diagnostic &diagnostic) {
  auto print = [&](Diagnostic &one) {
    std::string message = one.str();
    llvm::errs() << file << ": ";
    // A message that starts with a quoted name says itself where it belongs.
    auto name = one.getLocation()->findInstanceOf<NameLoc>();
    if (name && message.front() != '\'')
      llvm::errs() << name.getName().getValue() << ": ";
    llvm::errs() << getSeverityName(one.getSeverity()) << ": " << message
                 << '\n';
  };
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
  return success();
}

OwningOpRef<ModuleOp>
ModelReader::parseText(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  // The parser wants a terminating zero.
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(buffer->getBuffer(),
                                           buffer->getBufferIdentifier()),
      SMLoc());
  handler = std::make_unique<SourceMgrDiagnosticHandler>(sources, &context);
  return parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
}

OwningOpRef<ModuleOp> ModelReader::read(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    llvm::errs() << path
                 << ": error: cannot read: " << buffer.getError().message()
                 << '\n';
    return nullptr;
  }
  if ((*buffer)->getBufferSize() == 0) {
    llvm::errs() << path << ": error: the file is empty\n";
    return nullptr;
  }
  bool isOnnx = isOnnxModel((*buffer)->getBuffer());
  context.printOpOnDiagnostic(!isOnnx);
  if (!isOnnx)
    return parseText(std::move(*buffer));
  handler = std::make_unique<ScopedDiagnosticHandler>(
      &context, [file = path.str()](Diagnostic &diagnostic) {
        return printDiagnostic(file, diagnostic);
      });
  return importOnnx(std::move(*buffer), path, &context);
}
