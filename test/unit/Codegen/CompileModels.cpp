//===- CompileModels.cpp - Models of primitives to one library ------------===//
//
// amp-compile-models OUT model.onnx|model.mlir... : every model becomes an
// entry named after its file in OUT/lib.so; OUT/entries.json tells how to call
// them. For tests of the code generator: nothing is decomposed.
//
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/Link.h"
#include "amp/Codegen/Cpu/Codegen.h"
#include "amp/Codegen/Cpu/Contraction.h"
#include "amp/Dialect/Onnx/Transforms/Passes.h"
#include "amp/Dialect/Train/Transforms/Passes.h"
#include "amp/Frontend/Onnx/ImportOnnx.h"
#include "amp/InitAllDialects.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace amp;

static void printEntry(llvm::json::OStream &os,
                       const cpu::CompiledEntry &entry) {
  os.attributeObject(entry.name, [&] {
    os.attribute("symbol", entry.symbol);
    os.attribute("workspace", static_cast<int64_t>(entry.workspace));
    os.attribute("plan", entry.plan);
    os.attribute("memory", entry.memory);
    os.attributeArray("tensors", [&] {
      for (const plan::TensorInfo &tensor : entry.tensors)
        os.object([&] {
          os.attribute("name", tensor.name);
          os.attribute("role", tensor.role);
          std::string type;
          llvm::raw_string_ostream(type) << tensor.elementType;
          os.attribute("type", type);
          os.attributeArray("shape", [&] {
            for (int64_t size : tensor.shape)
              os.value(size);
          });
        });
    });
  });
}

static FailureOr<cpu::CompiledEntry>
compileModel(StringRef path, cpu::KernelModule &kernels,
             const cpu::CpuOptions &options) {
  MLIRContext *context = kernels.getModule()->getContext();
  OwningOpRef<ModuleOp> model;
  if (path.ends_with(".mlir"))
    model = parseSourceFile<ModuleOp>(path, context);
  else if (auto buffer = llvm::MemoryBuffer::getFile(path))
    model = importOnnx(std::move(*buffer), path, context);
  if (!model)
    return failure();
  PassManager pm(model->getContext());
  pm.addNestedPass<func::FuncOp>(onnx::createInferTypesPass());
  pm.addNestedPass<func::FuncOp>(train::createFoldTransposesPass());
  if (failed(pm.run(*model)))
    return failure();
  auto function = *model->getOps<func::FuncOp>().begin();
  function.setName(llvm::sys::path::stem(path));
  return cpu::generateEntry(function, kernels, options);
}

static int compile(StringRef out, ArrayRef<char *> models, bool fuse,
                   StringRef processor) {
  DialectRegistry registry;
  registerAllDialects(registry);
  cpu::registerBackend(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto target = cpu::CpuTarget::get(processor);
  if (!target) {
    llvm::errs() << toString(target.takeError()) << '\n';
    return 1;
  }
  cpu::KernelRegistry contractions;
  cpu::registerContractionKernels(contractions, *target);
  cpu::CpuOptions options;
  options.registry = &contractions;
  options.fuse = fuse;
  options.inlineConstantBytes = 1 << 20;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  cpu::KernelModule kernels(*module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 1);
  bool ok = true;
  json.object([&] {
    for (char *path : models) {
      auto entry = compileModel(path, kernels, options);
      if (succeeded(entry))
        printEntry(json, *entry);
      else
        ok = false;
    }
  });
  if (!ok || failed(verify(*module)))
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream mlir((out + "/kernels.mlir").str(), error);
  module->print(mlir);
  llvm::raw_fd_ostream entries((out + "/entries.json").str(), error);
  entries << text;
  auto objects = cpu::compileToObjects(*module, *target, /*shards=*/1);
  if (failed(objects))
    return 1;
  if (llvm::Error failed = cpu::linkShared(*objects, (out + "/lib.so").str())) {
    llvm::errs() << toString(std::move(failed)) << '\n';
    return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  bool fuse = true;
  StringRef processor = "native";
  SmallVector<char *> arguments;
  for (char *given : ArrayRef(argv + 1, argc - 1)) {
    StringRef argument = given;
    if (argument == "--no-fuse")
      fuse = false;
    else if (argument.consume_front("--cpu="))
      processor = argument;
    else
      arguments.push_back(given);
  }
  if (arguments.size() < 2) {
    llvm::errs() << "usage: amp-compile-models [--no-fuse] [--cpu=NAME] OUT "
                    "model.onnx|model.mlir...\n";
    return 2;
  }
  return compile(arguments.front(), ArrayRef(arguments).drop_front(), fuse,
                 processor);
}
