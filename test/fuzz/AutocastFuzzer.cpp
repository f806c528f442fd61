//===- AutocastFuzzer.cpp - Arbitrary MLIR text to the pipeline -----------===//
//
// Text that parses goes through autocast: the result verifies, or a pass says
// what is wrong. The first byte chooses type and policy.
//
//===----------------------------------------------------------------------===//

#include "amp/InitAllDialects.h"
#include "amp/Pipelines/Autocast.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Inputs after which the context is made anew: it keeps all attributes.
static constexpr unsigned inputsPerContext = 500;

static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  amp::registerAllDialects(registry);
  return std::make_unique<MLIRContext>(registry,
                                       MLIRContext::Threading::DISABLED);
}

static const char *getPolicy(uint8_t choice) {
  static constexpr const char *policies[] = {"balanced", "contractions",
                                             "torch-cuda", "torch-cpu"};
  return policies[choice % 4];
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<MLIRContext> context;
  static unsigned count = 0;
  if (size == 0)
    return 0;
  if (count++ % inputsPerContext == 0)
    context = makeContext();
  bool complained = false;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    complained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  if (!module)
    return 0;
  amp::AutocastPipelineOptions options;
  options.dtype = data[0] & 1 ? "f16" : "bf16";
  options.policy = getPolicy(data[0] >> 1);
  PassManager pm(context.get());
  amp::buildAutocastPipeline(pm, options);
  if (failed(pm.run(*module)) && !complained)
    __builtin_trap();
  return 0;
}
