//===- CpuTarget.h - The processor that code is generated for ---*- C++ -*-===//
// Named processors, or the one the compiler runs on.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CPU_BACKEND_CPUTARGET_H
#define AMP_CODEGEN_CPU_BACKEND_CPUTARGET_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"
#include <memory>
#include <string>

namespace amp::cpu {

/// A processor as LLVM names it, with the features code for it may use.
///
/// The least that is accepted is x86-64-v3 (AVX2, FMA, F16C); the code
/// generator relies on those being there.
class CpuTarget {
public:
  /// `name` is "native" or an x86-64 processor that LLVM knows: x86-64-v3,
  /// x86-64-v4, znver4, ... Refused, with a reason: unknown names, processors
  /// below x86-64-v3.
  static llvm::Expected<CpuTarget> get(llvm::StringRef name);

  /// The processor's name; what "native" stood for.
  llvm::StringRef getName() const { return name; }
  /// "+avx2,+fma,...": every feature code may use, sorted, and after them what
  /// the name implies but this machine lacks ("-clzero").
  llvm::StringRef getFeatures() const { return features; }
  bool has(llvm::StringRef feature) const;
  bool hasAvx512() const { return has("avx512f"); }
  bool hasAvx512Bf16() const { return has("avx512bf16"); }

  /// The first feature that code for this target may use and this machine
  /// lacks; empty when the code runs here.
  std::string findMissingOnHost() const;

  std::unique_ptr<llvm::TargetMachine> createTargetMachine() const;

private:
  CpuTarget(std::string name, std::string features)
      : name(std::move(name)), features(std::move(features)) {}

  std::string name, features;
};

} // namespace amp::cpu

#endif // AMP_CODEGEN_CPU_BACKEND_CPUTARGET_H
