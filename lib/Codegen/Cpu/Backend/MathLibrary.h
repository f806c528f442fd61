//===- MathLibrary.h - What generated code may call of libm -----*- C++ -*-===//
// A stand-in for libm to link against: the machine that compiles need not have
// the development files, nor the same libm as the one that runs.
//===----------------------------------------------------------------------===//

#ifndef AMP_LIB_CODEGEN_CPU_BACKEND_MATHLIBRARY_H
#define AMP_LIB_CODEGEN_CPU_BACKEND_MATHLIBRARY_H

#include "amp/Codegen/Cpu/Backend/Compile.h"

namespace amp::cpu {

/// Whether `name` is a function of libm on doubles. Those on floats are not
/// called: generated code has its own, whose bits are the same everywhere.
bool isMathFunction(llvm::StringRef name);

/// An object file that defines functions of these names.
ObjectFile emitStubs(llvm::ArrayRef<std::string> names);

} // namespace amp::cpu

#endif // AMP_LIB_CODEGEN_CPU_BACKEND_MATHLIBRARY_H
