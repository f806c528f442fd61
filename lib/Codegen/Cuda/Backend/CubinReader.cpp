//===- CubinReader.cpp - Which instructions a binary has ------------------===//
// An instruction of sm_70 and later has 16 bytes; its lowest 12 bits are the
// opcode. Names were found by assembling PTX of known meaning.
//===----------------------------------------------------------------------===//

#include "amp/Codegen/Cuda/Backend/CubinReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace amp::cuda;

static constexpr size_t instructionBytes = 16;
static constexpr unsigned opcodeMask = 0xfff, nop = 0x918;

static StringRef getName(unsigned opcode) {
  switch (opcode) {
  case 0x23c:
    return "HMMA";
  case 0x9f0:
  case 0xdf0:
    return "HGMMA";
  case 0x83b:
    return "LDSM";
  case 0xfae:
    return "LDGSTS";
  case 0x5b4:
    return "UTMALDG";
  case 0x981:
    return "LDG";
  case 0x986:
    return "STG";
  case 0x984:
    return "LDS";
  case 0x388:
    return "STS";
  case 0x983:
    return "LDL";
  case 0x387:
    return "STL";
  case 0xb1d:
    return "BAR";
  case 0xf89:
    return "SHFL";
  case 0x308:
    return "MUFU";
  case 0x9a6:
    return "RED";
  case 0x9c8:
    return "USETMAXREG";
  case 0x94d:
    return "EXIT";
  case 0x947:
    return "BRA";
  default:
    return "";
  }
}

Expected<std::map<std::string, int64_t>>
amp::cuda::countInstructions(StringRef cubin) {
  auto file = object::ELFFile<object::ELF64LE>::create(cubin);
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  std::map<std::string, int64_t> counts;
  for (const auto &section : *sections) {
    Expected<StringRef> name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (!name->starts_with(".text."))
      continue;
    auto code = file->getSectionContents(section);
    if (!code)
      return code.takeError();
    for (size_t i = 0; i + instructionBytes <= code->size();
         i += instructionBytes) {
      unsigned opcode = ((*code)[i] | (*code)[i + 1] << 8) & opcodeMask;
      if (opcode == nop)
        continue;
      StringRef known = getName(opcode);
      ++counts[known.empty() ? "0x" + utohexstr(opcode, /*LowerCase=*/true)
                             : known.str()];
    }
  }
  return counts;
}
