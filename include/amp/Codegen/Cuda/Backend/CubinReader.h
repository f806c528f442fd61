//===- CubinReader.h - Which instructions a binary has ----------*- C++ -*-===//
// Counts of opcodes in the code of one kernel, without NVIDIA's disassembler.
//===----------------------------------------------------------------------===//

#ifndef AMP_CODEGEN_CUDA_BACKEND_CUBINREADER_H
#define AMP_CODEGEN_CUDA_BACKEND_CUBINREADER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace amp::cuda {

/// Instructions of the code sections of `cubin` by the name of their opcode;
/// by its number ("0x9ab") where this reader knows no name. No-ops that pad the
/// code are left out.
llvm::Expected<std::map<std::string, int64_t>>
countInstructions(llvm::StringRef cubin);

} // namespace amp::cuda

#endif // AMP_CODEGEN_CUDA_BACKEND_CUBINREADER_H
