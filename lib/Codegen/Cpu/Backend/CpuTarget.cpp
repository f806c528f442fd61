//===- CpuTarget.cpp - The processor that code is generated for -----------===//
// Feature lists come from LLVM's processor tables and from CPUID.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cpu/Backend/CpuTarget.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <map>
#include <mutex>

using namespace amp::cpu;
using llvm::StringRef;

static constexpr StringRef triple = "x86_64-unknown-linux-gnu";
static constexpr StringRef required[] = {"avx2", "fma", "f16c"};

/// Whether code may use each feature that `name` implies.
static std::map<std::string, bool> getTableFeatures(StringRef name) {
  llvm::SmallVector<StringRef> listed;
  llvm::X86::getFeaturesForCPU(name, listed);
  llvm::StringMap<bool> closure;
  for (StringRef feature : listed) {
    closure[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, /*Enabled=*/true, closure);
  }
  std::map<std::string, bool> features;
  for (auto &feature : closure)
    features[feature.first().str()] = feature.second;
  return features;
}

static std::string join(const std::map<std::string, bool> &features) {
  std::string text;
  for (bool wanted : {true, false})
    for (auto &[feature, has] : features)
      if (has == wanted)
        text +=
            (text.empty() ? "" : ",") + std::string(has ? "+" : "-") + feature;
  return text;
}

llvm::Expected<CpuTarget> CpuTarget::get(StringRef name) {
  std::string cpu =
      name == "native" ? llvm::sys::getHostCPUName().str() : name.str();
  if (llvm::X86::parseArchX86(cpu, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return llvm::createStringError(
        "unknown processor '" + name +
        "': expected native, x86-64-v3, x86-64-v4, znver4 or another x86-64 "
        "name of LLVM's");
  std::map<std::string, bool> features = getTableFeatures(cpu);
  if (name == "native") {
    // A hypervisor may hide what the name implies.
    auto host = llvm::sys::getHostCPUFeatures();
    for (auto &[feature, has] : features)
      if (host.count(feature))
        has = host.lookup(feature);
    for (auto &feature : host)
      if (feature.second)
        features[feature.first().str()] = true;
  }
  for (StringRef feature : required)
    if (!features[feature.str()])
      return llvm::createStringError(
          "processor '" + cpu + "' lacks " + feature +
          ": the code generator needs at least x86-64-v3");
  return CpuTarget(cpu, join(features));
}

bool CpuTarget::has(StringRef feature) const {
  for (StringRef item : llvm::split(features, ','))
    if (item.consume_front("+") && item == feature)
      return true;
  return false;
}

std::string CpuTarget::findMissingOnHost() const {
  auto host = llvm::sys::getHostCPUFeatures();
  for (StringRef item : llvm::split(features, ','))
    // Some names in the table ("x87", "64bit") are none that CPUID reports.
    if (item.consume_front("+") && host.count(item) && !host.lookup(item))
      return item.str();
  return "";
}

std::unique_ptr<llvm::TargetMachine> CpuTarget::createTargetMachine() const {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string error;
  llvm::Triple target(triple);
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(target, error);
  if (!backend)
    llvm::report_fatal_error(llvm::Twine(error));
  llvm::TargetOptions options;
  // a * b + c is one rounding only where the emitter asks for math.fma.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      target, name, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}
