//===- ImportOnnxFuzzer.cpp - Arbitrary bytes to the importer -------------===//
//
// Bytes are imported or refused with a message; anything else is a bug. What is
// imported is printed, too, which visits all of it.
//
//===----------------------------------------------------------------------===//

#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Inputs after which the context is made anew: it keeps all attributes.
static constexpr unsigned inputsPerContext = 500;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<MLIRContext> context;
  static unsigned count = 0;
  if (count++ % inputsPerContext == 0)
    context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  bool complained = false;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  std::shared_ptr<llvm::MemoryBuffer> buffer =
      llvm::MemoryBuffer::getMemBufferCopy(
          StringRef(reinterpret_cast<const char *>(data), size), "input");
  OwningOpRef<ModuleOp> module = amp::importOnnx(buffer, "", context.get());
  if (!module && !complained)
    __builtin_trap();
  if (module)
    module->print(llvm::nulls());
  return 0;
}
