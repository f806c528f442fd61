//===- HalfConversion.cpp - Bulk conversion of float32 to 16 bits ---------===//
// One body per task, compiled for the base instruction set and for AVX2 (plus
// F16C), chosen at run time.
//===----------------------------------------------------------------------===//

#include "amp/Support/HalfConversion.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define AMP_HAS_AVX2_FORMS 1
#include <immintrin.h>
#else
#define AMP_HAS_AVX2_FORMS 0
#endif

#define AMP_INLINE inline __attribute__((always_inline))

using namespace amp;

namespace {

constexpr uint32_t signMask = 0x80000000u;
constexpr uint32_t infBits = 0x7f800000u;

/// The edges of a narrow format, as bits of float32 magnitudes.
struct Edges {
  /// Smallest magnitude that rounds to infinity.
  uint32_t overflow;
  /// Largest magnitude that rounds to zero.
  uint32_t flush;
  /// Largest finite and smallest nonzero value of the format.
  uint32_t largest, smallest;
};

/// 65520 and 2^-25 lie half-way to the next value and tie to the even one.
constexpr Edges float16Edges = {0x477ff000u, 0x33000000u, 0x477fe000u,
                                0x33800000u};
constexpr Edges bfloat16Edges = {0x7f7f8000u, 0x00008000u, 0x7f7f0000u,
                                 0x00010000u};

constexpr Edges getEdges(HalfFormat format) {
  return format == HalfFormat::Float16 ? float16Edges : bfloat16Edges;
}

AMP_INLINE uint32_t clampBits(uint32_t bits, Edges edges) {
  uint32_t magnitude = bits & ~signMask, sign = bits & signMask;
  bool over = magnitude >= edges.overflow && magnitude < infBits;
  bool under = magnitude != 0 && magnitude <= edges.flush;
  uint32_t clamped = over ? edges.largest : edges.smallest;
  return over || under ? (sign | clamped) : bits;
}

AMP_INLINE uint16_t roundToFloat16(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & ~signMask;
  if (magnitude > infBits)
    return sign | 0x7e00u | (magnitude >> 13 & 0x3ffu);
  if (magnitude >= float16Edges.overflow)
    return sign | 0x7c00u;
  if (magnitude >= 0x38800000u) { // Normal: at least 2^-14.
    uint32_t even = magnitude >> 13 & 1;
    return sign | ((magnitude - 0x38000000u + 0xfffu + even) >> 13);
  }
  // Subnormal. Adding 0.5 moves the unit of float16's subnormals to the last
  // place of a float32, whose addition rounds as wanted.
  float shifted = llvm::bit_cast<float>(magnitude) + 0.5f;
  return sign | (llvm::bit_cast<uint32_t>(shifted) - 0x3f000000u);
}

AMP_INLINE uint16_t roundToBFloat16(uint32_t bits) {
  uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  uint32_t quieted = bits >> 16 | 0x40u;
  return (bits & ~signMask) > infBits ? quieted : rounded;
}

AMP_INLINE uint32_t loadBits(const char *source, size_t index) {
  uint32_t bits;
  std::memcpy(&bits, source + index * sizeof(bits), sizeof(bits));
  return bits;
}

AMP_INLINE void storeHalf(char *target, size_t index, uint16_t half) {
  std::memcpy(target + index * sizeof(half), &half, sizeof(half));
}

template <HalfFormat format, HalfRange range>
AMP_INLINE uint16_t roundOne(uint32_t bits) {
  if (range == HalfRange::Clamp)
    bits = clampBits(bits, getEdges(format));
  return format == HalfFormat::Float16 ? roundToFloat16(bits)
                                       : roundToBFloat16(bits);
}

template <HalfFormat format, HalfRange range>
AMP_INLINE void convertBody(const char *__restrict source,
                            char *__restrict target, size_t count) {
  for (size_t i = 0; i < count; ++i)
    storeHalf(target, i, roundOne<format, range>(loadBits(source, i)));
}

/// Counters are kept per block so that they fit vector lanes of 32 bits.
AMP_INLINE NarrowingStats countBody(const char *source, size_t count,
                                    Edges edges) {
  constexpr size_t blockSize = 1 << 16;
  NarrowingStats stats;
  uint32_t largest = 0;
  for (size_t start = 0; start < count; start += blockSize) {
    size_t end = std::min(count, start + blockSize);
    uint32_t overflows = 0, flushes = 0, nonFinite = 0;
    for (size_t i = start; i < end; ++i) {
      uint32_t magnitude = loadBits(source, i) & ~signMask;
      bool finite = magnitude < infBits;
      uint32_t kept = finite ? magnitude : 0;
      overflows += kept >= edges.overflow;
      flushes += magnitude - 1 < edges.flush;
      nonFinite += !finite;
      largest = std::max(largest, kept);
    }
    stats.overflows += overflows;
    stats.flushes += flushes;
    stats.nonFinite += nonFinite;
  }
  stats.maxAbs = llvm::bit_cast<float>(largest);
  return stats;
}

#if AMP_HAS_AVX2_FORMS

#define AMP_AVX2 __attribute__((target("avx2,f16c")))

bool hasAvx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
}

AMP_AVX2 NarrowingStats countAvx2(const char *source, size_t count,
                                  Edges edges) {
  return countBody(source, count, edges);
}

template <HalfRange range>
AMP_AVX2 void convertBFloat16Avx2(const char *source, char *target,
                                  size_t count) {
  convertBody<HalfFormat::BFloat16, range>(source, target, count);
}

/// The lanes of `bits` with those replaced that clampBits would replace.
AMP_AVX2 __m256i clampLanes(__m256i bits, Edges edges) {
  __m256i sign = _mm256_and_si256(bits, _mm256_set1_epi32(signMask));
  __m256i magnitude = _mm256_xor_si256(bits, sign);
  auto above = [&](uint32_t limit) AMP_AVX2 {
    return _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(limit));
  };
  __m256i over =
      _mm256_andnot_si256(above(infBits - 1), above(edges.overflow - 1));
  __m256i under = _mm256_andnot_si256(above(edges.flush), above(0));
  __m256i large = _mm256_or_si256(sign, _mm256_set1_epi32(edges.largest));
  __m256i small = _mm256_or_si256(sign, _mm256_set1_epi32(edges.smallest));
  bits = _mm256_blendv_epi8(bits, large, over);
  return _mm256_blendv_epi8(bits, small, under);
}

template <HalfRange range>
AMP_AVX2 void convertFloat16Avx2(const char *source, char *target,
                                 size_t count) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i bits = _mm256_loadu_si256(
        reinterpret_cast<const __m256i *>(source + i * sizeof(float)));
    if (range == HalfRange::Clamp)
      bits = clampLanes(bits, float16Edges);
    __m128i halves =
        _mm256_cvtps_ph(_mm256_castsi256_ps(bits), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(target + i * sizeof(uint16_t)),
                     halves);
  }
  convertBody<HalfFormat::Float16, range>(
      source + i * sizeof(float), target + i * sizeof(uint16_t), count - i);
}

template <HalfRange range>
void convertAvx2(const char *source, char *target, size_t count,
                 HalfFormat format) {
  if (format == HalfFormat::Float16)
    convertFloat16Avx2<range>(source, target, count);
  else
    convertBFloat16Avx2<range>(source, target, count);
}

#endif // AMP_HAS_AVX2_FORMS

template <HalfRange range>
void convertPortable(const char *source, char *target, size_t count,
                     HalfFormat format) {
  if (format == HalfFormat::Float16)
    convertBody<HalfFormat::Float16, range>(source, target, count);
  else
    convertBody<HalfFormat::BFloat16, range>(source, target, count);
}

} // namespace

void amp::detail::convertToHalfPortable(const char *source, char *target,
                                        size_t count, HalfFormat format,
                                        HalfRange range) {
  if (range == HalfRange::Clamp)
    convertPortable<HalfRange::Clamp>(source, target, count, format);
  else
    convertPortable<HalfRange::Round>(source, target, count, format);
}

NarrowingStats amp::detail::countNarrowingPortable(const char *source,
                                                   size_t count,
                                                   HalfFormat format) {
  return countBody(source, count, getEdges(format));
}

void amp::convertToHalf(const char *source, char *target, size_t count,
                        HalfFormat format, HalfRange range) {
#if AMP_HAS_AVX2_FORMS
  if (hasAvx2()) {
    if (range == HalfRange::Clamp)
      return convertAvx2<HalfRange::Clamp>(source, target, count, format);
    return convertAvx2<HalfRange::Round>(source, target, count, format);
  }
#endif
  detail::convertToHalfPortable(source, target, count, format, range);
}

uint16_t amp::convertToHalf(float value, HalfFormat format, HalfRange range) {
  uint32_t bits = llvm::bit_cast<uint32_t>(value);
  if (range == HalfRange::Clamp)
    bits = clampBits(bits, getEdges(format));
  return format == HalfFormat::Float16 ? roundToFloat16(bits)
                                       : roundToBFloat16(bits);
}

float amp::convertFromHalf(uint16_t value, HalfFormat format) {
  const llvm::fltSemantics &semantics = format == HalfFormat::Float16
                                            ? llvm::APFloat::IEEEhalf()
                                            : llvm::APFloat::BFloat();
  return llvm::APFloat(semantics, llvm::APInt(16, value)).convertToFloat();
}

NarrowingStats amp::countNarrowing(const char *source, size_t count,
                                   HalfFormat format) {
#if AMP_HAS_AVX2_FORMS
  if (hasAvx2())
    return countAvx2(source, count, getEdges(format));
#endif
  return detail::countNarrowingPortable(source, count, format);
}
