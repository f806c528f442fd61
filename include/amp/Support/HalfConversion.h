//===- HalfConversion.h - Bulk conversion of float32 to 16 bits -*- C++ -*-===//
// Narrows arrays of float32, and counts what narrowing would lose.
//===----------------------------------------------------------------------===//

#ifndef AMP_SUPPORT_HALFCONVERSION_H
#define AMP_SUPPORT_HALFCONVERSION_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace amp {

enum class HalfFormat : uint8_t { Float16, BFloat16 };

/// What becomes of finite values that the narrow type cannot hold: infinity and
/// zero (`Round`), or its largest finite and smallest nonzero value (`Clamp`).
enum class HalfRange : uint8_t { Round, Clamp };

/// Narrows `count` float32 values at `source` into `target`; neither need be
/// aligned. Rounds to nearest, ties to even; keeps the sign of zero, infinities
/// and subnormals. A NaN stays one: sign and upper payload bits are kept, the
/// quiet bit is set (as the hardware does).
void convertToHalf(const char *source, char *target, size_t count,
                   HalfFormat format, HalfRange range = HalfRange::Round);

/// One value, the same way.
uint16_t convertToHalf(float value, HalfFormat format,
                       HalfRange range = HalfRange::Round);

/// The float32 number a narrow value is.
float convertFromHalf(uint16_t value, HalfFormat format);

/// What rounding to a narrow type does to finite values.
struct NarrowingStats {
  /// Finite values that become infinite.
  uint64_t overflows = 0;
  /// Nonzero values that become zero.
  uint64_t flushes = 0;
  /// Infinities and NaNs, which stay what they are.
  uint64_t nonFinite = 0;
  /// Largest magnitude of a finite value.
  float maxAbs = 0;
};

/// Counts over `count` float32 values at `source`, which need not be aligned.
NarrowingStats countNarrowing(const char *source, size_t count,
                              HalfFormat format);

inline NarrowingStats countNarrowing(llvm::ArrayRef<float> values,
                                     HalfFormat format) {
  return countNarrowing(reinterpret_cast<const char *>(values.data()),
                        values.size(), format);
}

namespace detail {
/// The portable forms of the above, for tests that compare them with the
/// vectorized ones.
void convertToHalfPortable(const char *source, char *target, size_t count,
                           HalfFormat format, HalfRange range);
NarrowingStats countNarrowingPortable(const char *source, size_t count,
                                      HalfFormat format);
} // namespace detail

} // namespace amp

#endif // AMP_SUPPORT_HALFCONVERSION_H
