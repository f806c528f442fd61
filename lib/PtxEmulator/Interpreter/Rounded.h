//===- Rounded.h - Rounding modes -------------------------------*- C++ -*-===//
// Arithmetic of f32 and f64 that does not round to nearest.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_ROUNDED_H
#define AMP_PTXEMULATOR_ROUNDED_H

#include "Decoder.h"

namespace amp::ptx {

enum class Rounding : uint8_t { Nearest, Zero, Down, Up, NearestAway };

/// .rn, .rz, .rm or .rp of arithmetic, removed; Nearest if there is none.
Rounding takeRounding(Modifiers &modifiers);
/// Null if there is no such operation. Its `flags` must hold the rounding.
Handler pickRounded(std::string_view base, Type type, bool ftz, bool sat);

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_ROUNDED_H
