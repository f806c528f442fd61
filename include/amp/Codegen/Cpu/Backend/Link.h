//===- Link.h - Object files to a shared library or to memory ---*- C++ -*-===//
// lld as a library writes libstep.so; ORC loads the same objects in place.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_BACKEND_LINK_H
#define AMP_CODEGEN_CPU_BACKEND_LINK_H

#include "amp/Codegen/Cpu/Backend/Compile.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace amp::cpu {

/// Links the objects to a shared library that needs nothing but libc's memory
/// functions and libm's functions on doubles, and returns its bytes. An object
/// that needs anything else is an error that names the symbol.
llvm::Expected<ObjectFile> linkShared(llvm::ArrayRef<ObjectFile> objects);

/// The same, written to `path`, which appears whole or not at all.
llvm::Error linkShared(llvm::ArrayRef<ObjectFile> objects,
                       llvm::StringRef path);

/// Objects loaded into this process, until destroyed.
class LoadedCode {
public:
  static llvm::Expected<std::unique_ptr<LoadedCode>>
  load(llvm::ArrayRef<ObjectFile> objects);
  ~LoadedCode();

  /// The address of a public function; null when there is none.
  void *lookup(llvm::StringRef name) const;
  template <typename Function> Function *get(llvm::StringRef name) const {
    return reinterpret_cast<Function *>(lookup(name));
  }

private:
  explicit LoadedCode(std::unique_ptr<llvm::orc::LLJIT> jit);

  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_BACKEND_LINK_H
