//===- HalfFloat.h - f16 and bf16 as numbers --------------------*- C++ -*-===//
// Formats of 16 bits: to float, and from float or double by any rounding.
//===----------------------------------------------------------------------===//

#ifndef AMP_PTXEMULATOR_HALFFLOAT_H
#define AMP_PTXEMULATOR_HALFFLOAT_H

#include "FloatOps.h"
#include "Rounded.h"

namespace amp::ptx {

/// Rounds to a format with `mantissaBits` stored bits; the result is exact in
/// double. Beyond `largest` it becomes infinite, or `largest` where the mode
/// says so.
double roundTo(double value, int mantissaBits, int minExponent, double largest,
               Rounding rounding);

/// An f16 in its bits.
struct F16 {
  static constexpr int mantissaBits = 10, minExponent = -14;
  static constexpr double largest = 65504;
  uint16_t bits;

  static F16 make(float value) {
    _Float16 half = static_cast<_Float16>(value);
    return {value == value ? bitCast<uint16_t>(half) : uint16_t(0x7fff)};
  }
  /// Of a value that is exact in f16, infinite or NaN.
  static F16 makeExact(double value) { return make(static_cast<float>(value)); }
  float get() const { return static_cast<float>(bitCast<_Float16>(bits)); }
};

struct BF16 {
  static constexpr int mantissaBits = 7, minExponent = -126;
  static constexpr double largest = 3.3895313892515355e38;
  uint16_t bits;

  static BF16 make(float value) {
    uint32_t from = bitCast<uint32_t>(value);
    uint32_t rounded = (from + 0x7fff + (from >> 16 & 1)) >> 16;
    return {static_cast<uint16_t>(value == value ? rounded : 0x7fff)};
  }
  static BF16 makeExact(double value) {
    return make(static_cast<float>(value));
  }
  float get() const { return bitCast<float>(uint32_t(bits) << 16); }
};

template <typename H> inline H makeHalf(double value, Rounding rounding) {
  return H::makeExact(
      roundTo(value, H::mantissaBits, H::minExponent, H::largest, rounding));
}

/// a * b + c with one rounding: the sum is rounded to odd in double, which has
/// bits enough for the second rounding to be the only one that counts.
template <typename H> inline H fmaHalf(H a, H b, H c) {
  double product = double(a.get()) * b.get(), addend = c.get();
  double sum = product + addend;
  double right = sum - product;
  double error = (product - (sum - right)) + (addend - right);
  if (error != 0 && std::isfinite(sum)) {
    uint64_t bits = bitCast<uint64_t>(sum);
    if ((bits & 1) == 0)
      bits += (error > 0) == (sum > 0) ? 1 : -1;
    sum = bitCast<double>(bits);
  }
  return makeHalf<H>(sum, Rounding::Nearest);
}

} // namespace amp::ptx

#endif // AMP_PTXEMULATOR_HALFFLOAT_H
