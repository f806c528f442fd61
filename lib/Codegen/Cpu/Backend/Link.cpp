//===- Link.cpp - Object files to a shared library or to memory -----------===//
// Drives lld and ORC; checks what the objects need from outside.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/Link.h"
#include "MathLibrary.h"
#include "amp/Support/AtomicFile.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace amp;
using namespace amp::cpu;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// What LLVM makes of loops that copy and fill; every libc has them.
static constexpr StringRef libcSymbols[] = {"memcpy", "memmove", "memset"};

static llvm::MemoryBufferRef asBuffer(const ObjectFile &object) {
  return {StringRef(object.data(), object.size()), "kernels.o"};
}

/// The functions of libm that the objects call. Fails when they need a function
/// that neither they nor libc have: a helper of the compiler's, for example,
/// would be missing at load.
static Expected<std::vector<std::string>>
findMathCalls(llvm::ArrayRef<ObjectFile> objects) {
  llvm::StringSet<> defined, used;
  for (const ObjectFile &object : objects) {
    auto file = llvm::object::ObjectFile::createObjectFile(asBuffer(object));
    if (!file)
      return file.takeError();
    for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
      auto flags = symbol.getFlags();
      auto name = symbol.getName();
      if (!flags || !name)
        return joinErrors(flags.takeError(), name.takeError());
      bool undefined = *flags & llvm::object::SymbolRef::SF_Undefined;
      if (!name->empty())
        (undefined ? used : defined).insert(*name);
    }
  }
  std::vector<std::string> calls;
  for (auto &symbol : used) {
    StringRef name = symbol.first();
    if (defined.contains(name) || name == "_GLOBAL_OFFSET_TABLE_" ||
        llvm::is_contained(libcSymbols, name))
      continue;
    if (!isMathFunction(name))
      return llvm::createStringError(
          "generated code calls '" + name +
          "', which no library of the artifact provides");
    calls.push_back(name.str());
  }
  llvm::sort(calls);
  return calls;
}

static Error writeFile(StringRef path, llvm::ArrayRef<char> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file.write(bytes.data(), bytes.size());
    file.close();
    error = file.error();
  }
  if (!error)
    return Error::success();
  return llvm::createStringError(error, "cannot write '" + path +
                                            "': " + error.message());
}

/// lld keeps global state, so one link at a time.
static Error runLinker(llvm::ArrayRef<std::string> inputs, StringRef soname,
                       const std::string &output) {
  static std::mutex oneAtATime;
  std::lock_guard<std::mutex> lock(oneAtATime);
  std::string name = soname.str(), messages;
  std::vector<const char *> arguments{"ld.lld",
                                      "-shared",
                                      "--threads=1",
                                      "--build-id=none",
                                      "-z",
                                      "noexecstack",
                                      "-z",
                                      "relro",
                                      "-soname",
                                      name.c_str(),
                                      "--hash-style=gnu",
                                      "-o",
                                      output.c_str()};
  for (const std::string &input : inputs)
    arguments.push_back(input.c_str());
  llvm::raw_string_ostream stream(messages);
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0)
    return llvm::createStringError("cannot link the generated code: " +
                                   StringRef(messages).trim());
  return Error::success();
}

/// Adds a stand-in for libm to `inputs`, so that the library asks for libm.
static Error addMathLibrary(llvm::ArrayRef<std::string> calls, StringRef folder,
                            std::vector<std::string> &inputs) {
  if (calls.empty())
    return Error::success();
  std::string object = (folder + "/libm.o").str();
  inputs.push_back((folder + "/libm.so.6").str());
  if (Error error = writeFile(object, emitStubs(calls)))
    return error;
  return runLinker(object, "libm.so.6", inputs.back());
}

Expected<ObjectFile> cpu::linkShared(llvm::ArrayRef<ObjectFile> objects) {
  auto mathCalls = findMathCalls(objects);
  if (!mathCalls)
    return mathCalls.takeError();
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("amp-link", folder))
    return llvm::createStringError(error, "cannot create a temporary folder: " +
                                              error.message());
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });

  std::vector<std::string> inputs;
  for (const ObjectFile &object : objects) {
    inputs.push_back((folder + "/" + llvm::Twine(inputs.size()) + ".o").str());
    if (Error error = writeFile(inputs.back(), object))
      return std::move(error);
  }
  std::string output = (folder + "/libstep.so").str();
  if (Error error = addMathLibrary(*mathCalls, folder, inputs))
    return std::move(error);
  if (Error error = runLinker(inputs, "libstep.so", output))
    return std::move(error);
  auto linked = llvm::MemoryBuffer::getFile(output);
  if (!linked)
    return llvm::createStringError(linked.getError(),
                                   "cannot read '" + output +
                                       "': " + linked.getError().message());
  return ObjectFile((*linked)->getBufferStart(), (*linked)->getBufferEnd());
}

Error cpu::linkShared(llvm::ArrayRef<ObjectFile> objects, StringRef path) {
  Expected<ObjectFile> library = linkShared(objects);
  if (!library)
    return library.takeError();
  auto file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  if (Error error = (*file)->write(llvm::ArrayRef<char>(*library)))
    return error;
  return AtomicFile::commit({file->get()});
}

LoadedCode::LoadedCode(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}

LoadedCode::~LoadedCode() = default;

Expected<std::unique_ptr<LoadedCode>>
LoadedCode::load(llvm::ArrayRef<ObjectFile> objects) {
  if (auto calls = findMathCalls(objects); !calls)
    return calls.takeError();
  llvm::InitializeNativeTarget();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  for (const ObjectFile &object : objects)
    if (Error error = (*jit)->addObjectFile(
            llvm::MemoryBuffer::getMemBufferCopy(asBuffer(object).getBuffer())))
      return std::move(error);
  return std::unique_ptr<LoadedCode>(new LoadedCode(std::move(*jit)));
}

void *LoadedCode::lookup(StringRef name) const {
  auto symbol = jit->lookup(name);
  if (symbol)
    return symbol->toPtr<void *>();
  llvm::consumeError(symbol.takeError());
  return nullptr;
}
