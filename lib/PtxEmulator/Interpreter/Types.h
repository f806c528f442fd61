//===- Types.h - Types and state spaces of PTX ------------------*- C++ -*-===//
// The fundamental types as an enumeration, and what to know of each.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_TYPES_H
#define AMP_PTXEMULATOR_TYPES_H

#include <cstdint>
#include <string_view>

namespace amp::ptx {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  B32,
  U32,
  S32,
  F32,
  TF32,
  F16x2,
  BF16x2,
  B64,
  U64,
  S64,
  F64,
  B128
};

enum class Space : uint8_t { Generic, Global, Const, Shared, Local, Param };

/// The type a modifier names ("f32"); None if it names no type.
Type parseType(std::string_view name);
/// Bytes of one element; 0 for predicates.
uint32_t getBytes(Type type);
bool isFloat(Type type);
bool isSigned(Type type);
std::string_view getName(Type type);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_TYPES_H
