//===- MathLibrary.cpp - What generated code may call of libm -------------===//
// The stand-in has the symbols and libm's name, and is thrown away.
//===----------------------------------------------------------------------===//

#include "MathLibrary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"

using namespace amp::cpu;

static constexpr llvm::StringRef mathFunctions[] = {
    "acos",  "acosh", "asin", "asinh", "atan",  "atan2", "atanh",
    "cbrt",  "cos",   "cosh", "erf",   "erfc",  "exp",   "exp2",
    "expm1", "fmod",  "log",  "log10", "log1p", "log2",  "pow",
    "sin",   "sinh",  "tan",  "tanh"};

bool amp::cpu::isMathFunction(llvm::StringRef name) {
  return llvm::is_contained(mathFunctions, name);
}

ObjectFile amp::cpu::emitStubs(llvm::ArrayRef<std::string> names) {
  auto machine =
      llvm::cantFail(CpuTarget::get("x86-64-v3")).createTargetMachine();
  llvm::LLVMContext context;
  llvm::Module module("stubs", context);
  module.setDataLayout(machine->createDataLayout());
  module.setTargetTriple(machine->getTargetTriple());
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
  for (const std::string &name : names) {
    auto *function = llvm::Function::Create(
        type, llvm::GlobalValue::ExternalLinkage, name, module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
    builder.CreateRetVoid();
  }
  ObjectFile object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    llvm::report_fatal_error("LLVM's x86 target writes no object files");
  passes.run(module);
  return object;
}
